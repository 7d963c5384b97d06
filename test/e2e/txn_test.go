package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"rota/test/rig"
)

// protocols are the two ways in which clients do transactions: since Kafka 4.0
// each end gives the producer a new epoch, and partitions are added by writing
// to them (KIP-890).
var protocols = map[string][]kgo.Opt{
	"partitions are added by writing to them": nil,
	"partitions are added by name":            {kgo.MaxVersions(kversion.V3_9_0())},
}

// settled waits until no transaction is open on a topic: the end of one is
// answered before its markers are written.
func settled(ctx context.Context, t *testing.T, addr, topic string) {
	t.Helper()
	adm := kadm.NewClient(client(t, addr))
	eventually(ctx, t, "no transaction is open", func() bool {
		stable, err1 := adm.ListCommittedOffsets(ctx, topic)
		end, err2 := adm.ListEndOffsets(ctx, topic)
		if errors.Join(err1, err2) != nil {
			return false
		}
		same := true
		end.Each(func(o kadm.ListedOffset) {
			l, _ := stable.Lookup(o.Topic, o.Partition)
			same = same && l.Offset == o.Offset
		})
		return same
	})
}

// committedValues reads a topic with read_committed up to its end, sorted.
func committedValues(ctx context.Context, t *testing.T, addr, topic string) []string {
	t.Helper()
	ends, err := kadm.NewClient(client(t, addr)).ListCommittedOffsets(ctx, topic)
	if err := errors.Join(err, ends.Error()); err != nil {
		t.Fatal(err)
	}
	c := client(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		// The client may ask for some partitions first, and takes the others in when that fetch has ended.
		kgo.FetchMaxWait(100*time.Millisecond))
	defer c.Close()
	var values []string
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("%v; not read to the end: %v", err, left)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				values = append(values, string(r.Value))
			}
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
		})
	}
	slices.Sort(values)
	return values
}

func TestFranzTransactions(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			b := rig.Start(t)
			ctx := withTimeout(t, time.Minute)
			createTopic(ctx, t, b.Addr, "t", 3)
			p := client(t, b.Addr, append([]kgo.Opt{
				kgo.TransactionalID("writer"), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
			}, opts...)...)
			write := func(end kgo.TransactionEndTry, values ...string) {
				t.Helper()
				if err := p.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				var records []*kgo.Record
				for _, v := range values {
					records = append(records, kgo.StringRecord(v))
				}
				if err := p.ProduceSync(ctx, records...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if err := p.EndTransaction(ctx, end); err != nil {
					t.Fatal(err)
				}
			}
			write(kgo.TryCommit, "a", "b", "c", "d")
			write(kgo.TryAbort, "never", "was")
			write(kgo.TryCommit, "e")
			settled(ctx, t, b.Addr, "t")
			want := []string{"a", "b", "c", "d", "e"}
			if diff := cmp.Diff(want, committedValues(ctx, t, b.Addr, "t")); diff != "" {
				t.Error(diff)
			}
			b.Restart()
			if diff := cmp.Diff(want, committedValues(ctx, t, b.Addr, "t")); diff != "" {
				t.Errorf("after kill -9 and restart:\n%s", diff)
			}
			write(kgo.TryCommit, "f")
			settled(ctx, t, b.Addr, "t")
			if diff := cmp.Diff(append(want, "f"), committedValues(ctx, t, b.Addr, "t")); diff != "" {
				t.Errorf("the same producer after the restart:\n%s", diff)
			}
		})
	}
}

// An open transaction holds back readers of what is committed, and nobody else.
// When a second producer takes over the id, the first is fenced, and what it
// had open is gone.
func TestFranzFencedProducer(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 1)
	producer := func() *kgo.Client {
		return client(t, b.Addr, kgo.TransactionalID("writer"), kgo.DefaultProduceTopic("t"))
	}
	send := func(p *kgo.Client, value string) error {
		return p.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr()
	}
	first := producer()
	if err := errors.Join(first.BeginTransaction(), send(first, "zombie")); err != nil {
		t.Fatal(err)
	}
	adm := kadm.NewClient(client(t, b.Addr))
	ends := func(list func(context.Context, ...string) (kadm.ListedOffsets, error)) int64 {
		t.Helper()
		o, err := list(ctx, "t")
		if err := errors.Join(err, o.Error()); err != nil {
			t.Fatal(err)
		}
		l, _ := o.Lookup("t", 0)
		return l.Offset
	}
	if stable, end := ends(adm.ListCommittedOffsets), ends(adm.ListEndOffsets); stable != 0 || end != 1 {
		t.Errorf("while the transaction is open the last stable offset is %d, the end %d", stable, end)
	}
	second := producer()
	if err := errors.Join(second.BeginTransaction(), send(second, "heir"), second.EndTransaction(ctx, kgo.TryCommit)); err != nil {
		t.Fatal(err)
	}
	err := send(first, "zombie again")
	if err == nil {
		err = first.EndTransaction(ctx, kgo.TryCommit)
	}
	if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		t.Errorf("the zombie is told %v", err)
	}
	settled(ctx, t, b.Addr, "t")
	if diff := cmp.Diff([]string{"heir"}, committedValues(ctx, t, b.Addr, "t")); diff != "" {
		t.Error(diff)
	}
}

// mover copies a topic record by record within transactions of a group, and
// counts what it has committed.
type mover struct {
	opts []kgo.Opt
	sess *kgo.GroupTransactSession
	stop context.CancelFunc
	done chan struct{}
}

func startMover(t *testing.T, addr, id string, opts []kgo.Opt, moved func(n int), failed func(error)) *mover {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	m := &mover{stop: cancel, done: make(chan struct{})}
	m.opts = append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.TransactionalID(id), kgo.TransactionTimeout(10 * time.Second), kgo.RetryTimeout(30 * time.Second),
		kgo.ConsumeTopics("in"), kgo.ConsumerGroup("movers"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
	}, opts...)
	if err := m.begin(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			n, err := m.move(ctx)
			if n > 0 {
				moved(n)
			}
			if nobodyListens(err) && ctx.Err() == nil {
				m.sess.Client().CloseAllowingRebalance()
				err = m.begin()
			}
			if err != nil && ctx.Err() == nil {
				failed(fmt.Errorf("%s: %w", id, err))
				return
			}
		}
	}()
	t.Cleanup(m.kill)
	return m
}

// begin begins a session.
func (m *mover) begin() (err error) {
	m.sess, err = kgo.NewGroupTransactSession(m.opts...)
	return err
}

// nobodyListens says that the broker is being started again. With one
// broker there is none that the client could turn to instead, so it may give
// the session up; a program begins another under its transactional id, which
// ends what the last one has left open.
func nobodyListens(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// move moves what one poll brings, and returns how much is committed.
func (m *mover) move(ctx context.Context) (int, error) {
	const atMost = 20
	f := m.sess.PollRecords(ctx, atMost)
	if f.NumRecords() == 0 {
		return 0, nil
	}
	if err := m.sess.Begin(); err != nil {
		return 0, err
	}
	failed := kgo.AbortingFirstErrPromise(m.sess.Client())
	f.EachRecord(func(r *kgo.Record) {
		m.sess.Produce(ctx, &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, failed.Promise())
	})
	committed, err := m.sess.End(ctx, failed.Err() == nil)
	if err != nil || !committed {
		return 0, err
	}
	return f.NumRecords(), nil
}

// kill stops without a word: a transaction that is open stays open.
func (m *mover) kill() {
	m.stop()
	<-m.done
	m.sess.Client().CloseAllowingRebalance()
}

// Two movers share the work. One is replaced by another with its transactional
// id, and the broker is killed, all in the middle of it: every record has
// moved, and once.
func TestFranzGroupTransactSession(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.Start(t)
			ctx := withTimeout(t, time.Minute)
			createTopic(ctx, t, b.Addr, "in", 4)
			createTopic(ctx, t, b.Addr, "out", 3)
			p := client(t, b.Addr, kgo.DefaultProduceTopic("in"))
			var want []string
			fill := func(n int) {
				t.Helper()
				var records []*kgo.Record
				for range n {
					v := strconv.Itoa(len(want))
					want = append(want, v)
					records = append(records, kgo.KeyStringRecord(v, v))
				}
				if err := p.ProduceSync(ctx, records...).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			count, broken := 0, error(nil)
			moved := func(n int) { mu.Lock(); defer mu.Unlock(); count += n }
			failed := func(err error) { mu.Lock(); defer mu.Unlock(); broken = err }
			atLeast := func(n int, number func() int) func() bool {
				return func() bool {
					mu.Lock()
					err := broken
					mu.Unlock()
					if err != nil {
						t.Fatal(err)
					}
					return number() >= n
				}
			}
			counted := func() int { mu.Lock(); defer mu.Unlock(); return count }
			committed := func() int { return len(committedValues(ctx, t, b.Addr, "out")) }
			fill(300)
			first := startMover(t, b.Addr, "mover-1", opts, moved, failed)
			startMover(t, b.Addr, "mover-2", opts, moved, failed)
			eventually(ctx, t, "some have moved", atLeast(60, counted))
			first.kill()
			startMover(t, b.Addr, "mover-1", opts, moved, failed)
			eventually(ctx, t, "all of the first have moved", atLeast(300, committed))
			fill(200)
			b.Restart()
			fill(100)
			eventually(ctx, t, "all have moved", atLeast(len(want), committed))
			slices.Sort(want)
			if diff := cmp.Diff(want, committedValues(ctx, t, b.Addr, "out")); diff != "" {
				t.Errorf("(-sent +moved):\n%s", diff)
			}
			offsets, err := kadm.NewClient(client(t, b.Addr)).FetchOffsets(ctx, "movers")
			if err != nil {
				t.Fatal(err)
			}
			var sum int64
			offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
			if sum != int64(len(want)) {
				t.Errorf("the group is at %d of %d", sum, len(want))
			}
		})
	}
}

func TestSaramaTransactions(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 2)
	config := saramaConfig(sarama.V2_8_0_0)
	config.Producer.Transaction.ID = "writer"
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	p, err := sarama.NewSyncProducer([]string{b.Addr}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	write := func(end func() error, offset int64, values ...string) {
		t.Helper()
		if err := p.BeginTxn(); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if _, _, err := p.SendMessage(&sarama.ProducerMessage{
				Topic: "t", Key: sarama.StringEncoder(strconv.Itoa(i)), Value: sarama.StringEncoder(v),
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{
			"t": {{Partition: 1, Offset: offset}},
		}, "g"); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	committed := func() int64 {
		t.Helper()
		offsets, err := kadm.NewClient(client(t, b.Addr)).FetchOffsets(ctx, "g")
		if err != nil {
			t.Fatal(err)
		}
		o, _ := offsets.Lookup("t", 1)
		return o.At
	}
	write(p.CommitTxn, 10, "a", "b", "c")
	write(p.AbortTxn, 20, "x", "y")
	eventually(ctx, t, "the offset is committed", func() bool { return committed() == 10 })
	write(p.CommitTxn, 30, "d")
	eventually(ctx, t, "the next offset is committed", func() bool { return committed() == 30 })
	settled(ctx, t, b.Addr, "t")
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, committedValues(ctx, t, b.Addr, "t")); diff != "" {
		t.Error(diff)
	}
}
