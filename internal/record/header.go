package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
)

const (
	// HeaderSize is the number of bytes before the first record.
	HeaderSize = 61
	// Overhead is the number of bytes that the batch length does not count.
	Overhead = 12
	// Magic is the only record format there is (KIP-724 removed the others).
	Magic = 2

	// None stands for no producer id, no sequence and no timestamp.
	None = -1
)

// Positions in a batch.
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Compression is the codec of a batch, by Kafka's numbers.
type Compression int8

// The codecs. Others are refused with ErrUnsupportedCompression.
const (
	Uncompressed Compression = 0
	Gzip         Compression = 1
	Snappy       Compression = 2
	LZ4          Compression = 3
	Zstd         Compression = 4
)

// String returns Kafka's name of the codec: "none", "gzip", "snappy", "lz4",
// "zstd", or "unknown".
func (c Compression) String() string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if c < 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// Attributes are the flags of a batch.
type Attributes int16

const (
	compressionMask  Attributes = 0x07
	logAppendTimeBit Attributes = 0x08
	transactionalBit Attributes = 0x10
	controlBit       Attributes = 0x20
	deleteHorizonBit Attributes = 0x40
)

// Compression is the codec of the records.
func (a Attributes) Compression() Compression { return Compression(a & compressionMask) }

// LogAppendTime says that every record's timestamp is the batch's max timestamp.
func (a Attributes) LogAppendTime() bool { return a&logAppendTimeBit != 0 }

// Transactional says that the batch belongs to its producer's transaction.
func (a Attributes) Transactional() bool { return a&transactionalBit != 0 }

// Control says that the records are markers, which clients never see.
func (a Attributes) Control() bool { return a&controlBit != 0 }

// DeleteHorizon says that the base timestamp is the time at which compaction
// may drop the batch's tombstones (KIP-534).
func (a Attributes) DeleteHorizon() bool { return a&deleteHorizonBit != 0 }

// Header is the fixed part of a batch.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes after the length field
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   int64 // milliseconds
	MaxTimestamp    int64 // milliseconds
	ProducerID      int64 // None if the producer is not idempotent
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32 // records; fewer than LastOffsetDelta+1 after compaction
}

// Size is the number of bytes of the whole batch.
func (h *Header) Size() int { return Overhead + int(h.Length) }

// LastOffset is the offset of the last record, even if compaction took it.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// NextOffset is the offset after the batch.
func (h *Header) NextOffset() int64 { return h.LastOffset() + 1 }

// LastSequence is the sequence of the last record. Sequences wrap from
// 2147483647 to 0. It is None if there is no base sequence.
func (h *Header) LastSequence() int32 {
	if h.BaseSequence < 0 {
		return None
	}
	return int32((int64(h.BaseSequence) + int64(h.LastOffsetDelta)) & 0x7fffffff)
}

// ParseHeader reads the header of the batch that b begins with. Bytes behind
// the batch are ignored. It checks what must hold before any field may be
// used: the length covers a header and lies within b, the magic is 2. Errors:
// ErrShort, ErrCorrupt, ErrInvalid (another magic).
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		if len(b) >= Overhead && int32(binary.BigEndian.Uint32(b[atLength:])) < HeaderSize-Overhead {
			return Header{}, errLength
		}
		return Header{}, ErrShort
	}
	h := Header{
		BaseOffset:      int64(binary.BigEndian.Uint64(b[atBaseOffset:])),
		Length:          int32(binary.BigEndian.Uint32(b[atLength:])),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(b[atLeaderEpoch:])),
		Magic:           int8(b[atMagic]),
		CRC:             binary.BigEndian.Uint32(b[atCRC:]),
		Attributes:      Attributes(binary.BigEndian.Uint16(b[atAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(b[atBaseTimestamp:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(b[atMaxTimestamp:])),
		ProducerID:      int64(binary.BigEndian.Uint64(b[atProducerID:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(b[atProducerEpoch:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(b[atBaseSequence:])),
		Count:           int32(binary.BigEndian.Uint32(b[atCount:])),
	}
	switch {
	case h.Magic != Magic:
		return h, errMagic
	case h.Length < HeaderSize-Overhead:
		return h, errLength
	case h.Size() > len(b):
		return h, ErrShort
	}
	return h, nil
}

// Size returns the length in bytes of the batch that b begins with, whether or
// not all of it is in b. It is false if b is too short to tell or the length
// cannot be a batch's.
func Size(b []byte) (int, bool) {
	if len(b) < Overhead {
		return 0, false
	}
	n := int32(binary.BigEndian.Uint32(b[atLength:]))
	if n < HeaderSize-Overhead {
		return 0, false
	}
	return Overhead + int(n), true
}

// BaseOffset returns the base offset of a batch.
func BaseOffset(b []byte) int64 { return int64(binary.BigEndian.Uint64(b[atBaseOffset:])) }

// NextOffset returns the offset after a batch.
func NextOffset(b []byte) int64 {
	return BaseOffset(b) + int64(int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:]))) + 1
}

// SetBaseOffset gives the batch its offset. The checksum does not cover it.
func SetBaseOffset(b []byte, offset int64) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(offset))
}

// SetLeaderEpoch gives the batch its leader epoch. The checksum does not cover it.
func SetLeaderEpoch(b []byte, epoch int32) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
}

// SetLogAppendTime makes now (milliseconds) the timestamp of every record of
// the batch, and renews the checksum.
func SetLogAppendTime(b []byte, now int64) {
	a := Attributes(binary.BigEndian.Uint16(b[atAttributes:]))
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(a|logAppendTimeBit))
	SetMaxTimestamp(b, now)
}

// SetMaxTimestamp replaces the max timestamp and renews the checksum: what a
// broker does when the producer's header names another one than its records have.
func SetMaxTimestamp(b []byte, ts int64) {
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(ts))
	setCRC(b)
}

// CheckCRC reports whether the checksum of a whole batch is right.
func CheckCRC(b []byte) bool {
	return len(b) >= HeaderSize && binary.BigEndian.Uint32(b[atCRC:]) == crc32.Checksum(b[atAttributes:], castagnoli)
}

func setCRC(b []byte) {
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
}

// Batches walks over the whole batches in b. It ends with an error at a header
// that cannot be read, and without one at the end or at a batch that is cut
// off, as the last one of a fetch may be. Checksums are not checked.
func Batches(b []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for len(b) > 0 {
			h, err := ParseHeader(b)
			if errors.Is(err, ErrShort) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			n := h.Size()
			if !yield(b[:n:n], nil) {
				return
			}
			b = b[n:]
		}
	}
}
