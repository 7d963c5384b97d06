package storage

import "sort"

// Aborted names an aborted transaction for a read_committed reader.
type Aborted struct{ ProducerID, FirstOffset int64 }

// ReadOptions says how much to read and what may be seen.
type ReadOptions struct {
	MaxBytes int
	// Whole asks for one whole batch even if it is larger than MaxBytes.
	Whole bool
	// Committed stops at the last stable offset and lists Aborted.
	Committed bool
}

// ReadInfo is what came with the batches.
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
	info := ReadInfo{Bounds: l.boundsLocked()}
	err := l.err
	l.mu.Unlock()
	switch {
	case err != nil:
		return dst, info, err
	case offset < info.Start || offset > info.End:
		return dst, info, ErrOffsetOutOfRange
	}
	visible := info.HighWatermark
	if o.Committed {
		visible = info.LastStable
	}
	if offset >= visible {
		return dst, info, nil
	}
	return l.readTail(dst, offset, visible, o), info, nil
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
// MinBytes with it.
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
	return max(1, l.bytesBeforeLocked(visible)-l.bytesBeforeLocked(offset)), nil
}

// bytesBeforeLocked is the position of offset among the bytes of the log.
func (l *Log) bytesBeforeLocked(offset int64) int64 {
	if i, ok := l.findLocked(offset); ok {
		return l.entries.at(i).at
	}
	return l.bytes
}
