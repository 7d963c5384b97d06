package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// walkStep is how much a walk over batch headers reads at a time.
const walkStep = 64 << 10

var walkBuffers = sync.Pool{New: func() any {
	b := make([]byte, walkStep)
	return &b
}}

// corrupt is the error for a byte of the segment.
func (sg *segment) corrupt(pos int64, why string) error {
	return &storage.CorruptError{File: segmentPath(sg.key.p, sg.key.token), Offset: segmentHeader + pos, Reason: why}
}

// readAt reads at a position of the batches.
func (sg *segment) readAt(b []byte, pos int64) error {
	if sg.readPages(b, segmentHeader+pos) {
		return nil
	}
	if covered, _ := sg.state(); sg.cache != nil && vfs.IsDirect(sg.f) && pos+int64(len(b)) <= covered {
		err := sg.cache.read.read(sg, b, segmentHeader+pos, segmentHeader+covered)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	n, err := sg.f.ReadAt(b, segmentHeader+pos)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return sg.cutOff(pos + int64(n))
	}
	return err
}

// readPages fills b if the page cache is where the segment is read from and has
// all of it.
func (sg *segment) readPages(b []byte, at int64) bool {
	if sg.cache == nil || sg.suspect.Load() || !sg.cache.read.paged(sg, at, at+int64(len(b))) {
		return false
	}
	f := sg.paged()
	return f != nil && vfs.ReadCached(f, b, at) == len(b)
}

// walk calls each with the headers of the batches from one position to
// another, until it returns false. With first >= 0, the first batch must begin
// with that offset.
func (sg *segment) walk(from, to, first int64, each func(h *record.Header, pos int64) bool) error {
	buf, _ := walkBuffers.Get().(*[]byte)
	defer walkBuffers.Put(buf)
	var b []byte
	start := from // position of b[0]
	next := int64(-1)
	for pos := from; pos < to; {
		if to-pos < record.HeaderSize {
			return sg.corrupt(pos, "the last batch is cut off")
		}
		if pos+record.HeaderSize > start+int64(len(b)) {
			b, start = (*buf)[:min(walkStep, to-pos)], pos
			if err := sg.readAt(b, pos); err != nil {
				return err
			}
		}
		i := int(pos - start)
		h, err := sg.header(b[i:i+record.HeaderSize], pos, to, next)
		if err != nil {
			return err
		}
		if first >= 0 && pos == from && h.BaseOffset != first {
			return sg.corrupt(pos, fmt.Sprintf("offset %d where %d was expected", h.BaseOffset, first))
		}
		if !each(&h, pos) {
			return nil
		}
		next = h.NextOffset()
		pos += int64(h.Size())
	}
	return nil
}

// header reads the header of the batch at pos. It must end by to and begin at
// offset next or later.
func (sg *segment) header(b []byte, pos, to, next int64) (record.Header, error) {
	h, err := record.ParseHeader(b)
	switch {
	case err != nil && !errors.Is(err, record.ErrShort):
		return h, sg.corrupt(pos, err.Error())
	case pos+int64(h.Size()) > to:
		return h, sg.corrupt(pos, "a batch leads outside of what the manifest covers")
	case h.BaseOffset < next || h.BaseOffset < sg.head.base:
		return h, sg.corrupt(pos, fmt.Sprintf("offset %d where at least %d was expected", h.BaseOffset, max(next, sg.head.base)))
	}
	return h, nil
}

// place is where a batch is.
type place struct {
	pos  int64
	size int
	base int64
}

// find walks from the place that look gives to the first batch that is wanted.
// An index that leads to the wrong place is made again, once.
func (sg *segment) find(look func() entry, size int64, wanted func(h *record.Header) bool) (at place, found bool, err error) {
	for again := false; ; again = true {
		e := look()
		err = sg.walk(e.pos, size, e.offset, func(h *record.Header, pos int64) bool {
			found = wanted(h)
			at = place{pos, h.Size(), h.BaseOffset}
			return !found
		})
		var damage *storage.CorruptError
		if err == nil || again || !errors.As(err, &damage) || e.pos == 0 {
			return at, found && err == nil, err
		}
		if err := sg.rebuild(size); err != nil {
			return at, false, err
		}
	}
}

// Read implements storage.Medium. Checksums are verified.
func (m *Medium) Read(p storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	sg, err := m.segments.acquire(p, &s)
	if err != nil {
		return dst, err
	}
	defer m.segments.release(sg)
	at, found, err := sg.find(
		func() entry { return sg.lookup(offset, s.Size) }, s.Size,
		func(h *record.Header) bool { return h.LastOffset() >= offset })
	if err != nil || !found {
		return dst, err
	}
	n := int(min(max(int64(limit), int64(at.size)), s.Size-at.pos))
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	if err := sg.readAt(dst[from:], at.pos); err != nil {
		return dst[:from], err
	}
	whole, next, err := sg.verify(dst[from:], at.pos, s.End)
	if err != nil {
		return dst[:from], err
	}
	sg.remember(next, at.pos+int64(whole))
	return dst[:from+whole], nil
}

// cutOff is the error for a file that ends at a position of the batches.
func (sg *segment) cutOff(pos int64) error {
	return sg.corrupt(pos, "the file ends before what its manifest covers")
}

// batchCRC is the checksum that a batch should carry.
func batchCRC(b []byte) uint32 { return crc32.Checksum(b[atCovered:], castagnoli) }

// verify checks the whole batches in b, which lie at pos, and returns their
// length and the offset after them. Damage behind the first batch is left for
// the read that begins there.
func (sg *segment) verify(b []byte, pos, end int64) (whole int, next int64, err error) {
	for whole < len(b) {
		h, err := record.ParseHeader(b[whole:])
		if errors.Is(err, record.ErrShort) {
			break
		}
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case batchCRC(b[whole:whole+h.Size()]) != h.CRC:
			why = "the batch's checksum is wrong"
		case h.BaseOffset < next:
			why = fmt.Sprintf("offset %d where at least %d was expected", h.BaseOffset, next)
		case h.NextOffset() > end:
			why = fmt.Sprintf("offset %d in a segment that ends at %d", h.LastOffset(), end)
		}
		if why != "" && whole > 0 {
			break
		}
		if why != "" {
			return 0, 0, sg.corrupt(pos, why)
		}
		next = h.NextOffset()
		whole += h.Size()
	}
	return whole, next, nil
}

// Seek implements storage.Medium.
func (m *Medium) Seek(p storage.Partition, s storage.Segment, ts int64) (int64, error) {
	sg, err := m.segments.acquire(p, &s)
	if err != nil {
		return 0, err
	}
	defer m.segments.release(sg)
	at, found, err := sg.find(
		func() entry { return sg.lookupTime(ts, s.Size) }, s.Size,
		func(h *record.Header) bool { return h.MaxTimestamp >= ts })
	if err != nil {
		return 0, err
	}
	if !found {
		return s.End, nil
	}
	return at.base, nil
}
