package record

import (
	"errors"
	"io"
)

// walker reads the records of one batch from front to back, either from a
// slice that holds all of them or from a decompressor through a window. It
// skips keys and values without keeping them, so the window may be much
// smaller than a record.
type walker struct {
	b    []byte    // what is at hand; b[:i] has been read
	i    int       // next byte in b
	off  int64     // position of b[0] among the records' bytes
	src  io.Reader // what follows b; nil if nothing does
	left int64     // bytes that src may still give
	err  error     // the first error of src but io.EOF
}

// place is where the parts of one record are. Positions count from the start
// of the records' bytes, so they index the slice when there is no src.
type place struct {
	timestamp int64 // delta to the base timestamp
	offset    int64 // delta to the base offset
	key       int64
	keyLen    int64 // None: null
	value     int64
	valueLen  int64 // None: null
	headers   int64
	headerLen int64 // in bytes
	count     int64 // headers
}

// minRecord is the length of a record without key, value and headers:
// attributes and five varints.
const minRecord = 6

// What can be wrong with a record.
const (
	errRecordsEnd   = "records end too soon"
	errRecordLength = "impossible record length"
	errRecordParts  = "parts do not add up to the record's length"
	errKeyLength    = "impossible key length"
	errValueLength  = "impossible value length"
	errHeaderCount  = "impossible number of headers"
	errHeaderLength = "impossible header length"
)

var errInflateLimit = errors.New("limit reached")

// pos is the position of the next byte.
func (w *walker) pos() int64 { return w.off + int64(w.i) }

// next reads one record. why is empty, or says what is wrong with it.
func (w *walker) next(p *place) (why string) {
	length, ok := w.varint()
	if !ok {
		return errRecordsEnd
	}
	switch {
	case length < minRecord:
		return errRecordLength
	case length > w.max()-w.pos():
		if w.src != nil { // there may be that much, but it may not be inflated
			w.err = errInflateLimit
		}
		return errRecordsEnd
	}
	end := w.pos() + length
	if !w.skip(1) {
		return errRecordsEnd
	}
	var okTS, okOffset bool
	p.timestamp, okTS = w.varint()
	p.offset, okOffset = w.varint()
	if !okTS || !okOffset {
		return errRecordsEnd
	}
	if p.key, p.keyLen, ok = w.bytes(end); !ok {
		return errKeyLength
	}
	if p.value, p.valueLen, ok = w.bytes(end); !ok {
		return errValueLength
	}
	if p.count, ok = w.varint(); !ok || p.count < 0 || p.count > (end-w.pos())/2 {
		return errHeaderCount
	}
	p.headers = w.pos()
	for range p.count {
		if _, n, ok := w.bytes(end); !ok || n < 0 {
			return errHeaderLength
		}
		if _, _, ok := w.bytes(end); !ok {
			return errHeaderLength
		}
	}
	p.headerLen = w.pos() - p.headers
	if w.pos() != end {
		return errRecordParts
	}
	return ""
}

// bytes skips a nullable byte string that must end by end, and says where it is.
func (w *walker) bytes(end int64) (at, n int64, ok bool) {
	n, ok = w.varint()
	if !ok || n < None {
		return 0, 0, false
	}
	at = w.pos()
	if n <= 0 {
		return at, n, at <= end
	}
	if n > end-at || !w.skip(n) {
		return 0, 0, false
	}
	return at, n, true
}

// varint reads a zigzag varint of up to 64 bits.
func (w *walker) varint() (int64, bool) {
	if w.i < len(w.b) && w.b[w.i] < 0x80 {
		u := uint64(w.b[w.i])
		w.i++
		return int64(u>>1) ^ -int64(u&1), true
	}
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if w.i == len(w.b) && !w.fill() {
			return 0, false
		}
		c := w.b[w.i]
		w.i++
		if shift == 63 && c > 1 {
			return 0, false
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), true
		}
	}
	return 0, false
}

// skip passes over n bytes.
func (w *walker) skip(n int64) bool {
	for n > int64(len(w.b)-w.i) {
		n -= int64(len(w.b) - w.i)
		w.i = len(w.b)
		if !w.fill() {
			return false
		}
	}
	w.i += int(n)
	return true
}

// fill replaces the window, which has been read, by what follows.
func (w *walker) fill() bool {
	if w.src == nil || w.err != nil {
		return false
	}
	w.off += int64(len(w.b))
	w.i, w.b = 0, w.b[:0]
	for len(w.b) == 0 {
		n, err := w.src.Read(w.b[:cap(w.b)])
		if int64(n) > w.left {
			w.err = errInflateLimit
			return false
		}
		w.left -= int64(n)
		w.b = w.b[:n]
		if err != nil {
			if err != io.EOF {
				w.err = err
			}
			w.src = nil
		}
		if err != nil && n == 0 {
			return false
		}
	}
	return true
}

// max is the largest position that the end of a record can have.
func (w *walker) max() int64 {
	if w.src == nil {
		return w.off + int64(len(w.b))
	}
	return w.off + int64(len(w.b)) + w.left
}

// atEnd reports whether there is nothing left to read.
func (w *walker) atEnd() bool { return w.i == len(w.b) && !w.fill() }
