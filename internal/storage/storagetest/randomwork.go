package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
)

// RandomWork drives a store with operations from a seed: appends of several
// kinds, settling, retention, deletion, failures, restarts and crashes. After
// each restart and at the end the store must hold what was promised.
func RandomWork(t *testing.T, sub *Subject, seed uint64, steps int) {
	w := &work{
		T: t, sub: sub, rand: rand.New(rand.NewPCG(seed, 2)), ledger: NewLedger(),
		conf: storage.Config{
			FlushLimit: 16 << 10, InternalFlushLimit: 4 << 10, TailLimit: 4 << 20, JournalLimit: 128 << 10,
			RetentionInterval: time.Minute, Log: testLogger(t),
		},
	}
	w.open()
	for i := range steps {
		w.step(i)
	}
	if sub := w.sub; sub.Calm != nil {
		sub.Calm()
	}
	w.finish()
	w.restart()
	w.restart()
	w.close()
}

// work is a store under random operations. There are four partitions that
// stay: two for idempotent and transactional producers (the second with
// retention), one for a
// plain producer, one for a writer; and one that comes and goes.
type work struct {
	*testing.T
	sub    *Subject
	rand   *rand.Rand
	ledger *Ledger
	conf   storage.Config
	s      *storage.Store

	clients [2]*client
	movers  [3]*txnProducer // two in the log with retention, one in the other
	plain   *storage.Log
	inner   *storage.Log
	writer  *storage.Writer
	mayfly  *storage.Log
	flies   int
	n       int
	life    *life
}

// life is the time between two restarts. What is told after its end does not
// count: the machine has stopped.
type life struct {
	mu    sync.Mutex
	ended bool
}

func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// during runs f unless the life has ended.
func (l *life) during(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		f()
	}
}

func workPartition(i int) storage.Partition {
	return storage.Partition{Topic: storage.TopicID{20}, Index: int32(i)}
}

func (w *work) open() {
	w.Helper()
	m, err := w.sub.Open()
	if err != nil {
		w.Fatalf("open medium: %v", err)
	}
	for range 10 { // failures that come by themselves
		if w.s, err = storage.Open(context.Background(), m, w.conf); err == nil {
			break
		}
	}
	if err != nil {
		w.Fatalf("open store: %v", err)
	}
	w.life = &life{}
	conf := keepAll
	conf.SegmentBytes = 8 << 10
	shrinking := conf
	shrinking.Delete, shrinking.RetentionBytes = true, 32<<10
	w.ledger.Shrinks(workPartition(1))
	for i := range w.clients {
		if w.clients[i] == nil {
			w.clients[i] = &client{p: workPartition(i), id: int64(100 + i), ledger: w.ledger}
		}
		w.clients[i].use(w.create(workPartition(i), conf), w.life)
		conf = shrinking
	}
	for i := range w.movers {
		c := w.clients[min(i, 1)]
		if w.movers[i] == nil {
			w.movers[i] = newTxnProducer(int64(200+i), &ledgerBook{w.ledger, c.p, w.values})
		}
		w.movers[i].use(c.log, w.life)
	}
	conf.Delete, conf.RetentionBytes = false, -1
	w.plain = w.create(workPartition(2), conf)
	conf.Internal = true
	w.inner = w.create(workPartition(3), conf)
	w.writer = w.inner.Writer(w.s.Epoch())
	w.mayfly = nil
	if err := w.ledger.Check(w.s); err != nil {
		w.Fatal(err)
	}
}

func (w *work) create(p storage.Partition, c storage.LogConfig) *storage.Log {
	w.Helper()
	l, err := w.s.Create(p, c)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

func (w *work) close() {
	w.Helper()
	if err := w.s.Close(context.Background()); err != nil {
		w.Errorf("close: %v", err)
	}
}

func (w *work) restart() {
	w.Helper()
	w.close()
	w.life.end()
	w.open()
}

func (w *work) crash() {
	w.Helper()
	w.life.end()
	after := w.sub.Crash(w.rand.Uint64())
	_ = w.s.Close(context.Background()) // on a machine that has stopped
	w.sub = after
	w.open()
}

// values makes one to four values that were never used.
func (w *work) values() []string {
	var all []string
	for range 1 + w.rand.IntN(4) {
		w.n++
		size := w.rand.IntN(300)
		if w.rand.IntN(40) == 0 {
			size = 40 << 10
		}
		all = append(all, fmt.Sprintf("%d:%s", w.n, make([]byte, size)))
	}
	return all
}

// step does one operation, then perhaps lets some time pass.
func (w *work) step(i int) {
	switch n := w.rand.IntN(100); {
	case n < 25:
		w.clients[i%2].send(w.values())
	case n < 40:
		w.movers[w.rand.IntN(3)].step(w.rand)
	case n < 50:
		w.appendPlain(w.plain, workPartition(2))
	case n < 65:
		w.appendWriter()
	case n < 70:
		if err := w.s.Settle(context.Background()); err != nil && !errors.Is(err, ErrFault) {
			w.Logf("settle: %v", err)
		}
	case n < 72:
		if err := w.s.Retain(); err != nil {
			w.Logf("retain: %v", err)
		}
	case n < 75:
		w.deleteRecords()
	case n < 79:
		w.flyOrDie()
	case n < 83:
		if w.sub.FailFlush != nil {
			w.sub.FailFlush()
		}
	case n < 85:
		if w.sub.FailSettle != nil {
			w.sub.FailSettle()
		}
	case n < 87:
		w.restart()
	case n < 90:
		if w.sub.Crash != nil {
			w.crash()
		}
	default:
		time.Sleep(time.Duration(w.rand.IntN(15000)) * time.Millisecond)
	}
	if w.rand.IntN(3) > 0 {
		synctest.Wait()
	}
	for _, c := range w.clients {
		c.retry()
	}
}

func (w *work) appendPlain(l *storage.Log, p storage.Partition) {
	values, life := w.values(), w.life
	w.ledger.Sent(p, values...)
	l.Append(Values(values...), storage.DurableAck, func(a storage.Appended) {
		life.during(func() {
			if a.Err == nil {
				w.ledger.Acked(p, a.Base, values...)
			}
		})
	})
}

func (w *work) appendWriter() {
	values, life, p := w.values(), w.life, workPartition(3)
	w.ledger.Sent(p, values...)
	var base int64
	var err error
	life.during(func() { // the answer may come before Append returns
		base, err = w.writer.Append(Values(values...), func(err error) {
			life.during(func() {
				if err == nil {
					w.ledger.Acked(p, base, values...)
				}
			})
		})
	})
	if err == nil {
		return
	}
	epoch, err := w.s.NextEpoch()
	if err != nil {
		w.Fatalf("next epoch: %v", err)
	}
	w.writer = w.inner.Writer(epoch)
}

func (w *work) deleteRecords() {
	c := w.clients[0]
	b := c.log.Bounds()
	before := b.Start + w.rand.Int64N(b.HighWatermark-b.Start+1)
	w.ledger.Deleting(c.p, before)
	life := w.life
	c.log.DeleteRecords(before, func(start int64, err error) {
		life.during(func() {
			if err == nil {
				w.ledger.Deleted(c.p, start)
			}
		})
	})
}

// flyOrDie creates the partition that comes and goes, appends to it, or
// removes it.
func (w *work) flyOrDie() {
	p := storage.Partition{Topic: storage.TopicID{21}, Index: int32(w.flies)}
	if w.mayfly == nil {
		w.flies++
		p.Index++
		w.mayfly = w.create(p, keepAll)
	}
	if w.rand.IntN(3) > 0 {
		w.appendPlain(w.mayfly, p)
		return
	}
	w.ledger.Removing(p)
	if err := w.s.Remove(p); err != nil {
		w.Fatalf("remove: %v", err)
	}
	w.ledger.Removed(p)
	w.mayfly = nil
}

// finish repeats what failed until everything is acknowledged.
func (w *work) finish() {
	w.Helper()
	for range 300 {
		synctest.Wait()
		left := 0
		for _, c := range w.clients {
			left += c.retry()
		}
		for _, m := range w.movers {
			if !m.finish() {
				left++
			}
		}
		if left == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	for _, m := range w.movers {
		if !m.finish() {
			w.Fatalf("a transaction of producer %d does not end: %v", m.id, m.problem)
		}
	}
	for _, c := range w.clients {
		if left := c.retry(); left > 0 {
			w.Fatalf("%d batches of producer %d are not acknowledged in the end: %v", left, c.id, c.problem)
		}
	}
	if err := w.ledger.Check(w.s); err != nil {
		w.Fatal(err)
	}
}

// client is an idempotent producer of one partition: up to five batches on
// their way, those that failed repeated in order.
type client struct {
	p      storage.Partition
	id     int64
	ledger *Ledger

	mu      sync.Mutex
	log     *storage.Log
	life    *life
	next    int32
	queue   []*sent // not acknowledged, in order
	problem error
}

// sent is a batch on its way.
type sent struct {
	sequence int32
	values   []string
	inFlight bool
	acked    bool
}

// clone is a client that goes its own way, with another ledger.
func (c *client) clone(ledger *Ledger) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &client{p: c.p, id: c.id, ledger: ledger, next: c.next}
	for _, b := range c.queue {
		copied := *b
		n.queue = append(n.queue, &copied)
	}
	return n
}

// use begins a new life with another log.
func (c *client) use(l *storage.Log, life *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log, c.life = l, life
	for _, b := range c.queue {
		b.inFlight = false
	}
}

func (c *client) send(values []string) {
	c.ledger.Sent(c.p, values...)
	c.mu.Lock()
	c.queue = append(c.queue, &sent{sequence: c.next, values: values})
	c.next += int32(len(values))
	c.mu.Unlock()
	c.retry()
}

// retry sends what may be sent and returns how much is not acknowledged. Once
// a batch has failed, those behind it wait until all answers are there.
func (c *client) retry() int {
	c.mu.Lock()
	for len(c.queue) > 0 && c.queue[0].acked {
		c.queue = c.queue[1:]
	}
	var ready []*sent
	for _, b := range c.queue[:min(5, len(c.queue))] {
		if b.acked || b.inFlight {
			if len(ready) > 0 { // one before it failed
				ready = nil
				break
			}
			continue
		}
		ready = append(ready, b)
	}
	for _, b := range ready {
		b.inFlight = true
	}
	left, log, life := len(c.queue), c.log, c.life
	c.mu.Unlock()
	for _, b := range ready {
		batch := Batch{Values: b.values, ProducerID: c.id, Sequence: b.sequence}.Bytes()
		log.Append(batch, storage.DurableAck, func(a storage.Appended) {
			life.during(func() { c.heard(b, a) })
		})
	}
	return left
}

func (c *client) heard(b *sent, a storage.Appended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.inFlight = false
	if a.Err != nil {
		c.problem = a.Err
		return
	}
	b.acked = true
	c.ledger.Acked(c.p, a.Base, b.values...)
}
