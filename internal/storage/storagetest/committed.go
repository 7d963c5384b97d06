package storagetest

import (
	"cmp"
	"fmt"
	"slices"

	"rota/internal/record"
	"rota/internal/storage"
)

// ReadCommitted reads a log from its start to its last stable offset as a
// consumer with isolation.level=read_committed does: each read's list of
// aborted transactions says what of that read is not for it.
func ReadCommitted(l *storage.Log, maxBytes int) (all []Record, b storage.Bounds, err error) {
	b = l.Bounds()
	err = walkCommitted(l, b.Start, maxBytes, func() int64 { return b.LastStable }, func(batch []byte) error {
		got, err := Records(batch)
		for _, r := range got {
			if r.Offset >= b.Start {
				all = append(all, r)
			}
		}
		return err
	}, nil)
	return all, b, err
}

// walkCommitted calls f for each batch of data that a read_committed consumer
// sees from an offset up to end. between, if not nil, is called between reads.
func walkCommitted(l *storage.Log, from int64, maxBytes int, end func() int64, f func(batch []byte) error, between func()) error {
	for offset := from; offset < end(); {
		data, info, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: maxBytes, Whole: true, Committed: true})
		if err != nil || len(data) == 0 {
			return fmt.Errorf("read offset %d: %d bytes in log %+v, %w", offset, len(data), info, err)
		}
		next, err := consume(data, &info, f)
		if err != nil {
			return fmt.Errorf("read offset %d: %w", offset, err)
		}
		if next <= offset || next > info.LastStable {
			return fmt.Errorf("read offset %d: up to %d in log %+v", offset, next, info)
		}
		offset = next
		if between != nil {
			between()
		}
	}
	return nil
}

// consume goes through one read as KafkaConsumer does: producers enter the set
// of aborted ones at the first offset that the list names, and leave it at their
// abort marker.
func consume(data []byte, info *storage.ReadInfo, f func(batch []byte) error) (next int64, err error) {
	waiting := slices.Clone(info.Aborted)
	slices.SortFunc(waiting, func(a, b storage.Aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	aborted := make(map[int64]bool)
	for batch, err := range record.Batches(data) {
		if err != nil {
			return next, err
		}
		h, err := record.ParseHeader(batch)
		if err != nil {
			return next, err
		}
		next = h.NextOffset()
		for len(waiting) > 0 && waiting[0].FirstOffset <= h.LastOffset() {
			aborted[waiting[0].ProducerID] = true
			waiting = waiting[1:]
		}
		switch {
		case h.Attributes.Control():
			m, ok, err := record.MarkerOf(batch)
			if err != nil {
				return next, err
			}
			if ok && m.Type == record.ControlAbort {
				delete(aborted, h.ProducerID)
			}
		case h.Attributes.Transactional() && aborted[h.ProducerID]:
		default:
			if err := f(batch); err != nil {
				return next, err
			}
		}
	}
	if len(waiting) > 0 {
		return next, fmt.Errorf("the list of aborted transactions names %+v, beyond what was read", waiting)
	}
	return next, nil
}

// committedByMarkers reads all records of a log and says which of them are
// committed by the markers alone: in the order of the log, the transactions
// that an abort marker ends, or nothing does, left out.
func committedByMarkers(l *storage.Log) ([]string, error) {
	type seen struct {
		value string
		void  bool
	}
	var all []*seen
	open := make(map[int64][]*seen)
	b := l.Bounds()
	for offset := b.Start; offset < b.HighWatermark; {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 4 << 10, Whole: true})
		if err != nil || len(data) == 0 {
			return nil, fmt.Errorf("read offset %d: %d bytes, %w", offset, len(data), err)
		}
		for batch := range record.Batches(data) {
			h, err := record.ParseHeader(batch)
			if err != nil {
				return nil, err
			}
			offset = h.NextOffset()
			if h.Attributes.Control() {
				m, _, err := record.MarkerOf(batch)
				if err != nil {
					return nil, err
				}
				for _, r := range open[h.ProducerID] {
					r.void = m.Type == record.ControlAbort
				}
				delete(open, h.ProducerID)
				continue
			}
			got, err := Records(batch)
			if err != nil {
				return nil, err
			}
			for _, r := range got {
				one := &seen{value: r.Value, void: h.Attributes.Transactional()}
				all = append(all, one)
				if one.void {
					open[h.ProducerID] = append(open[h.ProducerID], one)
				}
			}
		}
	}
	var values []string
	for _, r := range all {
		if !r.void {
			values = append(values, r.value)
		}
	}
	return values, nil
}
