package record

import (
	"errors"
	"math"
)

// Rules say what a batch must be beyond well-formed.
type Rules struct {
	// Client asks what Kafka asks of producers only: no control batch, no
	// LogAppendTime, and a sequence with each producer id.
	Client bool
	// Keys asks every record for a key, as compacted topics do.
	Keys bool
	// Gaps accepts a batch that compaction has thinned: fewer records than
	// offsets, or none at all.
	Gaps bool
}

// Verified is what Verify learnt of a batch.
type Verified struct {
	Header
	// MinTimestamp and MaxTimestamp are those of the records, in milliseconds:
	// the header's own max timestamp may be wrong (see SetMaxTimestamp). In a
	// batch with LogAppendTime both are the header's.
	MinTimestamp, MaxTimestamp int64
	// MaxTimestampDelta is the offset delta of the first record with MaxTimestamp.
	MaxTimestampDelta int32
}

// Verify checks that b is exactly one batch and that all of it is as it must
// be before it may be given an offset: length, magic, checksum, counts, offset
// deltas, the parts of every record. Compressed records are inflated in a
// window and not kept. c may be nil if b is not compressed; then nothing is
// allocated.
//
// Errors: ErrCorrupt, ErrInvalid (also for a cut off or a second batch, as in
// Kafka), ErrUnsupportedCompression, ErrTooLarge, ErrTimestampType.
func Verify(b []byte, r Rules, c *Codec) (Verified, error) {
	h, err := ParseHeader(b)
	switch {
	case errors.Is(err, ErrShort):
		return Verified{}, invalidBatch("not one whole batch")
	case err != nil:
		return Verified{}, err
	case h.Size() != len(b):
		return Verified{}, invalidBatch("more than one batch")
	case !CheckCRC(b):
		return Verified{}, errCRC
	}
	if err := r.checkHeader(&h); err != nil {
		return Verified{}, err
	}
	var w walker
	if h.Attributes.Compression() == Uncompressed {
		w.b = b[HeaderSize:]
	} else if err := c.open(&w, h.Attributes.Compression(), b[HeaderSize:]); err != nil {
		return Verified{}, err
	}
	return r.checkRecords(&h, &w)
}

// checkHeader checks what the header says by itself.
func (r Rules) checkHeader(h *Header) error {
	a := h.Attributes
	switch {
	case a.Compression() > Zstd:
		return ErrUnsupportedCompression
	case h.LastOffsetDelta < 0 || h.LastOffsetDelta == math.MaxInt32:
		return invalidBatch("impossible last offset delta")
	case h.Count < 0 || h.Count == 0 && !r.Gaps:
		return invalidBatch("no records")
	case h.Count > h.LastOffsetDelta+1 || h.Count != h.LastOffsetDelta+1 && !r.Gaps:
		return invalidBatch("record count and last offset delta differ")
	case !r.Client:
		return nil
	case a.Control():
		return invalidBatch("control batches are not for producers")
	case a.LogAppendTime():
		return ErrTimestampType
	case h.ProducerID >= 0 && (h.BaseSequence < 0 || h.ProducerEpoch < 0):
		return invalidBatch("producer id without epoch or sequence")
	case h.ProducerID < 0 && a.Transactional():
		return invalidBatch("transactional batch without producer id")
	}
	return nil
}

// checkRecords walks over the records.
func (r Rules) checkRecords(h *Header, w *walker) (Verified, error) {
	v := Verified{Header: *h, MinTimestamp: math.MaxInt64, MaxTimestamp: math.MinInt64}
	var p place
	last := int64(None)
	for i := range h.Count {
		if why := w.next(&p); why != "" {
			return Verified{}, w.fault(i, why)
		}
		switch {
		case p.offset <= last || p.offset > int64(h.LastOffsetDelta) || !r.Gaps && p.offset != int64(i):
			return Verified{}, &InvalidError{Record: i, Reason: "offset delta out of order"}
		case r.Keys && p.keyLen == None:
			return Verified{}, &InvalidError{Record: i, Reason: "compacted topics take no record without key"}
		}
		last = p.offset
		ts := h.BaseTimestamp + p.timestamp
		v.MinTimestamp = min(v.MinTimestamp, ts)
		if ts > v.MaxTimestamp {
			v.MaxTimestamp, v.MaxTimestampDelta = ts, int32(p.offset)
		}
	}
	if !w.atEnd() {
		return Verified{}, invalidBatch("bytes behind the last record")
	}
	if w.err != nil {
		return Verified{}, inflateError(w.err)
	}
	if h.Attributes.LogAppendTime() || h.Count == 0 {
		v.MinTimestamp, v.MaxTimestamp, v.MaxTimestampDelta = h.MaxTimestamp, h.MaxTimestamp, 0
	}
	return v, nil
}

// fault is the error for record i: the decompressor's, if it has one.
func (w *walker) fault(i int32, why string) error {
	if w.err != nil {
		return inflateError(w.err)
	}
	return &InvalidError{Record: i, Reason: why}
}

func invalidBatch(why string) error { return &InvalidError{Record: None, Reason: why} }
