package wire

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffers come in powers of two between these sizes. Smaller ones are not
// worth a pool, and larger ones are rare and left to the collector.
const (
	minBufferBits = 10
	maxBufferBits = 26
)

// buffer is a pooled byte slice. The struct is pooled along with the bytes, so
// that neither is allocated anew.
type buffer struct {
	b    []byte
	room int64 // what counts as in use
}

// buffers keeps what requests and replies lie in. Fresh memory is the most
// expensive thing a request can need: a page that was never touched costs more
// than decoding a small request.
type buffers struct {
	classes [maxBufferBits - minBufferBits + 1]sync.Pool
	inUse   atomic.Int64 // bytes of room that get gave and put has not got
}

// get returns a buffer of length 0 that has room for n bytes.
func (p *buffers) get(n int) *buffer {
	b := p.find(n)
	b.room = int64(cap(b.b))
	p.inUse.Add(b.room)
	return b
}

func (p *buffers) find(n int) *buffer {
	class := sizeClass(n)
	if class > maxBufferBits {
		return &buffer{b: make([]byte, 0, n)}
	}
	if b, ok := p.classes[class-minBufferBits].Get().(*buffer); ok {
		b.b = b.b[:0]
		return b
	}
	return &buffer{b: make([]byte, 0, 1<<class)}
}

// put takes a buffer back. Its bytes may have grown since get.
func (p *buffers) put(b *buffer) {
	p.inUse.Add(-b.room)
	// The class whose promise of room the buffer can keep.
	class := bits.Len(uint(cap(b.b))) - 1
	if class < minBufferBits || class > maxBufferBits {
		return
	}
	p.classes[class-minBufferBits].Put(b)
}

// grow makes room for n more bytes behind what b holds.
func (p *buffers) grow(b *buffer, n int) {
	if cap(b.b)-len(b.b) >= n {
		return
	}
	larger := p.get(len(b.b) + n)
	larger.b = append(larger.b, b.b...)
	*larger, *b = *b, *larger
	p.put(larger)
}

func sizeClass(n int) int {
	return max(bits.Len(uint(max(n, 1)-1)), minBufferBits)
}
