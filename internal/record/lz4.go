package record

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/pierrec/lz4/v4"
)

const (
	lz4Magic = "\x04\x22\x4d\x18"

	// Of the frame's flags: the version, independent blocks, and a checksum of
	// the content. lz4Reserved and what else there may be is left to the library.
	lz4Version         = 0x40
	lz4Independent     = 0x20
	lz4ContentChecksum = 0x04

	lz4Head       = 7       // magic, flags, largest block, checksum of the last two
	lz4Stored     = 1 << 31 // in a block's size: the block is not compressed
	lz4BlockRatio = 255     // what a block can at most inflate to, by its size
)

// lz4Reader inflates one plain lz4 frame, as producers send them, block by
// block. The checksum of the content, which Java's broker ignores too, is not
// computed: that of the batch covers the same bytes, and going over all that a
// batch inflates to costs several times as much as inflating it.
type lz4Reader struct {
	blocks  []byte // not yet inflated; the frame's end follows
	largest int
	block   []byte // inflated, not yet read
	buf     []byte
}

// open makes r read the frame in data. It is false for a frame that is damaged
// or has more to it: another frame behind, checksums of blocks, a dictionary.
func (r *lz4Reader) open(data []byte) bool {
	if len(data) < lz4Head || string(data[:len(lz4Magic)]) != lz4Magic {
		return false
	}
	flags, size := data[4], data[5]
	if flags&^lz4ContentChecksum != lz4Version|lz4Independent || size&^0x70 != 0 || size < 0x40 {
		return false
	}
	if byte(xxh32(data[4:6])>>8) != data[6] {
		return false
	}
	end := 4 // the end mark
	if flags&lz4ContentChecksum != 0 {
		end += 4
	}
	r.blocks, r.largest, r.block = data[lz4Head:], 1<<(8+2*(size>>4)), nil
	for rest := r.blocks; ; {
		if len(rest) < end {
			return false
		}
		n := binary.LittleEndian.Uint32(rest)
		if n == 0 {
			return len(rest) == end
		}
		n &^= lz4Stored
		if int64(n) > int64(len(rest)-4) || n == 0 || int(n) > r.largest {
			return false
		}
		rest = rest[4+n:]
	}
}

// Read inflates the next block when the last one has been read.
func (r *lz4Reader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// next inflates the next block.
func (r *lz4Reader) next() error {
	n := binary.LittleEndian.Uint32(r.blocks)
	if n == 0 {
		return io.EOF
	}
	stored := n&lz4Stored != 0
	n &^= lz4Stored
	packed := r.blocks[4 : 4+n]
	r.blocks = r.blocks[4+n:]
	if stored {
		r.block = packed
		return nil
	}
	if room := min(r.largest, lz4BlockRatio*int(n)); cap(r.buf) < room {
		r.buf = make([]byte, room)
	}
	size, err := lz4.UncompressBlock(packed, r.buf[:min(cap(r.buf), r.largest)])
	if err != nil {
		return err
	}
	r.block = r.buf[:size]
	return nil
}

// xxh32 is the hash of less than 16 bytes with seed 0: lz4's checksum of a
// frame's head.
func xxh32(b []byte) uint32 {
	const prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	h := prime5 + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}
