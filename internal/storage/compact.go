package storage

import (
	"context"
	"errors"
	"time"

	"rota/internal/record"
)

// Compaction rewrites the settled segments of a log so that of each key the
// last record is left (cleanup.policy=compact). It works in passes:
//
//  1. The cleaner takes the segments that may be cleaned. The last segment of a
//     log is one of them once it is old enough, and nothing is appended to it
//     any more.
//  2. It reads the part that no pass has seen and notes the last offset of each
//     key, as far as the table of keys has room.
//  3. It reads everything before that point and writes what stays into new
//     segments, which no manifest lists.
//  4. One replacement of the manifest swaps old for new.
//
// What it cleans lies below the last stable offset: of each transaction in there
// it is known how it ended. Records of aborted ones go. A marker stays as long as
// any batch of its transaction, and then for delete.retention.ms.
//
// Reading, hashing and compressing happen on the cleaner's goroutine, all calls
// that change something on the settle loop's, in steps of 1 MiB.

// compaction is a log's part of it, guarded by Log.mu.
type compaction struct {
	// sealed is the last segment, by its token, while a pass reads it.
	sealed string
	// leftOver are segments that the medium holds and no one needs; the next
	// move deletes them.
	leftOver []Segment
	// due is when the next tombstone or marker may go, in wall clock milliseconds; 0 is
	// not known.
	due int64
	// holds counts those who need every tombstone and marker, and swapping is closed when
	// segments without some have been swapped in.
	holds    int
	swapping chan struct{}
	// broken: the log cannot be read. retryAt: no pass before, after one that
	// failed.
	broken  bool
	retryAt time.Time
}

// cleaner is the state of the clean loop.
type cleaner struct {
	requests chan cleanRequest
	ended    chan struct{}
	codec    record.Codec
	read     []byte
	thin     []byte
	write    []byte
}

type cleanRequest struct {
	ctx  context.Context
	done chan error // has room for one
}

func newCleaner() *cleaner {
	return &cleaner{requests: make(chan cleanRequest), ended: make(chan struct{})}
}

const (
	// cleanStep is how much a pass reads or writes at a time.
	cleanStep = 1 << 20
	// cleanKeep is the largest buffer kept between passes.
	cleanKeep = 4 << 20
	// earlyClean is the size at which the last segment of an internal log is
	// closed, so that a restart does not have to read the topic's segment.bytes
	// of what is long superseded.
	earlyClean = 8 << 20
	// cleanPasses bounds the passes over one log in a row.
	cleanPasses = 100
	// After a step the cleaner rests cleanRest times as long as the step took,
	// within these bounds. It leaves most of a disk to the journal, and gets
	// through 100 MiB a second at most.
	cleanRest    = 3
	cleanRestMin = 10 * time.Millisecond
	cleanRestMax = 250 * time.Millisecond
	// cleanRetryPause is how long a log is left alone after a pass that failed.
	cleanRetryPause = time.Minute
)

// What ends a pass although nothing is wrong.
var (
	errHeld  = errors.New("a reader needs the tombstones")
	errMoved = errors.New("segments were deleted meanwhile")
)

// cleanLoop compacts logs that need it, one at a time.
func (s *Store) cleanLoop() {
	w := s.cleaner
	defer close(w.ended)
	pause := s.c.CleanInterval
	var tick <-chan time.Time
	if pause > 0 {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-s.closed:
			return
		case r := <-w.requests:
			r.done <- s.cleanAll(r.ctx)
		case <-tick:
			s.cleanDue()
		}
	}
}

// Clean settles everything and then compacts all logs that are to be compacted,
// as if their last segments were closed and whatever the share of new records
// (min.compaction.lag.ms and delete.retention.ms hold). The store compacts by
// itself; this is for tools and tests. Errors: the first of a log that could
// not be compacted, ErrClosed.
func (s *Store) Clean(ctx context.Context) error {
	if err := s.Settle(ctx); err != nil {
		return err
	}
	r := cleanRequest{ctx: ctx, done: make(chan error, 1)}
	select {
	case s.cleaner.requests <- r:
	case <-s.cleaner.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-r.done
}

func (s *Store) cleanAll(ctx context.Context) error {
	var first error
	for _, l := range s.compactedLogs() {
		for again := true; again; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if again, err = s.cleanOne(l, true); err != nil {
				if first == nil {
					first = err
				}
				again = false
			}
		}
	}
	return first
}

// cleanDue compacts what is due, the log with the largest share of new records
// first.
func (s *Store) cleanDue() {
	passes := map[*Log]int{}
	for {
		var worst *Log
		share := -1.0
		for _, l := range s.compactedLogs() {
			conf := l.Config()
			if w := l.dirt(&conf, s.c.Now(), false); w.due && w.share > share && passes[l] < cleanPasses {
				worst, share = l, w.share
			}
		}
		if worst == nil {
			return
		}
		passes[worst]++
		if _, err := s.cleanOne(worst, false); err != nil {
			if errors.Is(err, ErrClosed) {
				return
			}
			s.postpone(worst, err)
			passes[worst] = cleanPasses
		}
	}
}

// compactedLogs lists the logs that are to be compacted, in an order that does
// not change.
func (s *Store) compactedLogs() []*Log {
	s.mu.Lock()
	var logs []*Log
	for _, l := range s.logs {
		if l.Config().Compact {
			logs = append(logs, l)
		}
	}
	s.mu.Unlock()
	sortLogs(logs)
	return logs
}

// postpone leaves a log alone whose pass has failed.
func (s *Store) postpone(l *Log, err error) {
	if errors.Is(err, errHeld) || errors.Is(err, errMoved) {
		return // the next look may be luckier
	}
	var damage *CorruptError
	broken := errors.As(err, &damage) || errors.Is(err, record.ErrInvalid)
	s.c.Log.Error("log cannot be compacted", "topic", topicText(l.p), "partition", l.p.Index, "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compaction.broken = broken
	l.compaction.retryAt = time.Now().Add(cleanRetryPause)
}

// dirt says what there is to compact in a log.
type dirt struct {
	segments int     // the first so many may be cleaned
	share    float64 // of bytes in them that are new
	due      bool
}

// dirt is what a pass would find. A forced one closes the last segment and is
// due whenever it may change something.
func (l *Log) dirt(conf *LogConfig, wall time.Time, forced bool) dirt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.corrupt || l.compaction.broken || !forced && time.Now().Before(l.compaction.retryAt) {
		return dirt{}
	}
	now, stable := wall.UnixMilli(), min(l.settled, l.stableLocked())
	var w dirt
	var clean, fresh int64
	late := false
	for i := range l.segments {
		seg := &l.segments[i]
		age := now - seg.Created
		if i >= l.cleaned {
			newest := seg.MaxTimestamp
			if newest < 0 {
				newest = seg.Created
			}
			open := i == len(l.segments)-1 && !forced && age < conf.rollAge().Milliseconds() && (!conf.Internal || seg.Size < earlyClean)
			if open || seg.End > stable || conf.MinCompactionLag > 0 && now-newest < conf.MinCompactionLag.Milliseconds() {
				break
			}
			late = late || conf.MaxCompactionLag > 0 && age > conf.MaxCompactionLag.Milliseconds()
			fresh += seg.Size
		} else {
			clean += seg.Size
		}
		w.segments = i + 1
	}
	if clean+fresh > 0 {
		w.share = float64(fresh) / float64(clean+fresh)
	}
	expired := l.compaction.due > 0 && l.compaction.due <= now && l.compaction.holds == 0
	w.due = w.segments > 0 && (forced || expired || fresh > 0 && (late || w.share > conf.DirtyRatio))
	return w
}

// rollAge is the age at which a segment is closed: what compaction must look
// at by a certain age must not be the last segment then.
func (c *LogConfig) rollAge() time.Duration {
	if c.Compact && c.MaxCompactionLag > 0 {
		return min(c.SegmentAge, c.MaxCompactionLag)
	}
	return c.SegmentAge
}

// Hold keeps compaction from taking tombstones and markers away until release is
// called: a reader that builds a state from the whole log would otherwise keep a
// value that it read before its tombstone went, or wait for the end of a
// transaction. It may wait for a swap of segments
// that is under way.
func (l *Log) Hold() (release func()) {
	for {
		l.mu.Lock()
		swapping := l.compaction.swapping
		if swapping == nil {
			l.compaction.holds++
			l.mu.Unlock()
			return l.unhold
		}
		l.mu.Unlock()
		<-swapping
	}
}

func (l *Log) unhold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compaction.holds--
}
