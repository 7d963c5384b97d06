package rotatest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/rotatest"
)

// consumer returns a client that consumes in the group, and polls until the
// test is over.
func consumer(t *testing.T, b *rotatest.Broker, group, topic, name string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c := client(t, b, append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID(name),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100 * time.Millisecond),
	}, opts...)...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c.PollFetches(ctx)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func client(t *testing.T, b *rotatest.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Dial)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseAllowingRebalance)
	return c
}

func produce(t *testing.T, c *kgo.Client, topic string, values ...string) {
	t.Helper()
	for _, v := range values {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// values reads n records of a topic from its start.
func values(t *testing.T, c *kgo.Client, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got []string
	for len(got) < n {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		f.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return strings.Join(got, " ")
}

func fromStart(topic string) []kgo.Opt {
	return []kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100 * time.Millisecond)}
}

// modes runs a test over TCP, and in a bubble on a network in memory.
func modes(t *testing.T, f func(t *testing.T, opts ...rotatest.Option)) {
	t.Run("tcp", func(t *testing.T) { f(t) })
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, rotatest.InMemory()) })
	})
}

func TestRecordsGoRound(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1))...)
		c := client(t, b, fromStart("orders")...)
		produce(t, c, "orders", "a", "b")
		if got := values(t, c, 2); got != "a b" {
			t.Errorf("got %q", got)
		}
	})
}

func TestMembersShareATopicAndTheStoryTellsWhy(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 4))...)
		g := b.Group("billing")
		if s := g.State(); s.State != "Dead" {
			t.Errorf("before anybody has joined the group is %s", s.State)
		}
		consumer(t, b, "billing", "orders", "one")
		g.WaitStable(1)
		two := consumer(t, b, "billing", "orders", "two")
		s := g.WaitStable(2)
		if s.ProtocolType != "consumer" || s.Generation < 2 {
			t.Errorf("%+v", s)
		}
		e := g.WaitEvent("rebalance for two", func(e rotatest.Event) bool {
			return e.Kind == "rebalance-started" && e.ClientID == "two"
		})
		if e.Cause != "member-joined" {
			t.Errorf("cause %q", e.Cause)
		}
		two.LeaveGroup()
		g.WaitStable(1)
		if story := g.Story(); !strings.Contains(story, "cause=member-left client=two") {
			t.Error(story)
		}
	})
}

func TestAdvanceEndsSessionsAndRetention(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1, "retention.ms=3600000"))...)
		c := client(t, b)
		produce(t, c, "orders", "old")
		g := b.Group("billing")
		// It sends no heartbeat while the test runs.
		consumer(t, b, "billing", "orders", "silent", kgo.SessionTimeout(time.Minute), kgo.HeartbeatInterval(55*time.Second),
			kgo.DisableAutoCommit())
		g.WaitStable(1)
		before := b.Now()
		b.Advance(40 * time.Second) // over TCP time goes by as well, more of it on a busy machine
		if got := b.Now().Sub(before); got < 40*time.Second {
			t.Errorf("the clock has moved by %s", got)
		}
		if s := g.State(); s.State != "Stable" {
			t.Errorf("after 40 s the group is %s", s.State)
		}
		b.Advance(21 * time.Second)
		e := g.WaitEvent("expiry", func(e rotatest.Event) bool { return e.Kind == "member-expired" })
		if e.ClientID != "silent" {
			t.Errorf("%+v", e)
		}

		b.Advance(2 * time.Hour)
		produce(t, c, "orders", "new")
		if got := values(t, client(t, b, fromStart("orders")...), 1); got != "new" {
			t.Errorf("after the retention time there is %q", got)
		}
	})
}

func TestAdvanceEndsARebalance(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 2))...)
		g := b.Group("billing")
		consumer(t, b, "billing", "orders", "lazy", kgo.HeartbeatInterval(30*time.Second), kgo.SessionTimeout(10*time.Minute),
			kgo.RebalanceTimeout(20*time.Second))
		g.WaitStable(1)
		consumer(t, b, "billing", "orders", "keen", kgo.RebalanceTimeout(20*time.Second))
		g.WaitState("PreparingRebalance")
		b.Advance(20 * time.Second)
		g.WaitEvent("drop", func(e rotatest.Event) bool { return e.Kind == "member-dropped" && e.ClientID == "lazy" })
		g.WaitFor("keen's", func(s rotatest.GroupState) bool {
			return s.State == "Stable" && s.Members[0].ClientID == "keen"
		})
	})
}

const startGoal = 5 * time.Millisecond

// TestStartIsFast takes the best of a few, as the machine may be busy.
func TestStartIsFast(t *testing.T) {
	const n = 20
	best := time.Hour
	for range n {
		began := time.Now()
		rotatest.Start(t)
		best = min(best, time.Since(began))
	}
	if best > startLimit {
		t.Errorf("the fastest of %d starts took %s", n, best)
	}
}

func TestStartsLeakNothing(t *testing.T) {
	const rounds = 1000
	one := func(i int) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rotatest.Start(t, rotatest.Topic("orders", 1)) })
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for i := range 50 {
		one(i)
	}
	goroutines, before := runtime.NumGoroutine(), heap()
	for i := range rounds {
		one(i)
	}
	// A goroutine that has been waited for may still be on its last steps.
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
			break
		}
	}
	// A start needs more than this, so that a thousandth of one would show.
	if now := heap(); now > before+2<<20 {
		t.Errorf("%d bytes in use, %d before", now, before)
	}
}
