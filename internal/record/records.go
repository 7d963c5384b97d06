package record

import (
	"encoding/binary"
	"iter"
)

// Record is one record of a batch. Its slices belong to the batch or to the
// Codec that read it.
type Record struct {
	Offset    int64
	Timestamp int64  // milliseconds
	Key       []byte // nil is null
	Value     []byte // nil is null: a tombstone

	headers []byte
	count   int64
}

// Headers walks over the record's headers: key, and value or nil for null.
func (r Record) Headers() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		b := r.headers
		for range r.count {
			var key, value []byte
			key, b = cutBytes(b)
			value, b = cutBytes(b)
			if !yield(string(key), value) {
				return
			}
		}
	}
}

// cutBytes splits a nullable byte string off b, whose form has been checked.
func cutBytes(b []byte) (s, rest []byte) {
	n, size := binary.Varint(b)
	b = b[size:]
	if n < 0 {
		return nil, b
	}
	return b[:n:n], b[n:]
}

// Records walks over the records of a whole batch. It ends with an error at
// the first record that cannot be read: a *InvalidError, ErrTooLarge or
// ErrUnsupportedCompression. The checksum is not checked. c may be nil if the
// batch is not compressed; records of a compressed one are valid until c is
// used again.
func (c *Codec) Records(batch []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		h, err := ParseHeader(batch)
		if err != nil {
			yield(Record{}, err)
			return
		}
		data := batch[HeaderSize:h.Size()]
		if h.Attributes.Compression() != Uncompressed {
			if data, err = c.inflate(h.Attributes.Compression(), data); err != nil {
				yield(Record{}, err)
				return
			}
		}
		w := walker{b: data}
		var p place
		for i := range h.Count {
			if why := w.next(&p); why != "" {
				yield(Record{}, &InvalidError{Record: i, Reason: why})
				return
			}
			if !yield(p.record(&h, data), nil) {
				return
			}
		}
	}
}

// record makes the Record at p.
func (p *place) record(h *Header, data []byte) Record {
	return Record{
		Offset:    h.BaseOffset + p.offset,
		Timestamp: h.timestamp(p),
		Key:       slice(data, p.key, p.keyLen),
		Value:     slice(data, p.value, p.valueLen),
		headers:   slice(data, p.headers, p.headerLen),
		count:     p.count,
	}
}

// timestamp is the timestamp of the record at p.
func (h *Header) timestamp(p *place) int64 {
	if h.Attributes.LogAppendTime() {
		return h.MaxTimestamp
	}
	return h.BaseTimestamp + p.timestamp
}

func slice(b []byte, at, n int64) []byte {
	if n < 0 {
		return nil
	}
	return b[at : at+n : at+n]
}

// Stamp is the place of a record in time.
type Stamp struct{ Offset, Timestamp int64 }

// FirstSince returns the first record of a whole batch with an offset of at
// least from and a timestamp of at least ts, and false if there is none. c may
// be nil if the batch is not compressed. Errors: as of Records.
func (c *Codec) FirstSince(batch []byte, from, ts int64) (Stamp, bool, error) {
	for s, err := range c.stamps(batch) {
		if err != nil {
			return Stamp{}, false, err
		}
		if s.Offset >= from && s.Timestamp >= ts {
			return s, true, nil
		}
	}
	return Stamp{}, false, nil
}

// MaxTimestamp returns the first record with the largest timestamp of a whole
// batch, and false if the batch has no records. c may be nil if the batch is
// not compressed. Errors: as of Records.
func (c *Codec) MaxTimestamp(batch []byte) (largest Stamp, ok bool, err error) {
	for s, err := range c.stamps(batch) {
		if err != nil {
			return Stamp{}, false, err
		}
		if !ok || s.Timestamp > largest.Timestamp {
			largest, ok = s, true
		}
	}
	return largest, ok, nil
}

// stamps walks over the records without keeping them.
func (c *Codec) stamps(batch []byte) iter.Seq2[Stamp, error] {
	return func(yield func(Stamp, error) bool) {
		h, err := ParseHeader(batch)
		if err != nil {
			yield(Stamp{}, err)
			return
		}
		w := walker{b: batch[HeaderSize:h.Size()]}
		if codec := h.Attributes.Compression(); codec != Uncompressed {
			if err := c.open(&w, codec, w.b); err != nil {
				yield(Stamp{}, err)
				return
			}
		}
		var p place
		for i := range h.Count {
			if why := w.next(&p); why != "" {
				yield(Stamp{}, w.fault(i, why))
				return
			}
			if !yield(Stamp{h.BaseOffset + p.offset, h.timestamp(&p)}, nil) {
				return
			}
		}
	}
}
