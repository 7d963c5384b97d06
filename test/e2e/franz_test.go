package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

func withTimeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RetryTimeout(30 * time.Second)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseAllowingRebalance)
	return cl
}

func createTopic(ctx context.Context, t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	r, err := kadm.NewClient(client(t, addr)).CreateTopic(ctx, partitions, 1, nil, topic)
	if err := errors.Join(err, r.Err); err != nil {
		t.Fatal(err)
	}
}

func TestFranzEveryCodecRoundTrips(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			topic := "codec-" + name
			createTopic(ctx, t, b.Addr, topic, 1)
			var want []*kgo.Record
			for i := range 500 {
				r := &kgo.Record{
					Topic: topic, Key: fmt.Appendf(nil, "key-%d", i), Value: bytes.Repeat([]byte{byte(i), 0xff, 0}, i),
					Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{0, 1, byte(i)}}, {Key: "empty"}},
				}
				if i%7 == 0 {
					r.Key = nil
				}
				if i%11 == 0 {
					r.Value = nil
				}
				want = append(want, r)
			}
			p := client(t, b.Addr, kgo.ProducerBatchCompression(codec))
			if err := p.ProduceSync(ctx, want...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			c := client(t, b.Addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			var got []*kgo.Record
			for len(got) < len(want) {
				f := c.PollFetches(ctx)
				if err := f.Err(); err != nil {
					t.Fatal(err)
				}
				got = append(got, f.Records()...)
			}
			for i := range want {
				if diff := cmp.Diff(content(want[i]), content(got[i])); diff != "" {
					t.Fatalf("record %d (-produced +consumed):\n%s", i, diff)
				}
			}
		})
	}
}

type recordContent struct {
	Key, Value []byte
	Headers    []kgo.RecordHeader
}

func content(r *kgo.Record) recordContent {
	h := slices.Clone(r.Headers)
	for i := range h {
		if len(h[i].Value) == 0 {
			h[i].Value = nil
		}
	}
	return recordContent{r.Key, r.Value, h}
}

// groupMember is a consumer that keeps what it owns in sight of the test.
type groupMember struct {
	cl   *kgo.Client
	mu   sync.Mutex
	own  map[int32]bool
	seen func(*kgo.Record)
	stop context.CancelFunc
	done chan struct{}
}

func startMember(t *testing.T, addr, topic, group string, seen func(*kgo.Record), opts ...kgo.Opt) *groupMember {
	t.Helper()
	m := &groupMember{own: map[int32]bool{}, seen: seen, done: make(chan struct{})}
	set := func(own bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, i := range p[topic] {
				if own {
					m.own[i] = true
				} else {
					delete(m.own, i)
				}
			}
		}
	}
	m.cl = client(t, addr, append([]kgo.Opt{
		kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(set(true)), kgo.OnPartitionsRevoked(set(false)), kgo.OnPartitionsLost(set(false)),
		kgo.AutoCommitInterval(100 * time.Millisecond),
	}, opts...)...)
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			m.cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				if m.seen != nil {
					m.seen(r)
				}
			})
		}
	}()
	t.Cleanup(m.kill)
	return m
}

// kill stops polling and drops the connections without leaving the group.
func (m *groupMember) kill() {
	m.stop()
	<-m.done
}

func (m *groupMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var p []int32
	for i := range m.own {
		p = append(p, i)
	}
	slices.Sort(p)
	return p
}

// eventually polls: clients act on timers of their own.
func eventually(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// share is true when the members own all partitions, each once, none empty-handed.
func share(partitions int, members ...*groupMember) func() bool {
	return func() bool {
		var all []int32
		for _, m := range members {
			own := m.owned()
			if len(own) == 0 {
				return false
			}
			all = append(all, own...)
		}
		slices.Sort(all)
		return len(all) == partitions && len(slices.Compact(all)) == partitions
	}
}

func TestFranzGroupRebalances(t *testing.T) {
	for name, balancer := range map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "cooperative": kgo.CooperativeStickyBalancer()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.Start(t)
			ctx := withTimeout(t, time.Minute)
			createTopic(ctx, t, b.Addr, "t", 6)
			opt := kgo.Balancers(balancer)
			m1 := startMember(t, b.Addr, "t", "g", nil, opt)
			m2 := startMember(t, b.Addr, "t", "g", nil, opt)
			eventually(ctx, t, "two members share", share(6, m1, m2))
			m3 := startMember(t, b.Addr, "t", "g", nil, opt)
			eventually(ctx, t, "three members share after a join", share(6, m1, m2, m3))

			m3.kill()
			m3.cl.LeaveGroup()
			eventually(ctx, t, "two members share after a leave", share(6, m1, m2))

			described, err := kadm.NewClient(client(t, b.Addr)).DescribeGroups(ctx, "g")
			if err != nil {
				t.Fatal(err)
			}
			if g := described["g"]; g.State != "Stable" || len(g.Members) != 2 || g.ProtocolType != "consumer" {
				t.Errorf("described as %+v", g)
			}
		})
	}
}

func TestFranzKilledMemberIsReplaced(t *testing.T) {
	b := rig.Start(t, "group.min.session.timeout.ms=1000")
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 4)
	m1 := startMember(t, b.Addr, "t", "g", nil)
	// A member that only joins and then says nothing: its client is never
	// polled, its heartbeats end with its process. An instance id keeps the
	// client from leaving when it is closed.
	m2 := startMember(t, b.Addr, "t", "g", nil, kgo.SessionTimeout(1500*time.Millisecond), kgo.InstanceID("silent"))
	eventually(ctx, t, "two members share", share(4, m1, m2))
	m2.kill()
	m2.cl.Close()
	eventually(ctx, t, "the survivor owns everything", share(4, m1))
}

func TestFranzStaticMemberComesBackWithoutRebalance(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 4)
	m1 := startMember(t, b.Addr, "t", "g", nil, kgo.InstanceID("i1"))
	m2 := startMember(t, b.Addr, "t", "g", nil, kgo.InstanceID("i2"))
	eventually(ctx, t, "two members share", share(4, m1, m2))
	_, before := m1.cl.GroupMetadata()
	owned := m2.owned()
	m2.kill()
	m2.cl.Close()
	m3 := startMember(t, b.Addr, "t", "g", nil, kgo.InstanceID("i2"))
	eventually(ctx, t, "the instance is back", func() bool { return len(m3.owned()) > 0 })
	if diff := cmp.Diff(owned, m3.owned()); diff != "" {
		t.Errorf("assignment before and after the restart (-before +after):\n%s", diff)
	}
	_, after := m3.cl.GroupMetadata()
	if before != after {
		t.Errorf("generation %d became %d", before, after)
	}
}

func TestFranzResumesFromCommit(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 1)
	p := client(t, b.Addr)
	produce := func(from, n int) {
		t.Helper()
		for i := range n {
			if err := p.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%d", from+i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	produce(0, 10)
	read := func(n int) []string {
		c := client(t, b.Addr, kgo.ConsumeTopics("t"), kgo.ConsumerGroup("g"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer c.Close()
		var got []string
		for len(got) < n {
			f := c.PollRecords(ctx, n-len(got))
			if err := f.Err(); err != nil {
				t.Fatal(err)
			}
			f.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		}
		if err := c.CommitUncommittedOffsets(ctx); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, read(6)); diff != "" {
		t.Errorf("first reader:\n%s", diff)
	}
	b.Restart()
	produce(10, 2)
	if diff := cmp.Diff([]string{"6", "7", "8", "9", "10", "11"}, read(6)); diff != "" {
		t.Errorf("second reader, after kill -9 and restart:\n%s", diff)
	}
}

// A member that was there before the restart is there after it, in the same
// generation.
func TestFranzMembersSurviveRestart(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 4)
	var seen atomic.Int64
	count := func(*kgo.Record) { seen.Add(1) }
	m1 := startMember(t, b.Addr, "t", "g", count)
	m2 := startMember(t, b.Addr, "t", "g", count)
	eventually(ctx, t, "two members share", share(4, m1, m2))
	id1, before := m1.cl.GroupMetadata()
	b.Restart()
	p := client(t, b.Addr)
	for i := range 100 {
		if err := p.ProduceSync(ctx, &kgo.Record{Topic: "t", Key: fmt.Appendf(nil, "%d", i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(ctx, t, "all records are seen", func() bool { return seen.Load() >= 100 })
	eventually(ctx, t, "the group is stable", func() bool {
		d, err := kadm.NewClient(p).DescribeGroups(ctx, "g")
		return err == nil && d["g"].State == "Stable" && len(d["g"].Members) == 2
	})
	if id, after := m1.cl.GroupMetadata(); id != id1 || after != before {
		t.Errorf("member %s in generation %d became %s in %d", id1, before, id, after)
	}
}
