package storage

import (
	"sort"

	"rota/internal/record"
)

// ReadOptions says how much to read and what may be seen.
type ReadOptions struct {
	MaxBytes int
	// Whole asks for one whole batch even if it is larger than MaxBytes.
	Whole bool
	// Committed stops at the last stable offset and lists Aborted.
	Committed bool
}

// ReadInfo is what came with the batches. Aborted are the aborted transactions
// that may have records among them, by their markers, if ReadOptions asked.
type ReadInfo struct {
	Bounds
	Aborted []Aborted
}

// Read appends to dst whole batches beginning with the one that contains
// offset. Nothing is appended when offset is at the visible end, or between it
// and the log end. Errors: ErrOffsetOutOfRange (before the log start or after
// the log end), ErrClosed, a *CorruptError. Info is filled also with
// ErrOffsetOutOfRange.
func (l *Log) Read(dst []byte, offset int64, o ReadOptions) ([]byte, ReadInfo, error) {
	l.mu.Lock()
	info, err := ReadInfo{Bounds: l.boundsLocked()}, l.err
	visible := l.visibleLocked(o.Committed)
	seg, settled := l.segmentLocked(offset)
	var look *abortedLook
	if o.Committed && offset < visible {
		look = l.lookLocked(offset, visible)
	}
	l.mu.Unlock()
	switch {
	case err != nil:
		return dst, info, err
	case offset < info.Start || offset > info.End:
		return dst, info, ErrOffsetOutOfRange
	case offset >= visible:
		return dst, info, nil
	}
	var got []byte
	if settled {
		got, err = l.readSettled(dst, seg, offset, visible, o)
	} else if got = l.readTail(dst, offset, visible, o); len(got) == len(dst) {
		// Settled since the look above, or larger than MaxBytes.
		l.mu.Lock()
		seg, settled = l.segmentLocked(offset)
		deleted := offset < l.start
		l.mu.Unlock()
		switch {
		case deleted:
			err = ErrOffsetOutOfRange
		case settled:
			look.moved()
			got, err = l.readSettled(dst, seg, offset, visible, o)
		}
	}
	if look == nil || err != nil || len(got) == len(dst) {
		return got, info, err
	}
	if info.Aborted, err = l.abortedIn(look, offset, got[len(dst):]); err == nil && (len(info.Aborted) == 0 || l.holds(look)) {
		return got, info, nil
	}
	if err != nil && l.holds(look) {
		return dst, info, l.deleted(offset, err)
	}
	return l.Read(dst, offset, o)
}

// segmentLocked is the segment with the batch that contains offset, or else the
// next one, and false if there is none.
func (l *Log) segmentLocked(offset int64) (Segment, bool) {
	i := l.segmentIndexLocked(offset)
	if i == len(l.segments) {
		return Segment{}, false
	}
	return l.segments[i], true
}

func (l *Log) segmentIndexLocked(offset int64) int {
	if offset >= l.settled {
		return len(l.segments)
	}
	return sort.Search(len(l.segments), func(i int) bool { return l.segments[i].End > offset })
}

// readSettled reads from seg, or from what has taken its place by then:
// compaction and retention delete segments while they are being read. What
// follows a deleted segment does not take its place.
func (l *Log) readSettled(dst []byte, seg Segment, offset, visible int64, o ReadOptions) ([]byte, error) {
	for {
		got, err := l.readSegment(dst, seg, offset, visible, o)
		if err == nil {
			return got, nil
		}
		l.mu.Lock()
		now, ok := l.segmentLocked(offset)
		start := l.start
		l.mu.Unlock()
		if !ok || now.Token == seg.Token || offset < start {
			return dst, l.deleted(offset, err)
		}
		seg = now
	}
}

// readSegment reads from one segment, up to the visible end.
func (l *Log) readSegment(dst []byte, seg Segment, offset, visible int64, o ReadOptions) ([]byte, error) {
	got, err := l.s.m.Read(l.p, seg, offset, o.MaxBytes, dst)
	if err != nil {
		return dst, err
	}
	if len(got)-len(dst) > o.MaxBytes && !o.Whole {
		return got[:len(dst)], nil
	}
	if seg.End > visible {
		n := len(dst)
		for batch, err := range record.Batches(got[len(dst):]) {
			if err != nil || record.BaseOffset(batch) >= visible {
				break
			}
			n += len(batch)
		}
		got = got[:n]
	}
	return got, nil
}

// deleted is the reason for a failed read if the segment has been deleted
// while it was being read.
func (l *Log) deleted(offset int64, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return l.err
	case offset < l.start:
		return ErrOffsetOutOfRange
	}
	return err
}

// readTail copies from the tail, holding the log's lock only to pin a few
// entries at a time.
func (l *Log) readTail(dst []byte, offset, visible int64, o ReadOptions) []byte {
	var pinned [32]entry
	left, whole := o.MaxBytes, o.Whole
	for offset < visible {
		l.mu.Lock()
		i, ok := l.findLocked(offset)
		n := 0
		for ok && n < len(pinned) && i+n < l.entries.len() {
			e := l.entries.at(i + n)
			if e.base >= visible || int(e.size) > left && !whole {
				break
			}
			e.chunk.retain()
			pinned[n] = *e
			left, whole = left-int(e.size), false
			n++
		}
		l.mu.Unlock()
		if n == 0 {
			break
		}
		for i := range pinned[:n] {
			dst = append(dst, pinned[i].batch()...)
			offset = pinned[i].next()
			pinned[i].chunk.release()
		}
	}
	return dst
}

// findLocked returns the index of the entry that contains offset, and false
// if offset lies before the tail or at its end.
func (l *Log) findLocked(offset int64) (int, bool) {
	entries := l.entries.all()
	if len(entries) == 0 || offset < entries[0].base || offset >= l.end {
		return 0, false
	}
	return sort.Search(len(entries), func(i int) bool { return entries[i].base > offset }) - 1, true
}

// Available returns how many bytes Read could give from offset, cheaply and
// not exactly: 0 if and only if there is nothing to read. A Fetch counts its
// MinBytes with it. Errors: as of Read.
func (l *Log) Available(offset int64, committed bool) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return 0, l.err
	case offset < l.start || offset > l.end:
		return 0, ErrOffsetOutOfRange
	}
	visible := l.visibleLocked(committed)
	if offset >= visible {
		return 0, nil
	}
	return max(1, l.bytesBetweenLocked(offset, visible)), nil
}

// bytesBetweenLocked estimates the size of the batches from one offset to
// another.
func (l *Log) bytesBetweenLocked(from, to int64) int64 {
	if i, ok := l.findLocked(from); ok {
		end := l.bytes
		if j, ok := l.findLocked(to); ok {
			end = l.entries.at(j).at
		}
		return end - l.entries.at(i).at
	}
	bytes := int64(0)
	for i := len(l.segments) - 1; i >= 0 && l.segments[i].End > from; i-- {
		seg := &l.segments[i]
		part := seg.Size
		if from > seg.Base {
			part = int64(float64(seg.Size) / float64(seg.End-seg.Base) * float64(seg.End-from))
		}
		bytes += part
	}
	return bytes + l.tailBytesLocked()
}
