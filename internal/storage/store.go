package storage

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps the partition logs of one broker.
type Store struct {
	m      Medium
	lender Lender // the medium, nil if it cannot
	c      Config
	tail   *tail
	report Report
	began  time.Time
	space  space
	meters meters
	codecs sync.Pool // of *codec
	loops  sync.WaitGroup
	guards atomic.Uint64 // the newest Guard's number
	closed chan struct{} // closed when Close begins
	failed chan struct{} // closed when the store can no longer serve

	wakeFlusher, wakeCompleter chan struct{} // room for one signal each
	settler                    *settler
	cleaner                    *cleaner

	mu      sync.Mutex
	phase   phase
	closing bool
	down    bool // a failed flush has been taken back, no new journal yet
	err     error
	logs    map[Partition]*Log
	epoch   int32 // newest durable number of the leader epoch counter
	counter int32 // newest number given to a frame
	lead    int32 // leader epoch of logs without a writer

	// ready lists the logs with batches that wait for a flush: internal ones,
	// then all others. control holds other frames that wait.
	ready       [2]queue[*Log]
	control     []control
	flusherIdle bool
	nextFlush   uint64
	gathering   bool // a flush is being made that is not in flights yet
	inAir       int
	flights     []*flight // sent, in order, up to the last that has not landed
	wrote       []*flight // written, for the completion loop
	landed      []*flight // landed, in order, for the completion loop
	spare       []*flight

	// marks are the durable flushes that are not settled, and unsettled is
	// their size.
	marks     queue[mark]
	unsettled int64
}

// phase is what the store is doing with its journal.
type phase int

const (
	// phaseServing: flushes are sent. A failed one leads to phaseFailing.
	phaseServing phase = iota
	// phaseFailing: no flush is sent; when those in the air have landed, the
	// completion loop takes back what is not durable: phaseDown.
	phaseFailing
	// phaseDown: appends are refused; the flush loop reopens the journal and
	// goes back to phaseServing.
	phaseDown
	// phaseEnded: the flush loop has ended, and the completion loop will.
	phaseEnded
)

// Open recovers what the medium holds and starts the store. The leader epoch
// counter has been raised, durably, when it returns. After an error the medium
// is the caller's to close. Errors: those of the medium, among them a
// *CorruptError if the journal is damaged.
func Open(ctx context.Context, m Medium, c Config) (*Store, error) {
	s := &Store{
		m: m, c: c.withDefaults(), began: time.Now(),
		closed: make(chan struct{}), failed: make(chan struct{}),
		wakeFlusher: make(chan struct{}, 1), wakeCompleter: make(chan struct{}, 1),
		logs: make(map[Partition]*Log),
	}
	s.lender, _ = m.(Lender)
	b := blocksOf(m)
	s.settler = newSettler(&s.c, b)
	s.cleaner = newCleaner()
	s.tail = newTail(s.c.TailLimit, b, func() { signal(s.settler.wake) })
	if err := s.recover(func(r Recovery) (Report, error) { return m.Recover(ctx, r) }); err != nil {
		return nil, err
	}
	epoch, err := s.firstEpoch(ctx)
	if err != nil {
		return nil, err
	}
	s.checkSpace(0)
	s.resume(epoch)
	s.loops.Add(2)
	go s.flushLoop()
	go s.completeLoop()
	go s.settleLoop()
	go s.cleanLoop()
	if f, ok := m.(interface{ Failed() <-chan error }); ok {
		go s.watchMedium(f.Failed())
	}
	return s, nil
}

// watchMedium waits for the medium to say that what it has acknowledged is
// lost, which ends the store.
func (s *Store) watchMedium(failed <-chan error) {
	select {
	case err, ok := <-failed:
		if ok {
			s.fail(err)
		}
	case <-s.closed:
	}
}

// fail takes every log out of service for good.
func (s *Store) fail(err error) {
	s.c.Log.Error("storage has failed", "err", err)
	s.mu.Lock()
	s.err = err
	logs := s.logsLocked()
	s.mu.Unlock()
	s.endLogs(logs, fmt.Errorf("%w: %w", ErrFlushFailed, err))
	s.refuseControls()
	close(s.failed)
}

func (s *Store) endLogs(logs []*Log, err error) {
	var c completions
	for _, l := range logs {
		l.mu.Lock()
		l.endLocked(err, &c)
		l.mu.Unlock()
	}
	c.tell()
}

// Close makes what was appended durable, ends every wait with ErrClosed and
// closes the medium. If ctx ends first, Close returns its error and the rest
// happens when the medium allows it.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closing = true
	logs := s.logsLocked()
	s.mu.Unlock()
	close(s.closed)
	for _, l := range logs {
		l.mu.Lock()
		l.closing = true
		l.mu.Unlock()
	}
	signal(s.wakeFlusher)
	closed := make(chan error, 1)
	go func() {
		s.loops.Wait()
		<-s.cleaner.ended
		if err := s.inSettler(ctx, s.settleAll); err != nil {
			s.c.Log.Warn("segments could not be written at the end", "err", err)
		}
		close(s.settler.stop)
		<-s.settler.ended
		s.endLogs(logs, ErrClosed)
		s.refuseControls()
		closed <- s.m.Close()
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuseControls answers what the flush loop has not got to.
func (s *Store) refuseControls() {
	s.mu.Lock()
	left := s.control
	s.control = nil
	s.mu.Unlock()
	for _, k := range left {
		k.done(k.frame, 0, ErrClosed)
	}
}

// Report is what recovery found at Open.
func (s *Store) Report() Report { return s.report }

// Epoch is the newest number of the leader epoch counter.
func (s *Store) Epoch() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// NextEpoch takes the next number of the leader epoch counter. It is durable
// when NextEpoch returns. While the journal is being reopened after a failed
// flush it waits. Errors: ErrClosed.
func (s *Store) NextEpoch() (int32, error) {
	type result struct {
		epoch int32
		err   error
	}
	taken := make(chan result, 1)
	s.submit(control{frame: Frame{Kind: FrameEpoch}, insist: true, done: func(f Frame, _ uint64, err error) {
		if err == nil {
			s.mu.Lock()
			s.epoch = max(s.epoch, f.Epoch)
			s.mu.Unlock()
		}
		taken <- result{f.Epoch, err}
	}})
	r := <-taken
	return r.epoch, r.err
}

// Create returns the log of p, which is made if the store has none yet.
func (s *Store) Create(p Partition, c LogConfig) (*Log, error) {
	s.mu.Lock()
	l, ok := s.logs[p]
	if s.closing || s.err != nil || ok && l.removed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if !ok {
		l = newLog(s, p)
		l.epoch, l.down = s.lead, s.down
		s.logs[p] = l
	}
	s.mu.Unlock()
	l.SetConfig(c)
	return l, nil
}

// Log returns the log of p if there is one.
func (s *Store) Log(p Partition) (*Log, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.logs[p]
	if !ok || l.removed {
		return nil, false
	}
	return l, true
}

// Partitions lists the logs the store holds, in no order.
func (s *Store) Partitions() []Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Partition, 0, len(s.logs))
	for p, l := range s.logs {
		if !l.removed {
			all = append(all, p)
		}
	}
	return all
}

// logsLocked lists the logs in an order that does not change.
func (s *Store) logsLocked() []*Log {
	all := make([]*Log, 0, len(s.logs))
	for _, l := range s.logs {
		all = append(all, l)
	}
	sortLogs(all)
	return all
}

func sortLogs(logs []*Log) {
	slices.SortFunc(logs, func(a, b *Log) int {
		return cmp.Or(bytes.Compare(a.p.Topic[:], b.p.Topic[:]), cmp.Compare(a.p.Index, b.p.Index))
	})
}

// Pressed reports whether the tail is over its limit: connections whose next
// request is a Produce are then not read until the returned channel is closed.
// The channel is nil when there is no pressure.
func (s *Store) Pressed() <-chan struct{} { return s.tail.pressure() }

// Failed returns a channel that is closed when the store can no longer serve
// (a failed interval sync, say); Err says why.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is the reason why the store can no longer serve, nil if it can.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Settle moves everything in the tail to segments and trims the journal. The
// store does so by itself; this is for Close, tools and tests.
func (s *Store) Settle(ctx context.Context) error { return s.inSettler(ctx, s.settleAll) }
