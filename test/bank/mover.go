package bank

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// How a process of movers ends.
const (
	exitDone   = 0
	exitFailed = 4 // to be started again, as a supervisor would
	exitFenced = 3
)

// runMovers is the main function of a process: the movers from first to last,
// each with so many orders, until all have worked off theirs. It ends when its
// standard input does, so that it does not outlive its test.
func runMovers(spec string) int {
	var addr string
	var first, last, count int
	if _, err := fmt.Sscan(spec, &addr, &first, &last, &count); err != nil {
		fmt.Fprintln(os.Stderr, "movers:", err)
		return exitFailed
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitFailed)
	}()
	ended := make(chan error)
	for m := first; m <= last; m++ {
		go func() { ended <- runMover(context.Background(), addr, m, count) }()
	}
	for range last - first + 1 {
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "movers:", err)
			if fenced(err) {
				return exitFenced
			}
			return exitFailed
		}
	}
	return exitDone
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.InvalidProducerIDMapping)
}

// mover carries out the orders of one partition.
type mover struct {
	number int
	id     string // transactional id
	addr   string
	old    bool // protocol of before KIP-890
	cl     *kgo.Client
	orders [16]byte // id of the topic
	book   *book
	buffer []*kgo.Record // orders that are read and not worked off
}

func runMover(ctx context.Context, addr string, number, count int) error {
	m := &mover{number: number, addr: addr, id: fmt.Sprint("mover-", number), old: number%2 == 1, book: newBook()}
	opts := []kgo.Opt{
		kgo.SeedBrokers(addr), kgo.TransactionalID(m.id), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.RetryTimeout(30 * time.Second), kgo.TransactionTimeout(20 * time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.FetchMaxWait(100 * time.Millisecond),
	}
	if m.old {
		opts = append(opts, kgo.MaxVersions(kversion.V3_9_0()))
	}
	var err error
	if m.cl, err = kgo.NewClient(opts...); err != nil {
		return err
	}
	defer m.cl.Close()
	at, err := m.begin(ctx)
	if err != nil {
		return fmt.Errorf("mover %d begins: %w", number, err)
	}
	if int(at) != m.book.done {
		return fmt.Errorf("mover %d: the accounts are at order %d, the committed offset is %d", number, m.book.done, at)
	}
	m.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{orders: {int32(number): kgo.NewOffset().At(at)}})
	for m.book.done < count {
		if err := m.work(ctx); err != nil {
			return fmt.Errorf("mover %d at order %d: %w", number, m.book.done, err)
		}
	}
	return nil
}

// begin takes the transactional id over and finds out where the work stands.
func (m *mover) begin(ctx context.Context) (at int64, err error) {
	// What is committed before these records is all there will ever be of
	// those who had the id before.
	topics, err := kadm.NewClient(m.cl).ListTopics(ctx, orders)
	if err := errors.Join(err, topics.Error()); err != nil {
		return 0, err
	}
	m.orders = topics[orders].ID
	nonce := strconv.FormatInt(time.Now().UnixNano(), 36) + strconv.Itoa(os.Getpid())
	var hellos []*kgo.Record
	for account := range perMover {
		e := entry{account: account}
		r := e.record(m.number)
		hellos = append(hellos, hello(fmt.Sprint(m.number, "/", account), r.Topic, r.Partition, nonce))
	}
	if err := m.transact(ctx, hellos, -1, kgo.TryCommit); err != nil {
		return 0, err
	}
	reader, err := newReader(m.addr)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	for left := len(hellos); left > 0; {
		f := reader.PollFetches(ctx)
		for _, r := range f.Records() {
			if string(r.Value) == nonce {
				left--
				continue
			}
			number, e, ok, err := parse(r)
			if err == nil && ok && number == m.number {
				err = m.book.add(&e)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	if !m.book.whole() {
		return 0, fmt.Errorf("a transaction is there in part: %+v", *m.book)
	}
	return m.committed(ctx)
}

// newReader reads what is committed in the accounts, from the start.
func newReader(addr string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(compacted, plain), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
}

// work carries out the orders that come next, in one transaction.
func (m *mover) work(ctx context.Context) error {
	if len(m.buffer) == 0 {
		m.buffer = m.cl.PollRecords(ctx, 100).Records()
		return nil
	}
	n := min(1+m.book.done%3, len(m.buffer))
	if m.book.done%8 == 5 { // it thinks better of it
		wrong := *m.book
		wrong.balances[0] += 1000
		entries, err := m.entries(&wrong, 1)
		if err == nil {
			err = m.transact(ctx, entries, int64(wrong.done), kgo.TryAbort)
		}
		if err != nil {
			return err
		}
	}
	next := *m.book
	entries, err := m.entries(&next, n)
	if err != nil {
		return err
	}
	if err := m.transact(ctx, entries, int64(next.done), kgo.TryCommit); err != nil {
		return err
	}
	*m.book, m.buffer = next, m.buffer[n:]
	return nil
}

// entries carries out n orders in a book and returns the records that say so.
func (m *mover) entries(b *book, n int) ([]*kgo.Record, error) {
	touched := [perMover]bool{}
	for _, r := range m.buffer[:n] {
		o, err := parseOrder(r.Value)
		if err != nil {
			return nil, err
		}
		if r.Offset != int64(b.done) {
			return nil, fmt.Errorf("order %d comes after %d", r.Offset, b.done-1)
		}
		b.balances.apply(o)
		b.done++
		touched[o.from], touched[o.to] = true, true
	}
	for account := range touched {
		if touched[account] {
			b.written[account] = b.done
		}
	}
	b.wants = b.written
	var list []*kgo.Record
	for account := range touched {
		if touched[account] {
			e := entry{account: account, balance: b.balances[account], done: b.done, written: b.written}
			list = append(list, e.record(m.number))
		}
	}
	return list, nil
}

// transact is one transaction of these records and, if there is one, a
// committed offset.
func (m *mover) transact(ctx context.Context, records []*kgo.Record, offset int64, end kgo.TransactionEndTry) error {
	if err := m.cl.BeginTransaction(); err != nil {
		return err
	}
	err := m.cl.ProduceSync(ctx, records...).FirstErr()
	if err == nil && offset >= 0 {
		err = m.commitOffset(ctx, offset)
	}
	if err != nil {
		return err
	}
	return m.cl.EndTransaction(ctx, end)
}

// pause is how long to wait before a request is repeated.
const pause = 10 * time.Millisecond

// persist repeats what fails in a way that passes.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || !kerr.IsRetriable(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (m *mover) commitOffset(ctx context.Context, offset int64) error {
	id, epoch, err := m.cl.ProducerID(ctx)
	if err != nil {
		return err
	}
	if m.old {
		err = persist(ctx, func() error {
			req := kmsg.NewPtrAddOffsetsToTxnRequest()
			req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = m.id, group, id, epoch
			resp, err := req.RequestWith(ctx, m.cl)
			if err != nil {
				return err
			}
			return kerr.ErrorForCode(resp.ErrorCode)
		})
		if err != nil {
			return err
		}
	}
	return persist(ctx, func() error {
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = m.id, group, id, epoch, -1
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(m.number), offset
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic, t.TopicID, t.Partitions = orders, m.orders, []kmsg.TxnOffsetCommitRequestTopicPartition{p}
		req.Topics = []kmsg.TxnOffsetCommitRequestTopic{t}
		resp, err := req.RequestWith(ctx, m.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	})
}

// committed is how many orders the group has behind it.
func (m *mover) committed(ctx context.Context) (at int64, err error) {
	err = persist(ctx, func() error {
		req := kmsg.NewPtrOffsetFetchRequest()
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID, t.Partitions = orders, m.orders, []int32{int32(m.number)}
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.Topics = group, []kmsg.OffsetFetchRequestGroupTopic{t}
		req.Groups, req.RequireStable = []kmsg.OffsetFetchRequestGroup{g}, true
		resp, err := req.RequestWith(ctx, m.cl)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); err != nil {
			return err
		}
		p := resp.Groups[0].Topics[0].Partitions[0]
		at = max(p.Offset, 0)
		return kerr.ErrorForCode(p.ErrorCode)
	})
	return at, err
}

// plural is for sentences of figures.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
