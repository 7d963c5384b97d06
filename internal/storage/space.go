package storage

import (
	"math"
	"sync/atomic"
	"time"
)

// space knows whether the medium has room for appends. There is no timer: the
// next append asks, if nobody has for a while.
type space struct {
	level   atomic.Int32
	checked atomic.Int64 // when, in nanoseconds of the process's clock
	written atomic.Int64 // bytes since
}

// Levels of space.
const (
	spaceEnough  int32 = iota
	spaceReserve       // internal logs only
	spaceNone
)

const (
	// spaceCheckBytes is how much may be flushed between two checks: little
	// compared to the reserves.
	spaceCheckBytes = 8 << 20
	// spaceCheckPause is the pause between two checks by appends.
	spaceCheckPause = time.Second
	// spaceRetryPause is the pause between two checks while appends are refused.
	spaceRetryPause = 100 * time.Millisecond
)

// Free is the room that the medium has left, in bytes; math.MaxInt64 if it knows
// no bound.
func (s *Store) Free() (int64, error) { return s.m.Free() }

// Total is the room that the medium has in all, with what others keep there,
// in bytes; math.MaxInt64 if it knows no bound.
func (s *Store) Total() (int64, error) {
	if sized, ok := s.m.(interface{ Total() (int64, error) }); ok {
		return sized.Total()
	}
	return math.MaxInt64, nil
}

// Cached is the memory that holds records so that they need not be read again:
// the tail, and what the medium keeps. It is bounded, and depends on what
// readers happen to ask for.
func (s *Store) Cached() int64 {
	n := s.tail.bytes()
	if m, ok := s.m.(interface{ Cached() int64 }); ok {
		n += m.Cached()
	}
	return n
}

// full reports whether an append must be refused.
func (s *Store) full(internal bool) bool {
	if s.space.level.Load() == spaceEnough {
		s.checkSpace(spaceCheckPause)
	} else {
		s.checkSpace(spaceRetryPause)
	}
	level := s.space.level.Load()
	return level == spaceNone || level == spaceReserve && !internal
}

// wroteBytes keeps the level fresh while the journal is written to.
func (s *Store) wroteBytes(n int) {
	if s.space.written.Add(int64(n)) > spaceCheckBytes {
		s.checkSpace(0)
	}
}

// checkSpace asks the medium, unless somebody did within the last pause.
func (s *Store) checkSpace(pause time.Duration) {
	now := int64(time.Since(s.began))
	last := s.space.checked.Load()
	if last != 0 && now-last < int64(pause) || !s.space.checked.CompareAndSwap(last, max(now, 1)) {
		return
	}
	s.space.written.Store(0)
	free, err := s.m.Free()
	if err != nil {
		s.c.Log.Warn("free space is unknown", "err", err)
		return
	}
	level := spaceEnough
	switch {
	case free < s.c.InternalReserve:
		level = spaceNone
	case free < s.c.Reserve:
		level = spaceReserve
	}
	if old := s.space.level.Swap(level); old == level {
		return
	}
	if level == spaceEnough {
		s.c.Log.Info("appends are taken again", "free", free)
	} else {
		s.c.Log.Error("disk is nearly full: appends are refused", "free", free, "internal", level == spaceNone)
	}
}
