package disk

import (
	"errors"
	"path/filepath"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// Write implements storage.Medium. The segment's folder exists: its partition
// has segments.
func (m *Medium) Write(p storage.Partition, created int64, w *storage.SegmentWrite) error {
	sg, err := m.loneSegment(p, created, w)
	if err != nil {
		return err
	}
	defer m.segments.release(sg)
	err = m.appendBatches(sg, []storage.SegmentWrite{*w}, true)
	if err == nil {
		err = sg.f.Sync()
	}
	aborted, made := vfs.File(nil), false
	if err == nil {
		aborted, made, err = m.writeAborted(sg, w)
	}
	if aborted != nil {
		err = errors.Join(aborted.Sync(), aborted.Close())
	}
	if err == nil && (w.At == 0 || made) {
		err = vfs.SyncDir(m.c.FS, filepath.Join(m.c.Dir, segmentFolder(p)))
	}
	if err != nil {
		// What it holds behind w.At is unknown.
		m.segments.forget(sg.key)
		return err
	}
	if _, unsaved := sg.state(); unsaved >= m.c.saveEvery {
		sg.save(m.c)
	}
	return nil
}

func (m *Medium) loneSegment(p storage.Partition, created int64, w *storage.SegmentWrite) (*segment, error) {
	if w.At > 0 {
		return m.segments.acquire(p, &storage.Segment{Base: w.Base, Token: w.Token, Size: w.At})
	}
	return m.segments.create(p, w.Token, segmentHead{durability: m.c.Durability, partition: p, base: w.Base, created: created})
}
