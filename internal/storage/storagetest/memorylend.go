package storagetest

import (
	"rota/internal/record"
	"rota/internal/storage"
)

var _ storage.Lender = (*Memory)(nil)

// Lend implements storage.Lender. Every other piece is lent, the rest copied.
func (m *Memory) Lend(_ storage.Partition, s storage.Segment, offset int64, limit int, visible int64) (storage.Stretch, int64, error) {
	data, err := m.segment(s)
	if err != nil {
		return nil, 0, err
	}
	from, to, end := 0, 0, int64(0)
	at := 0
	for batch, err := range record.Batches(data) {
		if err != nil {
			return nil, 0, &storage.CorruptError{File: s.Token, Reason: err.Error()}
		}
		next := at + len(batch)
		switch {
		case record.NextOffset(batch) <= offset:
			from, to = next, next
		case next-from <= limit && record.NextOffset(batch) <= visible && to == at:
			to, end = next, record.NextOffset(batch)
		}
		at = next
	}
	if from == to {
		return nil, 0, nil
	}
	return &memoryStretch{all: data[from:to], left: data[from:to]}, end, nil
}

// memoryStretch is bytes in memory. It panics if it is misused.
type memoryStretch struct {
	all, left []byte
	lend      bool
	closed    bool
}

func (st *memoryStretch) Size() int { return len(st.all) }

func (st *memoryStretch) Next(buf []byte) (n int, lent []byte, err error) {
	if st.closed || len(buf) == 0 {
		panic("storagetest: a stretch is read that is closed, or into nothing")
	}
	piece := st.left[:min(len(buf), len(st.left))]
	st.left = st.left[len(piece):]
	if st.lend = !st.lend; st.lend {
		return 0, piece, nil
	}
	return copy(buf, piece), nil, nil
}

func (st *memoryStretch) Close() {
	if st.closed {
		panic("storagetest: a stretch is closed twice")
	}
	st.closed = true
}
