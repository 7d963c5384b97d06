package rotatest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/rotatest"
)

// heartbeat sends a heartbeat of a member that does not exist.
func heartbeat(t *testing.T, c *kgo.Client) (int16, error) {
	t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID = "g", "nobody"
	resp, err := c.SeedBrokers()[0].Request(t.Context(), req)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.HeartbeatResponse).ErrorCode, nil
}

const untouched = 25 // UNKNOWN_MEMBER_ID, which the broker itself answers

func TestAnswer(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, opts...)
		c, other := client(t, b, kgo.ClientID("me")), client(t, b, kgo.ClientID("other"))
		f := b.On(kmsg.Heartbeat).From("me").Skip(1).Times(2).Answer(kerr.CoordinatorLoadInProgress)
		for i, want := range []int16{untouched, 14, 14, untouched} {
			if got, err := heartbeat(t, other); got != untouched || err != nil {
				t.Errorf("heartbeat %d of the other: code %d, %v", i, got, err)
			}
			if got, err := heartbeat(t, c); got != want || err != nil {
				t.Errorf("heartbeat %d: code %d, %v, want %d", i, got, err, want)
			}
		}
		if f.Hits() != 2 {
			t.Errorf("%d hits", f.Hits())
		}
	})
}

func TestAnswerReachesEveryPart(t *testing.T) {
	b := rotatest.Start(t, rotatest.InMemory())
	for _, key := range []kmsg.Key{kmsg.OffsetCommit, kmsg.DeleteGroups, kmsg.FindCoordinator} {
		b.On(key).Answer(kerr.KafkaStorageError)
	}
	c := client(t, b)
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group = "g"
	for _, topic := range []string{"t", "u"} {
		part := kmsg.NewOffsetCommitRequestTopic()
		part.Topic, part.TopicID = topic, [16]byte{topic[0]}
		part.Partitions = []kmsg.OffsetCommitRequestTopicPartition{{Partition: 3}, {Partition: 7}}
		commit.Topics = append(commit.Topics, part)
	}
	resp, err := c.SeedBrokers()[0].Request(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	topics := resp.(*kmsg.OffsetCommitResponse).Topics
	if len(topics) != 2 || topics[1].Topic != "u" && topics[1].TopicID != [16]byte{'u'} || len(topics[1].Partitions) != 2 ||
		topics[1].Partitions[1].Partition != 7 || topics[1].Partitions[1].ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("%+v", topics)
	}
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"g", "h"}
	resp, err = c.SeedBrokers()[0].Request(t.Context(), del)
	if err != nil {
		t.Fatal(err)
	}
	if g := resp.(*kmsg.DeleteGroupsResponse).Groups; len(g) != 2 || g[1].Group != "h" || g[1].ErrorCode != 56 {
		t.Errorf("%+v", g)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey, find.CoordinatorKeys = "g", []string{"g"}
	resp, err = c.SeedBrokers()[0].Request(t.Context(), find)
	if err != nil {
		t.Fatal(err)
	}
	if r := resp.(*kmsg.FindCoordinatorResponse); len(r.Coordinators) != 1 || r.Coordinators[0].Key != "g" || r.Coordinators[0].ErrorCode != 56 {
		t.Errorf("%+v", r)
	}
}

func TestDelayAndHold(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, opts...)
		c := client(t, b)
		const pause = 50 * time.Millisecond
		b.On(kmsg.Heartbeat).Delay(pause)
		began := time.Now()
		if got, err := heartbeat(t, c); got != untouched || err != nil {
			t.Errorf("code %d, %v", got, err)
		}
		if took := time.Since(began); took < pause {
			t.Errorf("it took %s", took)
		}

		held := b.On(kmsg.Heartbeat).Hold()
		answered := make(chan int16, 1)
		go func() {
			code, _ := heartbeat(t, c)
			answered <- code
		}()
		held.Wait()
		select {
		case <-answered:
			t.Error("a request that is held was answered")
		case <-time.After(pause):
		}
		held.Release()
		if code := <-answered; code != untouched {
			t.Errorf("code %d", code)
		}
	})
}

func TestHeldJoinHoldsUpTheRebalance(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 2))...)
		g := b.Group("billing")
		consumer(t, b, "billing", "orders", "one")
		g.WaitStable(1)
		held := b.On(kmsg.JoinGroup).From("one").Hold()
		consumer(t, b, "billing", "orders", "two")
		held.Wait()
		if s := g.State(); s.State != "PreparingRebalance" {
			t.Errorf("the group is %s", s.State)
		}
		held.Release()
		g.WaitStable(2)
		e := g.WaitEvent("end of the join phase", func(e rotatest.Event) bool {
			return e.Kind == "join-completed" && e.Members == 2
		})
		if len(e.WaitedFor) != 1 || e.WaitedFor[0] != "one" {
			t.Errorf("waited for %q", e.WaitedFor)
		}
	})
}

func TestDropped(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1))...)
		c := client(t, b, kgo.RequestRetries(0))
		b.On(kmsg.Heartbeat).Times(-1).Drop()
		if _, err := heartbeat(t, c); err == nil {
			t.Error("a request whose connection was closed was answered")
		}
		// The record is there though nobody was told.
		once := client(t, b, kgo.RecordRetries(0), kgo.DisableIdempotentWrite(), kgo.ManualFlushing())
		lost := b.On(kmsg.Produce).DropReply()
		once.Produce(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("a")}, nil)
		go func() { _ = once.Flush(context.Background()) }()
		lost.Wait()
		if got := values(t, client(t, b, fromStart("orders")...), 1); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCrashKeepsWhatWasAcknowledged(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1))...)
		c := client(t, b)
		g := b.Group("billing")
		consumer(t, b, "billing", "orders", "one")
		g.WaitStable(1)
		addr := b.Addr()
		produce(t, c, "orders", "a", "b")
		b.Crash()
		produce(t, c, "orders", "c")
		b.Restart()
		produce(t, c, "orders", "d")
		if got := values(t, client(t, b, fromStart("orders")...), 4); got != "a b c d" {
			t.Errorf("got %q", got)
		}
		if b.Addr() != addr {
			t.Errorf("the address was %s and is %s", addr, b.Addr())
		}
		g.WaitEvent("load", func(e rotatest.Event) bool { return e.Kind == "group-loaded" })
		g.WaitStable(1)
	})
}

func TestFailedFlushIsToldAndPasses(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1))...)
		once := client(t, b, kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
		produce(t, once, "orders", "a")
		b.FailFlush()
		err := once.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("lost")}).FirstErr()
		if err == nil {
			t.Error("a record whose flush failed was acknowledged")
		}
		produce(t, client(t, b), "orders", "b")
		if got := values(t, client(t, b, fromStart("orders")...), 2); got != "a b" {
			t.Errorf("got %q", got)
		}
	})
}

func TestMovedCoordinatorKeepsItsGroup(t *testing.T) {
	modes(t, func(t *testing.T, opts ...rotatest.Option) {
		b := rotatest.Start(t, append(opts, rotatest.Topic("orders", 1))...)
		g := b.Group("billing")
		consumer(t, b, "billing", "orders", "one")
		before := g.WaitStable(1)
		b.MoveCoordinator("billing")
		g.WaitEvent("load", func(e rotatest.Event) bool { return e.Kind == "group-loaded" })
		if after := g.WaitStable(1); after.Members[0].ID != before.Members[0].ID {
			t.Errorf("member %s has become %s", before.Members[0].ID, after.Members[0].ID)
		}
	})
}

// failing is a test that fails, and says what was logged.
type failing struct {
	testing.TB
	logged  []string
	cleanup []func()
}

func (f *failing) Helper()                    {}
func (f *failing) Failed() bool               { return true }
func (f *failing) Cleanup(c func())           { f.cleanup = append(f.cleanup, c) }
func (f *failing) Logf(_ string, args ...any) { f.logged = append(f.logged, args[0].(string)) }

func TestFailingTestPrintsTheStory(t *testing.T) {
	f := &failing{TB: t}
	b := rotatest.Start(f, rotatest.Topic("orders", 1))
	consumer(t, b, "billing", "orders", "one")
	b.Group("billing").WaitStable(1)
	for _, c := range f.cleanup {
		c()
	}
	if len(f.logged) != 1 {
		t.Fatalf("logged %q", f.logged)
	}
	for _, want := range []string{"group billing", "member-joined", "cause=member-joined client=one", "assignment-installed"} {
		if !strings.Contains(f.logged[0], want) {
			t.Errorf("the story has no %q:\n%s", want, f.logged[0])
		}
	}
}
