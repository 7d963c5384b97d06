package record

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Snappy comes in two forms: one bare block (librdkafka, franz-go), or blocks
// with lengths behind the header of the snappy-java library (Java, sarama).

const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeaderSize = 16 // magic, version, oldest version that can read it
	xerialBlock      = 32 << 10
)

// snappyRatio bounds what a snappy block can inflate to: three bytes make at
// most 64.
const snappyRatio = 22

func isXerial(data []byte) bool {
	return len(data) >= xerialHeaderSize && string(data[:len(xerialMagic)]) == xerialMagic
}

// xerialReader inflates snappy-java's format block by block.
type xerialReader struct {
	data  []byte // blocks not yet inflated
	block []byte // inflated, not yet read
	buf   []byte
}

func (x *xerialReader) reset(data []byte) {
	x.data, x.block = data[xerialHeaderSize:], nil
	if cap(x.buf) > keepScratch {
		x.buf = nil
	}
}

// Read inflates the next block when the last one has been read.
func (x *xerialReader) Read(p []byte) (int, error) {
	for len(x.block) == 0 {
		if len(x.data) == 0 {
			return 0, io.EOF
		}
		if len(x.data) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := binary.BigEndian.Uint32(x.data)
		if uint64(n) > uint64(len(x.data)-4) {
			return 0, io.ErrUnexpectedEOF
		}
		block, err := unsnappy(x.buf[:0], x.data[4:4+n], DefaultLimit)
		if err != nil {
			return 0, err
		}
		x.block, x.buf = block, block
		x.data = x.data[4+n:]
	}
	n := copy(p, x.block)
	x.block = x.block[n:]
	return n, nil
}

// unsnappy inflates one block into dst if it fits there. What the block claims
// to inflate to is believed only if its size makes it possible.
func unsnappy(dst, block []byte, limit int64) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	switch {
	case err != nil || int64(n) > snappyRatio*int64(len(block)):
		return nil, invalidBatch("compressed records are damaged")
	case int64(n) > limit:
		return nil, ErrTooLarge
	}
	// The strict form: others accept an extension that Java clients cannot read.
	out, err := snappy.DecodeStrict(dst, block)
	if err != nil {
		return nil, invalidBatch("compressed records are damaged")
	}
	return out, nil
}

// appendXerial compresses data as snappy-java does, in blocks of 32 KiB.
func appendXerial(dst, data []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	for len(data) > 0 {
		block := data[:min(len(data), xerialBlock)]
		data = data[len(block):]
		at := len(dst) + 4
		need := snappy.MaxEncodedLen(len(block))
		dst = append(dst, make([]byte, 4+need)...)
		out := snappy.Encode(dst[at:at+need], block)
		binary.BigEndian.PutUint32(dst[at-4:], uint32(len(out)))
		dst = dst[:at+len(out)]
	}
	return dst
}
