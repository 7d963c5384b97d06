package storage

import (
	"slices"

	"rota/internal/record"
)

// Aborted names an aborted transaction for a read_committed reader.
type Aborted struct{ ProducerID, FirstOffset int64 }

// abortedLook is what a reader must know of aborted transactions, as it was
// when the reader began: compaction takes records and markers away, and with a
// marker the entry in the index, so entries must not be of another time than
// the batches. An entry whose marker a reader does not see would hide what the
// producer has committed behind it.
type abortedLook struct {
	segments []Segment // from the one with the reader's offset on
	used     int       // of them, those that had a say
	tail     []AbortedTransaction
	stale    bool
}

// lookLocked is nil if no aborted transaction has records from offset up to
// visible.
func (l *Log) lookLocked(offset, visible int64) *abortedLook {
	look := abortedLook{segments: l.segments[l.segmentIndexLocked(offset):]}
	some := false
	for i := range look.segments {
		seg := &look.segments[i]
		some = some || seg.Aborted > 0
		if some || seg.LastStable >= visible {
			break
		}
	}
	for _, a := range l.aborted.all() {
		if a.First < visible && a.Last >= offset {
			look.tail = append(look.tail, a)
		}
	}
	if !some && look.tail == nil {
		return nil
	}
	return &look
}

// moved says that the batches are from where look has not been.
func (k *abortedLook) moved() {
	if k != nil {
		k.stale = true
	}
}

// holds reports whether what look saw is what the log has. Growth does not
// count.
func (l *Log) holds(look *abortedLook) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range look.segments[:look.used] {
		seg := &look.segments[i]
		if now, ok := l.segmentLocked(seg.End - 1); !ok || now.Token != seg.Token {
			return false
		}
	}
	return !look.stale
}

// abortedIn lists the aborted transactions that may have records in batches
// read from offset.
func (l *Log) abortedIn(look *abortedLook, offset int64, batches []byte) ([]Aborted, error) {
	upper := offset
	for batch, err := range record.Batches(batches) {
		if err != nil {
			return nil, err
		}
		upper = record.NextOffset(batch)
	}
	return l.abortedBelow(look, offset, upper)
}

// abortedBelow lists those that may have records from offset up to upper.
func (l *Log) abortedBelow(look *abortedLook, offset, upper int64) ([]Aborted, error) {
	var found []Aborted
	cursor := abortedCursor{l: l, segments: look.segments, tail: look.tail, from: offset}
	for {
		a, ok, err := cursor.next(upper)
		look.used = max(look.used, min(cursor.segment+1, len(look.segments)))
		if err != nil || !ok {
			return found, err
		}
		if a.First < upper {
			found = append(found, Aborted{ProducerID: a.ProducerID, FirstOffset: a.First})
		}
	}
}

// abortedCursor walks over the aborted transactions of a log whose markers lie
// at from or behind, in the order of the markers.
type abortedCursor struct {
	l        *Log
	segments []Segment
	segment  int // the one that is next to be asked
	tail     []AbortedTransaction
	from     int64
	ready    []AbortedTransaction // of segment
	stable   int64                // the entries to come began here or later
}

// next returns the next entry. ok is false when there is none that began below
// upper.
func (c *abortedCursor) next(upper int64) (a AbortedTransaction, ok bool, err error) {
	for c.segment < len(c.segments) && c.stable < upper {
		seg := &c.segments[c.segment]
		if len(c.ready) == 0 && seg.Aborted > 0 {
			if c.ready, err = c.l.s.m.Aborted(c.l.p, *seg, c.from, c.ready[:0]); err != nil {
				return a, false, err
			}
		}
		if len(c.ready) > 0 {
			a, c.ready = c.ready[0], c.ready[1:]
			c.from, c.stable = a.Last+1, max(c.stable, a.Stable)
			return a, true, nil
		}
		c.stable = max(c.stable, seg.LastStable)
		c.segment++
	}
	if c.stable >= upper || len(c.tail) == 0 {
		return a, false, nil
	}
	a, c.tail = c.tail[0], c.tail[1:]
	return a, true, nil
}

// clone is a cursor at the same place.
func (c *abortedCursor) clone() abortedCursor {
	copied := *c
	copied.ready = slices.Clone(c.ready)
	return copied
}
