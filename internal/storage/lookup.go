package storage

import (
	"slices"

	"rota/internal/record"
)

// Found is the place of a record that a timestamp asked for.
type Found struct {
	Offset, Timestamp int64
	Epoch             int32
}

// FirstSince returns the first record at or after ts (milliseconds) below the
// visible end, and false if there is none. Errors: ErrClosed, a *CorruptError.
func (l *Log) FirstSince(ts int64, committed bool) (Found, bool, error) {
	for {
		l.mu.Lock()
		err, segments := l.err, l.segments
		from, visible := l.start, l.visibleLocked(committed)
		l.mu.Unlock()
		if err != nil {
			return Found{}, false, err
		}
		found, ok, err := l.firstSince(ts, segments, from, visible)
		if err == nil || l.has(from, segments) {
			return found, ok, err
		}
	}
}

// has reports whether the log is open and still has just these segments, and
// that start. What fails while they are being replaced, or records deleted, or
// the log ends, is tried again.
func (l *Log) has(start int64, segments []Segment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && l.start == start && slices.Equal(l.segments, segments)
}

func (l *Log) firstSince(ts int64, segments []Segment, from, visible int64) (Found, bool, error) {
	for _, seg := range segments {
		if seg.End <= from || seg.MaxTimestamp < ts {
			continue
		}
		at, err := l.s.m.Seek(l.p, seg, ts)
		if err != nil {
			return Found{}, false, err
		}
		found, ok, err := l.searchFrom(max(at, from), min(seg.End, visible), from, ts)
		if ok || err != nil {
			return found, ok, err
		}
	}
	if n := len(segments); n > 0 {
		from = max(from, segments[n-1].End)
	}
	return l.searchFrom(from, visible, from, ts)
}

// searchBytes is how much is read at a time to look for a record.
const searchBytes = 64 << 10

// searchFrom walks over the batches from at to end for the first record with
// an offset of at least from and a timestamp of at least ts.
func (l *Log) searchFrom(at, end, from, ts int64) (found Found, ok bool, err error) {
	err = l.batchesBetween(at, end, func(batch []byte, h *record.Header, c *codec) (bool, error) {
		if h.MaxTimestamp < ts {
			return true, nil
		}
		stamp, hit, err := c.FirstSince(batch, from, ts)
		if hit {
			found, ok = Found{stamp.Offset, stamp.Timestamp, h.LeaderEpoch}, true
		}
		return !hit, err
	})
	return found, ok, err
}

// batchesBetween calls f for each batch with offsets from at up to end, until
// it returns false.
func (l *Log) batchesBetween(at, end int64, f func(batch []byte, h *record.Header, c *codec) (bool, error)) error {
	c := l.s.takeCodec()
	defer l.s.codecs.Put(c)
	var buf []byte
	for at < end {
		got, _, err := l.Read(buf[:0], at, ReadOptions{MaxBytes: searchBytes, Whole: true})
		if err != nil || len(got) == 0 {
			return err
		}
		buf = got
		for batch, err := range record.Batches(got) {
			if err != nil {
				return err
			}
			h, err := record.ParseHeader(batch)
			if err != nil || h.BaseOffset >= end {
				return err
			}
			at = h.NextOffset()
			if more, err := f(batch, &h, c); !more || err != nil {
				return err
			}
		}
	}
	return nil
}

// MaxTimestamp returns the first record with the largest timestamp (KIP-734),
// and false if the log is empty. Errors: ErrClosed, a *CorruptError.
func (l *Log) MaxTimestamp() (Found, bool, error) {
	for {
		l.mu.Lock()
		err, start, hw, segments := l.err, l.start, l.hw, l.segments
		at, newest := l.newestLocked()
		l.mu.Unlock()
		if err != nil || start >= hw || newest == record.None {
			return Found{}, false, err
		}
		found, ok, err := l.newestAt(at, start, hw)
		if err == nil && ok || l.has(start, segments) {
			return found, ok, err
		}
	}
}

// newestAt returns the first record with the largest timestamp of the batch at
// an offset.
func (l *Log) newestAt(at, start, hw int64) (found Found, ok bool, err error) {
	end := at + 1
	if at < start {
		at, end = start, hw // the batch with it begins below the log start
	}
	err = l.batchesBetween(at, end, func(batch []byte, h *record.Header, c *codec) (bool, error) {
		if ok && h.MaxTimestamp <= found.Timestamp {
			return true, nil
		}
		for r, err := range c.Records(batch) {
			if err != nil {
				return false, err
			}
			if r.Offset >= start && (!ok || r.Timestamp > found.Timestamp) {
				found, ok = Found{r.Offset, r.Timestamp, h.LeaderEpoch}, true
			}
		}
		return true, nil
	})
	return found, ok, err
}

// newestLocked returns an offset of the first durable batch with the largest
// timestamp, and that.
func (l *Log) newestLocked() (at, newest int64) {
	newest = record.None
	for i := range l.segments {
		if seg := &l.segments[i]; seg.End > l.start && seg.MaxTimestamp > newest {
			at, newest = seg.MaxTimestampOffset, seg.MaxTimestamp
		}
	}
	for i := range l.entries.all() {
		e := l.entries.at(i)
		if e.base >= l.hw {
			break
		}
		if h, err := record.ParseHeader(e.batch()); err == nil && e.next() > l.start && h.MaxTimestamp > newest {
			at, newest = e.base, h.MaxTimestamp
		}
	}
	return at, newest
}
