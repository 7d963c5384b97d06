package disk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// Dump prints a journal, segment, index (either kind), manifest or format file, one line for
// each frame, batch or entry, and says what is torn or damaged and where.
// Damage is also returned, as a *storage.CorruptError, when everything has
// been printed. The file need not be in a data folder, but beside its
// neighbours more is known: where a journal file ends, which bytes of a segment
// count.
func Dump(w io.Writer, fsys vfs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	d := &dump{w: w, fsys: fsys, name: name, base: filepath.Base(name), f: f, size: size}
	head := make([]byte, min(size, journalHeader))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch magic := string(head[:min(8, len(head))]); {
	case magic == journalMagic:
		err = d.journal(head)
	case magic == segmentMagic:
		err = d.segment(head)
	case magic == indexMagic:
		err = d.index(head)
	case magic == abortedMagic:
		err = d.aborted(head)
	case magic == manifestMagic:
		err = d.manifest()
	case strings.HasPrefix(string(head), formatTitle):
		d.line("%s", strings.TrimSuffix(string(head), "\n"))
	default:
		err = &storage.CorruptError{File: d.base, Reason: "it begins like none of rota's files"}
	}
	if corrupt, ok := errors.AsType[*storage.CorruptError](err); ok {
		d.corrupt(corrupt.Offset, corrupt.Reason)
		err = nil
	}
	return cmp.Or(d.err, err, d.damage)
}

// dump is one file being printed.
type dump struct {
	w    io.Writer
	fsys vfs.FS
	name string
	base string
	f    vfs.File
	size int64
	err  error // of w
	// damage is the first that was found.
	damage error
}

func (d *dump) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

// corrupt prints damage.
func (d *dump) corrupt(pos int64, why string) {
	d.line("%d CORRUPT %s", pos, why)
	if d.damage == nil {
		d.damage = &storage.CorruptError{File: d.base, Offset: pos, Reason: why}
	}
}

// neighbour is the path of a file in another folder of the same data folder.
func (d *dump) neighbour(levels int, rel string) string {
	dir := filepath.Dir(d.name)
	for range levels {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, rel)
}

func (d *dump) manifest() error {
	b, err := vfs.ReadFile(d.fsys, d.name, manifestMax)
	if err != nil {
		return err
	}
	m, err := decodeManifest(d.base, b)
	if err != nil {
		return err
	}
	d.line("manifest version %d durability %s partition %s bytes %d", binary.BigEndian.Uint16(b[8:]), Durability(b[10]), partitionName(m.Partition), len(b))
	d.line("offsets %d to %d, last stable %d, covers flush %d, %d bytes of producer state", m.Start, m.End, m.LastStable, m.Flush, len(m.Producers))
	for i := range m.Segments {
		s := &m.Segments[i]
		d.line("segment %s offsets %d to %d bytes %d max timestamp %d at %d created %d last stable %d aborted %d",
			s.Token, s.Base, s.End, s.Size, s.MaxTimestamp, s.MaxTimestampOffset, s.Created, s.LastStable, s.Aborted)
	}
	if m.Cleaned > 0 {
		d.line("the first %d segments are compacted", m.Cleaned)
	}
	for _, e := range m.Epochs {
		d.line("leader epoch %d from offset %d", e.Epoch, e.Start)
	}
	return nil
}

func (d *dump) index(head []byte) error {
	h, seed, err := decodeSegmentHead(d.base, head, indexMagic, indexVersion)
	if err != nil {
		return err
	}
	d.line("index version %d durability %s partition %s base %d of segment header %08x", indexVersion, h.durability, partitionName(h.partition), h.base, seed)
	b := make([]byte, entrySize)
	for pos := int64(segmentHeader); pos < d.size; pos += entrySize {
		if n, err := d.f.ReadAt(b, pos); n < entrySize {
			if err == nil || errors.Is(err, io.EOF) {
				d.line("%d TORN %d bytes of an entry", pos, n)
				return nil
			}
			return err
		}
		e, ok := decodeEntry(b, seed)
		if !ok {
			d.line("%d TORN the entry's checksum is wrong: it and what follows is not used", pos)
			return nil
		}
		d.line("%d offset %d position %d timestamps before %d", pos, e.offset, e.pos, e.before)
	}
	return nil
}

func (d *dump) segment(head []byte) error {
	h, _, err := decodeSegmentHead(d.base, head, segmentMagic, segmentVersion)
	if err != nil {
		return err
	}
	covered, known := d.coveredBytes(h.partition)
	d.line("segment version %d durability %s partition %s base %d created %d", segmentVersion, h.durability, partitionName(h.partition), h.base, h.created)
	if known {
		d.line("manifest covers %d bytes, up to byte %d", covered, segmentHeader+covered)
	} else {
		d.line("no manifest: how much of it counts is not known")
		covered = d.size - segmentHeader
	}
	pos := int64(segmentHeader)
	for d.err == nil && pos < min(d.size, segmentHeader+covered) {
		size, bad, err := d.batch(pos, segmentHeader+covered)
		switch {
		case err != nil:
			return err
		case bad != "" && known:
			d.corrupt(pos, bad)
		case bad != "":
			d.line("%d TORN or not written yet: %s", pos, bad)
			return nil
		}
		if size == 0 {
			return nil // no telling where the next batch begins
		}
		pos += size
	}
	if known && d.size > segmentHeader+covered {
		d.line("%d VOID %d bytes that the manifest does not cover", segmentHeader+covered, d.size-segmentHeader-covered)
	}
	if d.size < segmentHeader+covered {
		d.corrupt(d.size, "it ends before what its manifest covers")
	}
	return nil
}

// batch prints the batch at pos. size is 0 if it has no end before end.
func (d *dump) batch(pos, end int64) (size int64, bad string, err error) {
	head := make([]byte, min(record.HeaderSize, end-pos))
	if _, err := d.f.ReadAt(head, pos); err != nil && !errors.Is(err, io.EOF) {
		return 0, "", err
	}
	h, err := record.ParseHeader(head)
	switch {
	case len(head) < record.HeaderSize:
		return 0, "the batch is cut off", nil
	case err != nil && !errors.Is(err, record.ErrShort):
		return 0, err.Error(), nil
	case pos+int64(h.Size()) > end:
		return 0, fmt.Sprintf("a batch of %d bytes leads outside", h.Size()), nil
	}
	b := make([]byte, h.Size())
	if _, err := d.f.ReadAt(b, pos); err != nil && !errors.Is(err, io.EOF) {
		return 0, "", err
	}
	d.line("%d batch %s", pos, describeBatch(&h, b))
	if batchCRC(b) != h.CRC {
		return int64(h.Size()), "the batch's checksum is wrong", nil
	}
	return int64(h.Size()), "", nil
}

// describeBatch is a batch in words, but for its records; a marker is told.
func describeBatch(h *record.Header, batch []byte) string {
	var s strings.Builder
	fmt.Fprintf(&s, "offsets %d to %d records %d epoch %d timestamps %d to %d %s bytes %d",
		h.BaseOffset, h.LastOffset(), h.Count, h.LeaderEpoch, h.BaseTimestamp, h.MaxTimestamp, h.Attributes.Compression(), h.Size())
	if h.ProducerID >= 0 {
		fmt.Fprintf(&s, " producer %d epoch %d sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	}
	if h.Attributes.Transactional() {
		s.WriteString(" transactional")
	}
	if h.Attributes.DeleteHorizon() {
		fmt.Fprintf(&s, " delete horizon %d", h.BaseTimestamp)
	}
	if h.Attributes.Control() {
		s.WriteString(" control")
		s.WriteString(describeMarker(batch))
	}
	return s.String()
}

func describeMarker(batch []byte) string {
	m, ok, err := record.MarkerOf(batch)
	switch {
	case err != nil:
		return fmt.Sprintf(" (%v)", err)
	case !ok:
		return ""
	case m.Type == record.ControlCommit:
		return fmt.Sprintf(" commit marker coordinator epoch %d", m.CoordinatorEpoch)
	}
	return fmt.Sprintf(" abort marker coordinator epoch %d", m.CoordinatorEpoch)
}

// coveredBytes says how much of the segment its partition's manifest covers.
func (d *dump) coveredBytes(p storage.Partition) (size int64, known bool) {
	s, known := d.listed(p, segmentExt)
	return s.Size, known
}

// listed looks for the segment that the file belongs to in its partition's
// manifest. It is zero if there is a manifest that does not list it: then the
// file is void as a whole.
func (d *dump) listed(p storage.Partition, ext string) (s storage.Segment, known bool) {
	file := manifestPath(p)
	b, err := vfs.ReadFile(d.fsys, d.neighbour(2, file), manifestMax)
	if err != nil {
		return s, false
	}
	m, err := decodeManifest(file, b)
	if err != nil {
		return s, false
	}
	token := strings.TrimSuffix(d.base, ext)
	for i := range m.Segments {
		if m.Segments[i].Token == token {
			return m.Segments[i], true
		}
	}
	return s, true
}
