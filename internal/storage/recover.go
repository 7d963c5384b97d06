package storage

import (
	"fmt"

	"rota/internal/record"
)

// recovery builds the logs from what the medium holds. Nothing runs yet, so it
// takes no locks.
type recovery struct {
	s     *Store
	now   int64
	mark  mark
	gone  []Partition     // removed in the journal, perhaps not in segments
	first map[*Log]uint64 // flush of the first frame
}

// recover reads the medium.
func (s *Store) recover(report func(Recovery) (Report, error)) error {
	r := &recovery{s: s, now: s.c.Now().UnixMilli(), first: make(map[*Log]uint64)}
	var err error
	if s.report, err = report(r); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	r.endFlush()
	for p, err := range s.report.Corrupt {
		l := r.log(p)
		l.damage(err)
	}
	for _, l := range s.logs {
		if l.err == nil && l.start > l.end {
			l.damage(&CorruptError{Reason: fmt.Sprintf("log starts at offset %d but ends at %d", l.start, l.end)})
		}
		if l.corrupt {
			l.hold = r.first[l]
			s.c.Log.Error("partition is damaged", "topic", fmt.Sprintf("%x", l.p.Topic), "partition", l.p.Index, "err", l.err)
		}
	}
	for _, p := range r.gone {
		if err := s.m.Remove(p); err != nil {
			return fmt.Errorf("remove partition %x-%d: %w", p.Topic, p.Index, err)
		}
	}
	s.nextFlush = s.report.LastFlush + 1
	return nil
}

// Manifest takes what a partition has in segments.
func (r *recovery) Manifest(m *Manifest) error {
	l := r.log(m.Partition)
	l.start, l.hw, l.end = m.Start, m.End, m.End
	l.segments, l.cleaned, l.epochs = m.Segments, m.Cleaned, m.Epochs
	l.settled, l.settledStart, l.settledFlush = m.End, m.Start, m.Flush
	r.s.report.LastFlush = max(r.s.report.LastFlush, m.Flush)
	if n := len(l.epochs); n > 0 {
		l.epoch = l.epochs[n-1].Epoch
	}
	known, err := decodeProducers(m.Producers)
	if err != nil {
		l.damage(&CorruptError{File: "manifest", Reason: err.Error()})
	}
	l.settledProducers, l.producers = known, known.clone()
	return nil
}

// Frame takes what the journal has, unless the manifest covers it.
func (r *recovery) Frame(flush uint64, f Frame) error {
	s := r.s
	if flush != r.mark.number {
		r.endFlush()
		r.mark = mark{number: flush}
	}
	if f.Kind == FrameEpoch {
		s.counter = max(s.counter, f.Epoch)
		return nil
	}
	s.counter = max(s.counter, f.Epoch)
	l := s.logs[f.Partition]
	if l != nil && flush <= l.settledFlush {
		return nil
	}
	switch f.Kind {
	case FrameRemove:
		if l != nil {
			l.dropTail()
			delete(s.logs, f.Partition)
		}
		r.gone = append(r.gone, f.Partition)
		return nil
	case FrameStart:
		l = r.log(f.Partition)
		l.start = max(l.start, f.Offset)
	case FrameBatch:
		l = r.log(f.Partition)
		if l.corrupt || f.Offset < l.settled {
			break
		}
		if err := l.recoverBatch(flush, f, r.now); err != nil {
			l.damage(err)
			break
		}
		size := len(f.Batch) + frameOverhead
		r.mark.bytes += int64(size)
		if len(f.Batch) < smallBatch {
			r.mark.small += int64(size)
		}
	default:
		return fmt.Errorf("journal frame of unknown kind %d", f.Kind)
	}
	if r.first[l] == 0 {
		r.first[l] = flush
	}
	return nil
}

// endFlush counts the flush that was read last among those to settle.
func (r *recovery) endFlush() {
	if r.mark.number > 0 {
		r.s.addMark(r.mark)
	}
}

func (r *recovery) log(p Partition) *Log {
	l, ok := r.s.logs[p]
	if !ok {
		l = newLog(r.s, p)
		r.s.logs[p] = l
	}
	return l
}

// recoverBatch puts a batch of the journal into the tail.
func (l *Log) recoverBatch(flush uint64, f Frame, now int64) error {
	h, err := record.ParseHeader(f.Batch)
	switch {
	case err != nil:
		return &CorruptError{File: "journal", Reason: fmt.Sprintf("flush %d: %v", flush, err)}
	case h.Size() != len(f.Batch) || h.BaseOffset != f.Offset || f.Offset != l.end:
		return &CorruptError{File: "journal", Reason: fmt.Sprintf("flush %d has offset %d where %d was expected", flush, f.Offset, l.end)}
	}
	c, pos := l.copyIn(f.Batch)
	l.epoch = f.Epoch
	if h.ProducerID >= 0 {
		if err := l.foldLocked(&h, f.Batch, now); err != nil {
			c.release()
			return &CorruptError{File: "journal", Reason: fmt.Sprintf("flush %d: %v", flush, err)}
		}
	}
	l.pushLocked(c, pos, len(f.Batch), &h)
	l.entries.at(l.entries.len() - 1).flush = flush
	l.queued = false
	l.sent = l.entries.len()
	l.hw = l.end
	l.producers.spans.forget(l.hw)
	return nil
}

// damage takes the log out of service: every call gets err.
func (l *Log) damage(err error) {
	l.dropTail()
	l.err, l.corrupt = err, true
}

// dropTail forgets every batch of a log that is not served.
func (l *Log) dropTail() {
	var freed pins
	l.mu.Lock()
	l.truncateLocked(0, &freed)
	l.mu.Unlock()
	freed.release()
}
