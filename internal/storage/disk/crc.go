package disk

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"rota/internal/storage"
)

// Positions in a batch: of its checksum, and of the first byte that it covers.
const (
	atBatchCRC = 17
	atCovered  = 21
)

// combineFrom is the size of a batch from which its bytes cost more to go over
// than what they have been summed up to costs to shift.
const combineFrom = 16 << 10

// payloadCRC is the checksum of a frame's payload. That of a large batch is made
// from the batch's own, which the append has verified or made, so its bytes are
// not read again. If the batch has rotted in memory since, then a replay finds that
// out.
func payloadCRC(f *storage.Frame) uint32 {
	b := f.Batch
	if f.Kind != storage.FrameBatch || len(b) < combineFrom {
		return crc32.Checksum(b, castagnoli)
	}
	head := crc32.Checksum(b[:atCovered], castagnoli)
	return shiftCRC(head, len(b)-atCovered) ^ binary.BigEndian.Uint32(b[atBatchCRC:])
}

// shiftCRC returns what the CRC of some bytes contributes to that of the same
// bytes with n more behind them. A CRC is a polynomial over GF(2) modulo the
// generator, and a byte more multiplies it by x^8.
func shiftCRC(crc uint32, n int) uint32 {
	powers := bytePowers()
	for digit := 0; n > 0; digit++ {
		if d := n & 0xff; d > 0 {
			crc = multiplyCRC(powers[digit][d], crc)
		}
		n >>= 8
	}
	return crc
}

// bytePowers returns x^(8*d*256^i), by i and d: the powers of x^8 by the digits
// of their exponents. They are made when they are first needed.
var bytePowers = sync.OnceValue(func() *[4][256]uint32 {
	const one, x8 = 1 << 31, 1 << 23 // the lowest power is the highest bit
	var powers [4][256]uint32
	step := uint32(x8)
	for i := range powers {
		powers[i][0] = one
		for d := 1; d < 256; d++ {
			powers[i][d] = multiplyCRC(powers[i][d-1], step)
		}
		step = multiplyCRC(powers[i][255], step)
	}
	return &powers
})

// multiplyCRC is the product of two polynomials modulo the generator.
func multiplyCRC(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return product
}
