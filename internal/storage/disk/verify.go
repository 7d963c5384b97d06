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
	if _, err := checkFormat(m.c.FS, m.c.Dir); err != nil {
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
			damage(&storage.CorruptError{
				File: manifestPath(manifest.Partition), Offset: manifestFixed,
				Reason: fmt.Sprintf("a segment begins at %d, the one before ends at %d", s.Base, next),
			})
		}
		next = s.End
		v.Segments++
		v.SegmentBytes += s.Size
		if err := m.VerifySegment(manifest.Partition, *s); err != nil {
			damage(err)
		}
	}
	if n := len(manifest.Segments); n > 0 && manifest.Segments[n-1].End != manifest.End {
		damage(&storage.CorruptError{
			File: manifestPath(manifest.Partition), Offset: 48,
			Reason: fmt.Sprintf("the log ends at %d, its last segment at %d", manifest.End, next),
		})
	}
	return nil
}

// VerifySegment reads all that a manifest covers of a segment and of its index
// of aborted transactions, and checks every batch and every entry. Errors:
// *storage.CorruptError.
func (m *Medium) VerifySegment(p storage.Partition, s storage.Segment) error {
	f, head, err := openSegment(m.c, p, s.Token)
	if err != nil {
		return err
	}
	defer f.Close()
	sg := &segment{key: segmentKey{p, s.Token}, f: f, head: head}
	largest, markers, err := sg.verifyAll(s)
	if err == nil {
		err = verifyAborted(m.c, p, s, &head, markers)
	}
	if err != nil {
		return err
	}
	if s.Size > 0 && largest != s.MaxTimestamp {
		return &storage.CorruptError{
			File: manifestPath(p), Offset: manifestFixed,
			Reason: fmt.Sprintf("segment %s has a largest timestamp of %d, the manifest says %d", s.Token, largest, s.MaxTimestamp),
		}
	}
	return nil
}

// verifyAll checks every batch and returns the largest timestamp, and the
// producers that abort a transaction by the offset of the marker.
func (sg *segment) verifyAll(s storage.Segment) (largest int64, markers map[int64]int64, err error) {
	var w window
	w.reset(sg.f, segmentHeader+s.Size)
	largest = -1
	next := int64(-1)
	for pos := int64(0); pos < s.Size; {
		if s.Size-pos < record.HeaderSize {
			return largest, nil, sg.corrupt(pos, "the last batch is cut off")
		}
		w.keep = segmentHeader + pos
		b, err := w.at(segmentHeader+pos, record.HeaderSize)
		if err != nil {
			return largest, nil, sg.unread(pos, err)
		}
		h, err := sg.header(b, pos, s.Size, next)
		if err != nil {
			return largest, nil, err
		}
		if b, err = w.at(segmentHeader+pos, h.Size()); err != nil {
			return largest, nil, sg.unread(pos, err)
		}
		switch next = h.NextOffset(); {
		case batchCRC(b) != h.CRC:
			return largest, nil, sg.corrupt(pos, "the batch's checksum is wrong")
		case next > s.End:
			return largest, nil, sg.corrupt(pos, fmt.Sprintf("a batch ends at offset %d, the segment at %d", next, s.End))
		}
		if h.Count > 0 { // compaction leaves batches without records
			largest = max(largest, h.MaxTimestamp)
		}
		if producer, ok := abortedBy(&h, b); ok {
			if markers == nil {
				markers = make(map[int64]int64)
			}
			markers[h.BaseOffset] = producer
		}
		pos += int64(h.Size())
	}
	return largest, markers, nil
}

// unread is the error for bytes that could not be read.
func (sg *segment) unread(pos int64, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return sg.cutOff(pos)
	}
	return err
}

// verifyJournal reads the journal as a start would.
func (m *Medium) verifyJournal(ctx context.Context, v *Verified, damage func(error)) error {
	j := &journal{c: m.c, readOnly: true, epoch: -1, nextSeq: 1}
	var report storage.Report
	err := j.replay(ctx, discard{}, &report)
	v.JournalFrames, v.JournalBytes, v.LastFlush = report.Frames, report.Bytes, report.LastFlush
	v.TornBytes, v.TornFile = report.TornBytes, report.TornFile
	if _, ok := errors.AsType[*storage.CorruptError](err); ok {
		damage(err)
		return nil
	}
	return err
}

// discard is a Recovery that keeps nothing.
type discard struct{}

func (discard) Manifest(*storage.Manifest) error  { return nil }
func (discard) Frame(uint64, storage.Frame) error { return nil }
