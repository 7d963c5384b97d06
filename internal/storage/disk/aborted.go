package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"sort"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// The bytes of an index of aborted transactions: docs/format/segment.md.
const (
	abortedMagic   = "ROTAABRT"
	abortedVersion = 1
	abortedSize    = 40
	// abortedStep is how many entries are read at a time.
	abortedStep = 256
)

func appendAborted(b []byte, a *storage.AbortedTransaction, seed uint32) []byte {
	from := len(b)
	be := binary.BigEndian
	for _, v := range [...]int64{a.ProducerID, a.First, a.Last, a.Stable} {
		b = be.AppendUint64(b, uint64(v))
	}
	b = be.AppendUint32(b, 0)
	return be.AppendUint32(b, crc32.Update(seed, castagnoli, b[from:]))
}

func decodeAborted(b []byte, seed uint32) (a storage.AbortedTransaction, ok bool) {
	be := binary.BigEndian
	if be.Uint32(b[36:]) != crc32.Update(seed, castagnoli, b[:36]) {
		return a, false
	}
	return storage.AbortedTransaction{
		ProducerID: int64(be.Uint64(b)), First: int64(be.Uint64(b[8:])),
		Last: int64(be.Uint64(b[16:])), Stable: int64(be.Uint64(b[24:])),
	}, true
}

// abortedFile is a segment's index of aborted transactions, open to be read.
type abortedFile struct {
	f    vfs.File
	path string
	seed uint32
}

// openAborted opens the index of a segment that has one, and checks that it is
// this segment's and holds n entries.
func openAborted(c Config, p storage.Partition, token string, head *segmentHead, n int32) (*abortedFile, error) {
	x := &abortedFile{path: abortedPath(p, token), seed: head.crc}
	f, err := c.FS.Open(filepath.Join(c.Dir, x.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &storage.CorruptError{File: x.path, Reason: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	x.f = f
	if err := x.check(p, n); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

func (x *abortedFile) check(p storage.Partition, n int32) error {
	var b [segmentHeader]byte
	got, err := x.f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	h, seed, err := decodeSegmentHead(x.path, b[:got], abortedMagic, abortedVersion)
	if err == nil && (seed != x.seed || h.partition != p) {
		err = &storage.CorruptError{File: x.path, Offset: 16, Reason: "it is another segment's"}
	}
	if err != nil {
		return err
	}
	size, err := x.f.Size()
	if err == nil && size < abortedAt(int(n)) {
		err = &storage.CorruptError{File: x.path, Offset: size, Reason: fmt.Sprintf("it ends before entry %d, which its manifest covers", n)}
	}
	return err
}

// abortedAt is where entry i is.
func abortedAt(i int) int64 { return segmentHeader + int64(i)*abortedSize }

// entries returns those from one number up to another.
func (x *abortedFile) entries(from, to int) ([]storage.AbortedTransaction, error) {
	b := make([]byte, (to-from)*abortedSize)
	if n, err := x.f.ReadAt(b, abortedAt(from)); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = &storage.CorruptError{File: x.path, Offset: abortedAt(from) + int64(n), Reason: "it ends before what its manifest covers"}
		}
		return nil, err
	}
	all := make([]storage.AbortedTransaction, 0, to-from)
	for i := from; i < to; i++ {
		a, ok := decodeAborted(b, x.seed)
		switch {
		case !ok:
			return nil, x.corrupt(i, "the entry's checksum is wrong")
		case a.First >= a.Last || a.First < 0 || len(all) > 0 && a.Last <= all[len(all)-1].Last:
			return nil, x.corrupt(i, "an entry that cannot be here")
		}
		all = append(all, a)
		b = b[abortedSize:]
	}
	return all, nil
}

func (x *abortedFile) corrupt(i int, why string) error {
	return &storage.CorruptError{File: x.path, Offset: abortedAt(i), Reason: why}
}

// Aborted implements storage.Medium. Checksums are verified.
func (m *Medium) Aborted(p storage.Partition, s storage.Segment, from int64, dst []storage.AbortedTransaction) ([]storage.AbortedTransaction, error) {
	if s.Aborted == 0 {
		return dst, nil
	}
	sg, err := m.segments.acquire(p, &s)
	if err != nil {
		return dst, err
	}
	defer m.segments.release(sg)
	x, err := sg.openAborted(m.c, s.Aborted)
	if err != nil {
		return dst, err
	}
	n := int(s.Aborted)
	i := sort.Search(n, func(i int) bool {
		if err != nil {
			return true
		}
		var one []storage.AbortedTransaction
		if one, err = x.entries(i, i+1); err != nil {
			return true
		}
		return one[0].Last >= from
	})
	if err != nil {
		return dst, err
	}
	found, err := x.entries(i, min(i+abortedStep, n))
	return append(dst, found...), err
}

// openAborted opens the segment's index once.
func (sg *segment) openAborted(c Config, n int32) (*abortedFile, error) {
	sg.mu.Lock()
	x := sg.aborted
	sg.mu.Unlock()
	if x != nil {
		return x, nil
	}
	x, err := openAborted(c, sg.key.p, sg.key.token, &sg.head, n)
	if err != nil {
		return nil, err
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if sg.aborted != nil {
		return sg.aborted, x.f.Close()
	}
	sg.aborted = x
	return x, nil
}

// writeAborted writes entries behind those that the segment has, or into a new
// file, which it returns open. It is nil if there are none.
func (m *Medium) writeAborted(sg *segment, w *storage.SegmentWrite) (f vfs.File, made bool, err error) {
	if len(w.Aborted) == 0 {
		return nil, false, nil
	}
	path := filepath.Join(m.c.Dir, abortedPath(sg.key.p, w.Token))
	if w.AbortedAt > 0 {
		f, err = m.c.FS.Open(path)
	} else {
		// An attempt that failed may have left one. A manifest may list it, so
		// it is not emptied: then it gets what it has.
		made = true
		if f, err = m.c.FS.Open(path); errors.Is(err, fs.ErrNotExist) {
			f, err = m.c.FS.Create(path)
		}
	}
	if err != nil {
		return nil, false, err
	}
	at := abortedAt(int(w.AbortedAt))
	var b []byte
	if made {
		b, at = sg.head.encode(abortedMagic, abortedVersion, sg.head.crc), 0
	}
	for i := range w.Aborted {
		b = appendAborted(b, &w.Aborted[i], sg.head.crc)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return f, made, nil
}

// verifyAborted checks the index of a segment against the markers in it, by
// offset the aborting ones' producers.
func verifyAborted(c Config, p storage.Partition, s storage.Segment, head *segmentHead, markers map[int64]int64) error {
	if s.Aborted == 0 {
		return nil
	}
	x, err := openAborted(c, p, s.Token, head, s.Aborted)
	if err != nil {
		return err
	}
	defer x.f.Close()
	last := storage.AbortedTransaction{Last: s.Base - 1}
	for i := 0; i < int(s.Aborted); {
		entries, err := x.entries(i, min(i+abortedStep, int(s.Aborted)))
		if err != nil {
			return err
		}
		for _, a := range entries {
			producer, ok := markers[a.Last]
			switch {
			case a.Last <= last.Last || a.Last >= s.End:
				return x.corrupt(i, "an entry that cannot be here")
			case !ok || producer != a.ProducerID:
				return x.corrupt(i, fmt.Sprintf("no marker of producer %d at offset %d", a.ProducerID, a.Last))
			}
			last = a
			i++
		}
	}
	return nil
}

// abortedBy is the producer whose transaction a batch aborts.
func abortedBy(h *record.Header, batch []byte) (producer int64, ok bool) {
	if !h.Attributes.Control() {
		return 0, false
	}
	m, ok, err := record.MarkerOf(batch)
	return h.ProducerID, ok && err == nil && m.Type == record.ControlAbort
}

func (d *dump) aborted(head []byte) error {
	h, seed, err := decodeSegmentHead(d.base, head, abortedMagic, abortedVersion)
	if err != nil {
		return err
	}
	d.line("aborted transactions version %d durability %s partition %s base %d of segment header %08x",
		abortedVersion, h.durability, partitionName(h.partition), h.base, seed)
	covered := int64(-1)
	if s, ok := d.listed(h.partition, abortedExt); ok {
		covered = int64(s.Aborted)
		d.line("manifest covers %d entries", covered)
	}
	b := make([]byte, abortedSize)
	for i, pos := int64(0), int64(segmentHeader); pos < d.size; i, pos = i+1, pos+abortedSize {
		n, err := d.f.ReadAt(b, pos)
		if n < abortedSize && err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		a, ok := storage.AbortedTransaction{}, false
		if n == abortedSize {
			a, ok = decodeAborted(b, seed)
		}
		switch {
		case ok && covered >= 0 && i >= covered:
			d.line("%d VOID %s", pos, describeAborted(a))
		case ok:
			d.line("%d %s", pos, describeAborted(a))
		case covered < 0 || i >= covered:
			d.line("%d TORN %d bytes that do not count", pos, d.size-pos)
			return nil
		default:
			d.corrupt(pos, "the entry's checksum is wrong")
		}
	}
	return nil
}

func describeAborted(a storage.AbortedTransaction) string {
	return fmt.Sprintf("producer %d offsets %d to %d, last stable behind it %d", a.ProducerID, a.First, a.Last, a.Stable)
}
