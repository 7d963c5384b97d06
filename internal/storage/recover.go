package storage

import (
	"fmt"

	"rota/internal/record"
)

// recovery builds the logs from what the medium holds.
type recovery struct{ s *Store }

func (r recovery) Manifest(m *Manifest) error {
	return nil
}

func (r recovery) Frame(flush uint64, f Frame) error {
	s := r.s
	if f.Kind == FrameEpoch {
		s.counter = max(s.counter, f.Epoch)
		return nil
	}
	l := s.logs[f.Partition]
	if f.Kind == FrameRemove {
		if l != nil {
			l.dropTail()
			delete(s.logs, f.Partition)
		}
		return nil
	}
	if l == nil {
		l = newLog(s, f.Partition)
		s.logs[f.Partition] = l
	}
	if f.Kind == FrameStart {
		l.start = max(l.start, f.Offset)
		return nil
	}
	if f.Kind != FrameBatch {
		return fmt.Errorf("storage: journal frame of unknown kind %d", f.Kind)
	}
	return l.recoverBatch(flush, f)
}

func (l *Log) recoverBatch(flush uint64, f Frame) error {
	h, err := record.ParseHeader(f.Batch)
	if err != nil || h.Size() != len(f.Batch) || h.BaseOffset != f.Offset || f.Offset != l.end {
		l.err = &CorruptError{Reason: fmt.Sprintf("frame of offset %d where %d was expected", f.Offset, l.end)}
		return nil
	}
	c, pos := l.copyIn(f.Batch)
	l.epoch = f.Epoch
	l.pushLocked(c, pos, len(f.Batch), &h)
	l.entries.at(l.entries.len() - 1).flush = flush
	l.queued = false
	l.sent = l.entries.len()
	l.hw = l.end
	return nil
}

// dropTail releases every batch of a log that nobody uses any more.
func (l *Log) dropTail() {
	for i := range l.entries.all() {
		l.entries.at(i).chunk.release()
	}
	l.entries.truncate(0)
	l.sent = 0
}
