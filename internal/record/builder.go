package record

import (
	"encoding/binary"
	"math"
)

// Field is one header of a record. A nil Value is null.
type Field struct {
	Key   string
	Value []byte
}

// Builder encodes one batch at a time. The zero value is not ready: call
// Reset. It allocates only to grow the buffer it was given.
type Builder struct {
	buf   []byte
	start int // where the batch begins in buf

	attributes    Attributes
	producerID    int64
	producerEpoch int16
	baseSequence  int32
	baseTimestamp int64
	maxTimestamp  int64
	count         int32
}

// Reset begins a batch behind what dst holds. The Builder owns dst until
// Finish returns it, extended.
func (b *Builder) Reset(dst []byte) {
	*b = Builder{
		buf: dst, start: len(dst),
		producerID: None, producerEpoch: None, baseSequence: None,
		baseTimestamp: None, maxTimestamp: None,
	}
	var header [HeaderSize]byte
	b.buf = append(b.buf, header[:]...)
}

// SetProducer names the idempotent producer and the sequence of the first record.
func (b *Builder) SetProducer(id int64, epoch int16, sequence int32) {
	b.producerID, b.producerEpoch, b.baseSequence = id, epoch, sequence
}

// SetTransactional makes the batch part of its producer's transaction.
func (b *Builder) SetTransactional() { b.attributes |= transactionalBit }

// Append adds a record with a timestamp in milliseconds. A nil key or value is
// null. Nothing is kept of the arguments.
func (b *Builder) Append(ts int64, key, value []byte, headers ...Field) {
	if b.count == 0 {
		b.baseTimestamp, b.maxTimestamp = ts, ts
	}
	b.maxTimestamp = max(b.maxTimestamp, ts)
	size := 1 + varintSize(ts-b.baseTimestamp) + varintSize(int64(b.count)) + bytesSize(key) + bytesSize(value) + varintSize(int64(len(headers)))
	for _, h := range headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	buf := binary.AppendVarint(b.buf, int64(size))
	buf = append(buf, 0)
	buf = binary.AppendVarint(buf, ts-b.baseTimestamp)
	buf = binary.AppendVarint(buf, int64(b.count))
	buf = appendBytes(buf, key)
	buf = appendBytes(buf, value)
	buf = binary.AppendVarint(buf, int64(len(headers)))
	for _, h := range headers {
		buf = binary.AppendVarint(buf, int64(len(h.Key)))
		buf = append(buf, h.Key...)
		buf = appendBytes(buf, h.Value)
	}
	b.buf = buf
	b.count++
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the number of bytes that the batch has now, before compression.
func (b *Builder) Size() int { return len(b.buf) - b.start }

// Finish completes the batch, uncompressed, with base offset 0 and leader
// epoch -1, and returns the buffer given to Reset with the batch at its end.
// A batch without records or of 2 GiB and more is a bug of the caller.
func (b *Builder) Finish() []byte {
	batch := b.buf[b.start:]
	if b.count == 0 || len(batch) > math.MaxInt32 {
		panic("record: batch without records or too large")
	}
	putHeader(batch, &Header{
		LeaderEpoch: None, Attributes: b.attributes, LastOffsetDelta: b.count - 1,
		BaseTimestamp: b.baseTimestamp, MaxTimestamp: b.maxTimestamp,
		ProducerID: b.producerID, ProducerEpoch: b.producerEpoch, BaseSequence: b.baseSequence,
		Count: b.count,
	})
	return b.buf
}

// putHeader writes h to the front of a whole batch, with the length that the
// batch has and the checksum that follows from it.
func putHeader(batch []byte, h *Header) {
	binary.BigEndian.PutUint64(batch[atBaseOffset:], uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(batch[atLength:], uint32(len(batch)-Overhead))
	binary.BigEndian.PutUint32(batch[atLeaderEpoch:], uint32(h.LeaderEpoch))
	batch[atMagic] = Magic
	binary.BigEndian.PutUint16(batch[atAttributes:], uint16(h.Attributes))
	binary.BigEndian.PutUint32(batch[atLastOffsetDelta:], uint32(h.LastOffsetDelta))
	binary.BigEndian.PutUint64(batch[atBaseTimestamp:], uint64(h.BaseTimestamp))
	binary.BigEndian.PutUint64(batch[atMaxTimestamp:], uint64(h.MaxTimestamp))
	binary.BigEndian.PutUint64(batch[atProducerID:], uint64(h.ProducerID))
	binary.BigEndian.PutUint16(batch[atProducerEpoch:], uint16(h.ProducerEpoch))
	binary.BigEndian.PutUint32(batch[atBaseSequence:], uint32(h.BaseSequence))
	binary.BigEndian.PutUint32(batch[atCount:], uint32(h.Count))
	setCRC(batch)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // varint -1: null
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// varintSize is the number of bytes of a zigzag varint.
func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
