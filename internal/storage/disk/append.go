package disk

import (
	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// Bounds of one write to a segment. With every flush synced, a long one would
// stand in the way of the journal; otherwise only the cost of the call counts.
const (
	writeStep         = 1 << 20
	writeStepUnsynced = 4 << 20
)

// cachedRun is the size up to which a run goes by the page cache if many files
// are written and synced together.
const cachedRun = 64 << 10

// runLength is how many of the first writes go to one segment, each behind the
// one before.
func runLength(writes []storage.SegmentWrite) int {
	n := 1
	for n < len(writes) && writes[n].Token == writes[0].Token && writes[n].At == writes[n-1].At+int64(len(writes[n-1].Batches)) {
		n++
	}
	return n
}

// appendBatches writes and indexes a run. few says that few files are written
// and synced.
func (m *Medium) appendBatches(sg *segment, run []storage.SegmentWrite, few bool) error {
	at := run[0].At
	if covered, _ := sg.state(); covered > at {
		sg.rewind(at)
		m.segments.read.forget(sg)
	}
	if err := sg.extend(at, -1); err != nil {
		return err
	}
	if err := m.writeRun(sg, run, few); err != nil {
		return err
	}
	for i := range run {
		w := &run[i]
		for at := 0; at < len(w.Batches); {
			h, err := record.ParseHeader(w.Batches[at:])
			if err != nil {
				return err
			}
			sg.add(&h, w.At+int64(at))
			at += h.Size()
		}
	}
	return nil
}

// writeRun writes a run, step by step.
func (m *Medium) writeRun(sg *segment, run []storage.SegmentWrite, few bool) error {
	last := &run[len(run)-1]
	cached := !few && last.At+int64(len(last.Batches))-run[0].At <= cachedRun
	step := writeStep
	if m.c.Durability != Fsync {
		step = writeStepUnsynced
	}
	pieces, size, at := m.settler.pieces[:0], 0, segmentHeader+run[0].At
	write := func() error {
		var err error
		if cached {
			err = vfs.WriteVecCached(sg.f, pieces, at)
		} else {
			err = sg.f.WriteVec(pieces, at)
		}
		at += int64(size)
		clear(pieces) // do not keep the caller's memory alive
		pieces, size = pieces[:0], 0
		return err
	}
	for i := range run {
		for b := run[i].Batches; len(b) > 0; {
			n := min(len(b), step-size)
			pieces, size, b = append(pieces, b[:n]), size+n, b[n:]
			if size < step {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
	}
	m.settler.pieces = pieces
	if size == 0 {
		return nil
	}
	return write()
}
