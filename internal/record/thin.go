package record

import "encoding/binary"

// Thinner removes records from batches, as compaction does. The zero value is
// ready; it keeps working memory from one batch to the next.
type Thinner struct {
	// Codec inflates and deflates compressed batches. It must not be nil.
	Codec *Codec
	// Keep decides on each record. The record is valid during the call only.
	Keep func(r Record) bool
	// Horizon, unless it is None, becomes the delete horizon of a batch that
	// keeps a tombstone and has no horizon yet: wall clock milliseconds
	// (KIP-534).
	Horizon int64

	kept, moved []byte
}

// Thin appends to dst what is left of a whole batch. kept is the number of
// records left; with 0, the rest is a header that tells offsets, producer and
// sequence. A batch that nothing changes about is copied byte by byte. Offsets,
// timestamps, sequence and codec stay. The batch has been verified. Errors:
// those of a batch that cannot be read.
func (t *Thinner) Thin(dst, batch []byte) (out []byte, kept int32, err error) {
	h, err := ParseHeader(batch)
	if err != nil {
		return dst, 0, err
	}
	batch = batch[:h.Size()]
	codec := h.Attributes.Compression()
	data, err := t.Codec.inflate(codec, batch[HeaderSize:])
	if err != nil {
		return dst, 0, err
	}
	left, err := t.filter(&h, data)
	if err != nil {
		return dst, 0, err
	}
	moves := left.tombstones && t.Horizon != None && !h.Attributes.DeleteHorizon()
	switch {
	case left.records == h.Count && !moves:
		return append(dst, batch...), h.Count, nil
	case left.records == 0:
		return appendEmpty(dst, h), 0, nil
	}
	body := t.kept
	if moves {
		if body, err = t.move(&h); err != nil {
			return dst, 0, err
		}
	}
	h.Count = left.records
	if !h.Attributes.LogAppendTime() {
		h.MaxTimestamp = left.maxTimestamp
	}
	out, err = t.finish(dst, batch, &h, body)
	return out, h.Count, err
}

// Date appends to dst a whole batch as it is but for a delete horizon, unless it
// has one or t.Horizon is None: what compaction does to the marker of a
// transaction once no record of that is left. Errors: as of Thin.
func (t *Thinner) Date(dst, batch []byte) ([]byte, error) {
	h, err := ParseHeader(batch)
	if err != nil {
		return dst, err
	}
	batch = batch[:h.Size()]
	if t.Horizon == None || h.Attributes.DeleteHorizon() || h.Count == 0 {
		return append(dst, batch...), nil
	}
	if h.Attributes.Compression() != Uncompressed {
		return dst, invalidBatch("compressed markers")
	}
	t.kept = append(t.kept[:0], batch[HeaderSize:]...)
	body, err := t.move(&h)
	if err != nil {
		return dst, err
	}
	return t.finish(dst, batch, &h, body)
}

// finish appends the batch with another header and other records.
func (t *Thinner) finish(dst, batch []byte, h *Header, body []byte) (out []byte, err error) {
	start := len(dst)
	out = append(dst, batch[:HeaderSize]...)
	if codec := h.Attributes.Compression(); codec == Uncompressed {
		out = append(out, body...)
	} else if out, err = t.Codec.deflater.deflate(out, codec, 0, body); err != nil {
		return dst, err
	}
	putHeader(out[start:], h)
	return out, nil
}

// remains says what filter has left.
type remains struct {
	records      int32
	tombstones   bool
	maxTimestamp int64
}

// filter gathers the records to keep in t.kept.
func (t *Thinner) filter(h *Header, data []byte) (remains, error) {
	left := remains{maxTimestamp: None}
	t.kept = t.kept[:0]
	w := walker{b: data}
	var p place
	for i := range h.Count {
		from := w.i
		if why := w.next(&p); why != "" {
			return left, &InvalidError{Record: i, Reason: why}
		}
		r := p.record(h, data)
		if !t.Keep(r) {
			continue
		}
		t.kept = append(t.kept, data[from:w.i]...)
		left.records++
		left.tombstones = left.tombstones || r.Value == nil
		if left.records == 1 || r.Timestamp > left.maxTimestamp {
			left.maxTimestamp = r.Timestamp
		}
	}
	return left, nil
}

// move counts the timestamps of the records in t.kept from the horizon, which
// the header gets.
func (t *Thinner) move(h *Header) ([]byte, error) {
	t.moved = t.moved[:0]
	w := walker{b: t.kept}
	var p place
	for i := int32(0); w.i < len(t.kept); i++ {
		from := w.i
		if why := w.next(&p); why != "" {
			return nil, &InvalidError{Record: i, Reason: why}
		}
		record := t.kept[from:w.i]
		_, n := binary.Varint(record) // length
		rest := record[n+1:]          // behind the attributes
		_, old := binary.Varint(rest) // timestamp
		delta := h.BaseTimestamp + p.timestamp - t.Horizon
		size := 1 + varintSize(delta) + len(rest) - old
		t.moved = binary.AppendVarint(t.moved, int64(size))
		t.moved = append(t.moved, record[n])
		t.moved = binary.AppendVarint(t.moved, delta)
		t.moved = append(t.moved, rest[old:]...)
	}
	h.BaseTimestamp = t.Horizon
	h.Attributes |= deleteHorizonBit
	return t.moved, nil
}

// appendEmpty appends a batch without records that stands for h's.
func appendEmpty(dst []byte, h Header) []byte {
	h.Attributes &^= compressionMask | deleteHorizonBit
	h.BaseTimestamp = None
	h.Count = 0
	start := len(dst)
	var header [HeaderSize]byte
	dst = append(dst, header[:]...)
	putHeader(dst[start:], &h)
	return dst
}
