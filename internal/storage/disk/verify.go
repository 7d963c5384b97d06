package disk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"rota/internal/record"
	"rota/internal/storage"
)

// Verified says what Verify has read.
type Verified struct {
	Partitions, Segments int
	SegmentBytes         int64
	JournalFrames        int64
	JournalBytes         int64
	LastFlush            uint64
	// TornBytes is what a start would cut from the journal's tail.
	TornBytes int64
	TornFile  string
}

// Verify reads every byte of a data folder that counts and checks it: manifests,
// every batch of every segment, the journal. It calls damage for each thing
// that is damaged, with a *storage.CorruptError or an error of the system. It
// changes nothing and takes no lock: beside a running broker it may report
// what is only being replaced or deleted. Of c, FS and Dir matter.
func Verify(ctx context.Context, c Config, damage func(error)) (Verified, error) {
	var v Verified
	m := &Medium{c: c.withDefaults()}
	if err := checkFormat(m.c.FS, m.c.Dir); err != nil {
		return v, err
	}
	m.segments = newSegmentCache(m.c)
	defer m.segments.close()
	names, err := m.c.FS.List(filepath.Join(m.c.Dir, manifestName))
	if err != nil {
		return v, err
	}
	for _, name := range names {
		base, ok := strings.CutSuffix(name, manifestExt)
		p, known := parsePartition(base)
		if !ok || !known {
			continue
		}
		manifest, err := m.readManifest(p)
		if err != nil {
			damage(err)
			continue
		}
		v.Partitions++
		if err := m.verifyPartition(ctx, manifest, &v, damage); err != nil {
			return v, err
		}
	}
	return v, m.verifyJournal(ctx, &v, damage)
}

// verifyPartition checks the segments that a manifest lists.
func (m *Medium) verifyPartition(ctx context.Context, manifest *storage.Manifest, v *Verified, damage func(error)) error {
	next := int64(-1)
	for i := range manifest.Segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &manifest.Segments[i]
		if s.Base < next {
			damage(&storage.CorruptError{File: manifestPath(manifest.Partition), Offset: manifestFixed,
				Reason: fmt.Sprintf("a segment begins at %d, the one before ends at %d", s.Base, next)})
		}
		next = s.End
		v.Segments++
		v.SegmentBytes += s.Size
		if err := m.VerifySegment(manifest.Partition, *s); err != nil {
			damage(err)
		}
	}
	if n := len(manifest.Segments); n > 0 && manifest.Segments[n-1].End != manifest.End {
		damage(&storage.CorruptError{File: manifestPath(manifest.Partition), Offset: 48,
			Reason: fmt.Sprintf("the log ends at %d, its last segment at %d", manifest.End, next)})
	}
	return nil
}

// VerifySegment reads all that a manifest covers of a segment and checks every
// batch. Errors: *storage.CorruptError.
func (m *Medium) VerifySegment(p storage.Partition, s storage.Segment) error {
	f, head, err := openSegment(m.c, p, s.Token)
	if err != nil {
		return err
	}
	defer f.Close()
	sg := &segment{key: segmentKey{p, s.Token}, f: f, head: head}
	sg.lastMax = -1
	var buf []byte
	var failed error
	err = sg.walk(0, s.Size, -1, func(h *record.Header, pos int64) bool {
		if cap(buf) < h.Size() {
			buf = make([]byte, max(h.Size(), walkStep))
		}
		b := buf[:h.Size()]
		if failed = sg.readAt(b, pos); failed != nil {
			return false
		}
		if batchCRC(b) != h.CRC {
			failed = sg.corrupt(pos, "the batch's checksum is wrong")
			return false
		}
		if h.NextOffset() > s.End {
			failed = sg.corrupt(pos, fmt.Sprintf("a batch ends at offset %d, the segment at %d", h.NextOffset(), s.End))
			return false
		}
		sg.add(h, pos)
		return true
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if s.Size > 0 && sg.lastMax != s.MaxTimestamp {
		return &storage.CorruptError{File: manifestPath(p), Offset: manifestFixed,
			Reason: fmt.Sprintf("segment %s has a largest timestamp of %d, the manifest says %d", s.Token, sg.lastMax, s.MaxTimestamp)}
	}
	return nil
}

// verifyJournal reads the journal as a start would.
func (m *Medium) verifyJournal(ctx context.Context, v *Verified, damage func(error)) error {
	j := &journal{c: m.c, readOnly: true, epoch: -1, nextSeq: 1}
	var report storage.Report
	err := j.replay(ctx, discard{}, &report)
	v.JournalFrames, v.JournalBytes, v.LastFlush = report.Frames, report.Bytes, report.LastFlush
	v.TornBytes, v.TornFile = report.TornBytes, report.TornFile
	var corrupt *storage.CorruptError
	if errors.As(err, &corrupt) {
		damage(err)
		return nil
	}
	return err
}

// discard is a Recovery that keeps nothing.
type discard struct{}

func (discard) Manifest(*storage.Manifest) error  { return nil }
func (discard) Frame(uint64, storage.Frame) error { return nil }
