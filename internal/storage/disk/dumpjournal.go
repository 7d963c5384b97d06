package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

func (d *dump) journal(head []byte) error {
	h, err := decodeFileHeader(d.base, head)
	if err != nil {
		return err
	}
	d.line("journal version %d durability %s sequence %d salt %016x first flush %d created %d", journalVersion, h.durability, h.seq, h.salt, h.first, h.created)
	if h.prev > 0 {
		d.line("voids sequence %d beyond byte %d (synced: %t)", h.prev, h.prevEnd, h.predecessorSynced)
	}
	if h.epoch >= 0 {
		d.line("leader epoch counter %d", h.epoch)
	}
	if strings.HasPrefix(d.base, spareStart) {
		d.line("a spare: nothing in it counts")
		return nil
	}
	l := &link{fileHeader: h, f: d.f, size: d.size, limit: -1}
	d.successor(l)
	var report storage.Report
	r := &flushReader{ctx: context.Background(), report: &report, each: func(pos int64, h *frameHead, payload []byte) error {
		d.line("%d flush %d %s%s", pos, h.flush, describeFrame(h, payload), frameMarks(h))
		return d.err
	}}
	end, err := r.read(l)
	if err != nil {
		return err
	}
	if report.TornBytes > 0 {
		d.line("%d TORN %d bytes that do not count", end, report.TornBytes)
	}
	d.line("%d end, %d bytes unused", end, d.size-end)
	return nil
}

// successor looks for the file that names l as its predecessor.
func (d *dump) successor(l *link) {
	names, err := d.fsys.List(filepath.Dir(d.name))
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasSuffix(name, journalExt) || name == d.base {
			continue
		}
		b, err := readStart(d.fsys, filepath.Join(filepath.Dir(d.name), name), headerUsed)
		if err != nil {
			continue
		}
		next, err := decodeFileHeader(name, b)
		if err != nil || next.prev != l.seq || next.prevSalt != l.salt {
			continue
		}
		l.limit, l.held = next.prevEnd, next.predecessorSynced
		d.line("sequence %d voids it beyond byte %d", next.seq, next.prevEnd)
	}
}

// readStart reads the first bytes of a file.
func readStart(fsys vfs.FS, name string, n int) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	got, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:got], nil
}

func describeFrame(h *frameHead, payload []byte) string {
	switch h.kind {
	case storage.FrameBatch:
		batch, err := record.ParseHeader(payload)
		if err != nil {
			return fmt.Sprintf("batch %s offset %d bytes %d: %v", partitionName(h.partition), h.offset, h.length, err)
		}
		return fmt.Sprintf("batch %s %s", partitionName(h.partition), describeBatch(&batch, payload))
	case storage.FrameStart:
		return fmt.Sprintf("start %s offset %d epoch %d", partitionName(h.partition), h.offset, h.epoch)
	case storage.FrameEpoch:
		return fmt.Sprintf("epoch %d taken", h.epoch)
	case storage.FrameRemove:
		return fmt.Sprintf("remove %s epoch %d", partitionName(h.partition), h.epoch)
	}
	return fmt.Sprintf("kind %d", h.kind)
}

func frameMarks(h *frameHead) string {
	if h.flags&flagLast != 0 {
		return " (last)"
	}
	return ""
}
