package storage

import (
	"context"
	"fmt"
	"time"
)

// mark is one durable flush that segments do not cover yet.
type mark struct {
	number uint64
	bytes  int64 // of batches
	small  int64 // of these, bytes in batches that settling must copy
	at     time.Time
}

// Bounds of a round of settling. When more comes in than the medium takes,
// producers wait for the end of a round; each has its price in syncs, and for
// each log that it moves something of. What it copies needs memory of its own.
const (
	roundBytes = 16 << 20
	roundEach  = 32 << 10 // for each log, if that is more
	roundSmall = 8 << 20
)

// Pauses between attempts to settle after one that failed.
const (
	settlePause    = 200 * time.Millisecond
	settlePauseMax = 10 * time.Second
)

// tailTrimPause is the time after which memory that the tail has not needed is
// given back.
const tailTrimPause = time.Minute

// settler is the state of the settle loop: all changes to segments and
// manifests are made by its one goroutine.
type settler struct {
	wake     chan struct{} // room for one signal
	requests chan settleRequest
	stop     chan struct{} // closed to end the loop
	ended    chan struct{} // closed when it has

	slabs    slabs
	logs     int // that the last round moved something of
	scratch  []entry
	retryAt  time.Time // no round before, after one that failed
	pause    time.Duration
	retainAt time.Time
	trimAt   time.Time
}

// settleRequest is work for the settle loop that somebody waits for.
type settleRequest struct {
	do   func() error
	done chan error // has room for one
}

func newSettler(c *Config, b blocks) *settler {
	now := time.Now()
	return &settler{
		wake: make(chan struct{}, 1), requests: make(chan settleRequest),
		stop: make(chan struct{}), ended: make(chan struct{}), slabs: slabs{blocks: b},
		retainAt: now.Add(c.RetentionInterval), trimAt: now.Add(tailTrimPause),
	}
}

// settleLoop moves batches from the tail to segments when the tail or the
// journal fills up or batches get old, and runs retention.
func (s *Store) settleLoop() {
	w := s.settler
	defer close(w.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case r := <-w.requests:
			r.done <- r.do()
		case <-w.wake:
		case <-timer.C:
		case <-w.stop:
			return
		}
		now := time.Now()
		for s.settleDue(now) {
			s.trySettle(now)
			now = time.Now()
		}
		if !now.Before(w.retainAt) {
			if err := s.retainAll(); err != nil {
				s.c.Log.Error("retention failed", "err", err)
			}
			w.retainAt = now.Add(s.c.RetentionInterval)
		}
		if !now.Before(w.trimAt) {
			s.tail.trim()
			w.slabs.trim()
			w.trimAt = now.Add(tailTrimPause)
		}
		timer.Reset(time.Until(s.nextSettleTurn()))
	}
}

// inSettler runs do on the settle loop's goroutine.
func (s *Store) inSettler(ctx context.Context, do func() error) error {
	r := settleRequest{do: do, done: make(chan error, 1)}
	select {
	case s.settler.requests <- r:
		return <-r.done
	case <-s.settler.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settleDue reports whether a round has to begin now.
func (s *Store) settleDue(now time.Time) bool {
	if now.Before(s.settler.retryAt) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks.len() == 0 {
		return false
	}
	return s.crowdedLocked() || now.Sub(s.marks.at(0).at) >= s.c.TailAge
}

// crowdedLocked reports whether the tail or the journal is filling up.
func (s *Store) crowdedLocked() bool {
	return s.tail.used.Load() > s.tail.limit/2 || s.unsettled > s.c.JournalLimit/2
}

// nextSettleTurn is when the settle loop has work although nobody wakes it.
func (s *Store) nextSettleTurn() time.Time {
	w := s.settler
	next := w.retainAt
	if w.trimAt.Before(next) {
		next = w.trimAt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks.len() == 0 {
		return next
	}
	due := s.marks.at(0).at.Add(s.c.TailAge)
	if s.crowdedLocked() || due.Before(w.retryAt) {
		due = w.retryAt
	}
	if due.Before(next) {
		next = due
	}
	return next
}

// trySettle runs one round and plans another attempt if it fails.
func (s *Store) trySettle(now time.Time) {
	w := s.settler
	err := s.settleRound()
	if err == nil {
		w.pause = 0
		return
	}
	w.pause = min(max(settlePause, 2*w.pause), settlePauseMax)
	w.retryAt = now.Add(w.pause)
	s.c.Log.Error("segments cannot be written", "err", err, "pause", w.pause)
}

// addMark says that a flush is durable, and wakes the settle loop if it has to
// do something about that. Called by the completion loop.
func (s *Store) addMark(m mark) {
	m.at = time.Now()
	s.mu.Lock()
	first := s.marks.len() == 0
	s.marks.push(m)
	s.unsettled += m.bytes
	wake := first || s.crowdedLocked()
	s.mu.Unlock()
	if wake {
		signal(s.settler.wake)
	}
}

// settleAll moves everything that is durable now.
func (s *Store) settleAll() error {
	s.mu.Lock()
	n := s.marks.len()
	if n == 0 {
		s.mu.Unlock()
		return nil
	}
	last := s.marks.at(n - 1).number
	s.mu.Unlock()
	for {
		s.mu.Lock()
		left := s.marks.len() > 0 && s.marks.at(0).number <= last
		s.mu.Unlock()
		if !left {
			return nil
		}
		if err := s.settleRound(); err != nil {
			return err
		}
	}
}

// settleRound moves the oldest flushes of the tail into segments, for all logs
// at once, and trims the journal. It goes by flushes because batches lie in
// the tail's memory, and in the journal, in their order.
func (s *Store) settleRound() error {
	w := s.settler
	cut, n := s.roundCut(min(max(roundBytes, int64(w.logs)*roundEach), s.tail.limit/2))
	if n == 0 {
		return nil
	}
	w.slabs.reset()
	s.mu.Lock()
	logs := s.logsLocked()
	hold := holdLocked(logs)
	s.mu.Unlock()
	now := s.c.Now().UnixMilli()
	var plans []*plan
	var moves []Move
	for _, l := range logs {
		p, err := w.plan(l, cut, now)
		if err != nil {
			return fmt.Errorf("partition %x-%d: %w", l.p.Topic, l.p.Index, err)
		}
		if p != nil {
			plans = append(plans, p)
			moves = append(moves, p.move)
		}
	}
	w.logs = len(moves)
	if len(moves) > 0 {
		if err := s.m.Settle(moves); err != nil {
			return err
		}
	}
	for _, p := range plans {
		p.commit()
		s.m.Drop(p.l.p, p.drop)
	}
	s.mu.Lock()
	for range n {
		s.unsettled -= s.marks.at(0).bytes
		s.marks.pop(1)
	}
	s.mu.Unlock()
	return s.trim(cut, hold)
}

// roundCut returns the last flush of the next round and how many flushes that
// makes. limit is what the round should move.
func (s *Store) roundCut(limit int64) (cut uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes, small int64
	for n < s.marks.len() && bytes < limit && small < roundSmall {
		m := s.marks.at(n)
		bytes, small, cut = bytes+m.bytes, small+m.small, m.number
		n++
	}
	return cut, n
}

// holdLocked is the first flush that must stay in the journal although
// segments have everything of the other logs; 0 if there is none.
func holdLocked(logs []*Log) uint64 {
	var hold uint64
	for _, l := range logs {
		if l.hold > 0 && (hold == 0 || l.hold < hold) {
			hold = l.hold
		}
	}
	return hold
}

// trim lets the medium forget flushes up to cut. What damaged partitions have
// in the journal is kept for repair as long as there is room for it.
func (s *Store) trim(cut, hold uint64) error {
	if hold > 0 && hold <= cut {
		if s.m.JournalSize() <= s.c.JournalLimit {
			cut = hold - 1
		} else {
			s.c.Log.Error("journal is full: frames of partitions that are damaged or cannot be removed are given up")
		}
	}
	if cut == 0 {
		return nil
	}
	if err := s.m.Trim(cut); err != nil {
		return fmt.Errorf("trim journal: %w", err)
	}
	return nil
}
