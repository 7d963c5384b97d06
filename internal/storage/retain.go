package storage

import (
	"context"
	"fmt"
	"time"
)

// Retain runs one retention pass.
func (s *Store) Retain() error { return s.inSettler(context.Background(), s.retainAll) }

// retainAll deletes whole segments that the logs' configurations, or a raised
// log start, no longer keep, and forgets idle producers. It runs on the settle
// loop.
func (s *Store) retainAll() error {
	s.mu.Lock()
	logs := s.logsLocked()
	s.mu.Unlock()
	now := s.c.Now()
	var plans []*retention
	var moves []Move
	for _, l := range logs {
		l.forgetIdle(now, s.c.ProducerExpiry)
		if r := l.planRetention(now); r != nil {
			plans = append(plans, r)
			moves = append(moves, r.move)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	if err := s.m.Settle(moves); err != nil {
		return fmt.Errorf("delete segments: %w", err)
	}
	var c completions
	for _, r := range plans {
		r.commit(&c)
	}
	c.tell()
	for _, r := range plans {
		s.m.Drop(r.l.p, r.drop)
	}
	return nil
}

// retention is what a retention pass does to one log.
type retention struct {
	l    *Log
	move Move
	drop []Segment // when readers know
}

// planRetention is nil if every segment stays.
func (l *Log) planRetention(now time.Time) *retention {
	conf := l.Config()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.corrupt || len(l.segments) == 0 {
		return nil
	}
	n := l.expiredLocked(&conf, now.UnixMilli())
	if n == 0 {
		return nil
	}
	m := l.manifestLocked()
	m.Start = max(l.start, l.segments[n-1].End)
	m.Segments, m.Cleaned = m.Segments[n:], max(0, l.cleaned-n)
	m.Epochs = epochsWithin(l.epochs, m.Start, m.End)
	return &retention{l: l, move: Move{Manifest: m}, drop: append(l.segments[:n:n], l.compaction.leftOver...)}
}

// expiredLocked counts the segments to delete, oldest first.
func (l *Log) expiredLocked(conf *LogConfig, now int64) int {
	size := l.sizeLocked()
	n := 0
	for ; n < len(l.segments); n++ {
		seg := &l.segments[n]
		newest := seg.MaxTimestamp
		if newest < 0 {
			newest = seg.Created
		}
		old := conf.Delete && conf.RetentionAge >= 0 && now-newest > conf.RetentionAge.Milliseconds()
		much := conf.Delete && conf.RetentionBytes >= 0 && size-seg.Size >= conf.RetentionBytes
		if !old && !much && seg.End > l.start {
			break
		}
		size -= seg.Size
	}
	return n
}

func (r *retention) commit(c *completions) {
	l, m := r.l, r.move.Manifest
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments, l.cleaned = m.Segments, m.Cleaned
	l.compaction.leftOver = nil
	l.compaction.broken = false // the damage may be gone
	l.settledStart = m.Start
	if m.Start > l.start {
		l.start = m.Start
		l.wakeLocked(c)
	}
	l.epochs = epochsSince(l.epochs, l.start)
}

// forgetIdle drops producers that have not been seen for expiry, and memory
// that the log does not use now.
func (l *Log) forgetIdle(now time.Time, expiry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries.shrink()
	l.waiters.shrink()
	l.aborted.shrink()
	l.producers.expire(now.UnixMilli(), expiry.Milliseconds())
	l.forgetGuardsLocked(now.UnixMilli(), expiry.Milliseconds())
	if len(l.settledProducers.known) > 0 {
		// The settle loop and a failed flush may be reading the old one.
		l.settledProducers = l.settledProducers.clone()
		l.settledProducers.expire(now.UnixMilli(), expiry.Milliseconds())
	}
}

// DeleteRecords raises the log start to before (-1: the high watermark). done
// is called once it is durable, with the new start; a log start beyond before
// stays. Segments below the start go in the next retention pass. Errors:
// ErrOffsetOutOfRange (before lies beyond the high watermark), ErrFlushFailed,
// ErrClosed, a *CorruptError.
func (l *Log) DeleteRecords(before int64, done func(start int64, err error)) {
	l.mu.Lock()
	start, hw, epoch := l.start, l.hw, l.epoch
	err := l.refusalLocked()
	l.mu.Unlock()
	if before == -1 {
		before = hw
	}
	switch {
	case err != nil:
		done(-1, err)
	case before < 0 || before > hw:
		done(-1, ErrOffsetOutOfRange)
	case before <= start:
		done(start, nil)
	default:
		f := Frame{Kind: FrameStart, Partition: l.p, Offset: before, Epoch: epoch}
		l.s.submit(control{frame: f, done: func(f Frame, _ uint64, err error) {
			if err != nil {
				done(-1, err)
				return
			}
			done(l.raiseStart(f.Offset), nil)
		}})
	}
}

// raiseStart makes a durable log start visible.
func (l *Log) raiseStart(to int64) int64 {
	var c completions
	l.mu.Lock()
	if to > l.start {
		l.start = to
		l.wakeLocked(&c)
	}
	start := l.start
	l.mu.Unlock()
	c.tell()
	return start
}

// Size is the number of bytes in segments and tail.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizeLocked()
}

func (l *Log) sizeLocked() int64 {
	size := l.tailBytesLocked()
	for i := range l.segments {
		size += l.segments[i].Size
	}
	return size
}

// tailBytesLocked is the size of all batches in the tail.
func (l *Log) tailBytesLocked() int64 {
	if l.entries.len() == 0 {
		return 0
	}
	return l.bytes - l.entries.at(0).at
}
