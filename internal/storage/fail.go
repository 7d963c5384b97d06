package storage

import (
	"context"
	"fmt"
	"time"

	"rota/internal/record"
)

// fallBack takes back everything that is not durable after a failed flush:
// every log returns to its durable end, and only then is anybody told.
func (s *Store) fallBack(failed []*flight, c *completions) {
	first := failed[0]
	s.c.Log.Error("flush failed", "flush", first.Number, "err", first.err)

	s.mu.Lock()
	s.down = true
	s.nextFlush = first.Number
	s.ready[0].pop(s.ready[0].len())
	s.ready[1].pop(s.ready[1].len())
	logs := s.logsLocked()
	s.mu.Unlock()

	var freed pins
	for _, l := range logs {
		l.mu.Lock()
		l.fallBackLocked(c, &freed)
		l.mu.Unlock()
	}
	freed.release()
	c.tell()
	var again []control
	for _, f := range failed {
		for i, k := range f.control {
			if k.insist {
				again = append(again, k)
			} else {
				k.done(f.Frames[i], f.Number, ErrFlushFailed)
			}
		}
	}

	s.mu.Lock()
	s.control = append(again, s.control...)
	for _, f := range failed {
		s.recycleLocked(f)
	}
	s.phase = phaseDown
	s.mu.Unlock()
	signal(s.wakeFlusher)
}

// fallBackLocked returns the log to its durable end. Its writer is fenced and
// appends are refused until the store has a new journal.
func (l *Log) fallBackLocked(c *completions, freed *pins) {
	l.down, l.writer = true, nil
	n := l.entries.len()
	for n > 0 && l.entries.at(n-1).base >= l.hw {
		n--
	}
	l.truncateLocked(n, freed)
	for l.waiters.len() > 0 {
		if w := l.waiters.at(0); w.end <= l.hw {
			l.answerFirstLocked(c, nil) // a duplicate of a durable batch
		} else {
			l.answerFirstLocked(c, ErrFlushFailed)
		}
	}
}

// truncateLocked keeps the first n batches of the tail, and makes everything
// else what it was when the last of them was appended. freed gets the memory.
func (l *Log) truncateLocked(n int, freed *pins) {
	for i := n; i < l.entries.len(); i++ {
		freed.add(l.entries.at(i).chunk)
	}
	if n < l.entries.len() {
		l.bytes, l.end = l.entries.at(n).at, l.entries.at(n).base
		l.entries.truncate(n)
	}
	l.sent, l.queued = min(l.sent, n), false
	for n := len(l.epochs); n > 0 && l.epochs[n-1].Start >= l.end; n-- {
		l.epochs = l.epochs[:n-1]
	}
	if len(l.producers.known) > 0 {
		l.refoldLocked()
	}
}

// refoldLocked builds what the log knows of its producers anew, from what
// segments and tail have.
func (l *Log) refoldLocked() {
	now := l.s.c.Now().UnixMilli()
	l.producers = l.settledProducers.clone()
	l.aborted.pop(l.aborted.len())
	for i := range l.entries.all() {
		e := l.entries.at(i)
		h, err := record.ParseHeader(e.batch())
		if err != nil || h.ProducerID < 0 {
			continue
		}
		// What is in the tail has been folded before: it can be read.
		if aborted, err := l.producers.fold(&h, e.batch(), e.base, now); err == nil && aborted != nil {
			l.aborted.push(*aborted)
		}
	}
	l.producers.spans.forget(l.hw)
}

// Pauses between attempts to reopen the journal.
const (
	reopenPause    = 50 * time.Millisecond
	reopenPauseMax = 5 * time.Second
	// openAttempts is how often a store that is being opened tries.
	openAttempts = 3
)

// reopen brings the store back into service in a new journal, under a new
// leader epoch. It tries until it succeeds or the store is closed.
func (s *Store) reopen() {
	pause := reopenPause
	for {
		epoch, err := s.tryReopen()
		if err == nil {
			s.resume(epoch)
			s.c.Log.Info("journal reopened", "epoch", epoch)
			return
		}
		s.c.Log.Error("journal cannot be reopened", "err", err, "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.closed:
			timer.Stop()
			return
		case <-s.failed:
			timer.Stop()
			return
		}
		pause = min(2*pause, reopenPauseMax)
	}
}

func (s *Store) tryReopen() (epoch int32, err error) {
	s.mu.Lock()
	number := s.nextFlush
	s.mu.Unlock()
	if err := s.m.Reopen(number); err != nil {
		return 0, err
	}
	return s.flushEpoch()
}

// flushEpoch takes a number from the leader epoch counter in a flush of its
// own, while no other is under way.
func (s *Store) flushEpoch() (epoch int32, err error) {
	s.mu.Lock()
	s.counter++
	epoch = s.counter
	number := s.nextFlush
	s.mu.Unlock()
	landed := make(chan error, 1)
	f := Flush{Number: number, Frames: []Frame{{Kind: FrameEpoch, Epoch: epoch}}}
	s.m.Flush(f, func() {}, func(err error) { landed <- err })
	if err := <-landed; err != nil {
		return 0, err
	}
	s.addMark(mark{number: number})
	s.mu.Lock()
	s.nextFlush = number + 1
	s.mu.Unlock()
	return epoch, nil
}

// firstEpoch takes the epoch of a store that is being opened. Nothing else
// runs yet. A disk that fails once is tried again.
func (s *Store) firstEpoch(ctx context.Context) (epoch int32, err error) {
	epoch, err = s.flushEpoch()
	for range openAttempts {
		if err == nil || ctx.Err() != nil {
			break
		}
		s.c.Log.Error("journal cannot be written to", "err", err, "pause", reopenPause)
		time.Sleep(reopenPause)
		epoch, err = s.tryReopen()
	}
	if err != nil {
		return 0, fmt.Errorf("begin journal: %w", err)
	}
	return epoch, nil
}

// resume takes appends again.
func (s *Store) resume(epoch int32) {
	s.mu.Lock()
	s.epoch = max(s.epoch, epoch)
	s.lead = epoch
	s.down = false
	s.phase = phaseServing
	logs := s.logsLocked()
	s.mu.Unlock()
	for _, l := range logs {
		l.mu.Lock()
		l.down = false
		if l.epoch < epoch {
			l.epoch, l.writer = epoch, nil
		}
		l.mu.Unlock()
	}
}
