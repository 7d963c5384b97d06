package vfs

import "sync"

// chunkSize is the unit in which contents grow: large enough that long files
// have few, small enough that a last one half empty does not matter.
const chunkSize = 64 << 10

// chunks is the contents of a file: pieces of chunkSize, the last of which may
// be shorter, so that small files stay small. Missing pieces are zeros.
type chunks struct {
	parts [][]byte
	size  int64
}

// readAt copies what is at off into p and returns how much there was.
func (c *chunks) readAt(p []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	p = p[:min(int64(len(p)), c.size-off)]
	total := len(p)
	for len(p) > 0 {
		i, at := int(off/chunkSize), int(off%chunkSize)
		n := min(len(p), chunkSize-at)
		done := 0
		if i < len(c.parts) && at < len(c.parts[i]) {
			done = copy(p[:n], c.parts[i][at:])
		}
		clear(p[done:n])
		p, off = p[n:], off+int64(n)
	}
	return total
}

// writeAt writes p at off. p is not empty.
func (c *chunks) writeAt(p []byte, off int64) {
	c.size = max(c.size, off+int64(len(p)))
	for len(p) > 0 {
		i, at := int(off/chunkSize), int(off%chunkSize)
		n := min(len(p), chunkSize-at)
		for i >= len(c.parts) {
			c.parts = append(c.parts, nil)
		}
		c.parts[i] = stretch(c.parts[i], at+n, i > 0)
		copy(c.parts[i][at:], p[:n])
		p, off = p[n:], off+int64(n)
	}
}

// stretch makes a piece at least n bytes long, the new bytes zero. The first
// piece of a file grows by doubling, the others are made whole at once.
func stretch(b []byte, n int, whole bool) []byte {
	if n <= len(b) {
		return b
	}
	if n > cap(b) {
		size := chunkSize
		if !whole {
			size = min(chunkSize, max(n, 2*cap(b), 512))
		}
		var bigger []byte
		if size == chunkSize {
			bigger = getChunk()
		} else {
			bigger = make([]byte, size)
		}
		bigger = bigger[:copy(bigger, b)]
		b = bigger
	}
	clear(b[len(b):n])
	return b[:n]
}

// truncate sets the size.
func (c *chunks) truncate(size int64) {
	if size < c.size {
		keep := int((size + chunkSize - 1) / chunkSize)
		if keep < len(c.parts) {
			for _, b := range c.parts[keep:] {
				putChunk(b)
			}
			clear(c.parts[keep:])
			c.parts = c.parts[:keep]
		}
		if at := int(size % chunkSize); at > 0 && keep == len(c.parts) && len(c.parts[keep-1]) > at {
			c.parts[keep-1] = c.parts[keep-1][:at]
		}
	}
	c.size = size
}

// release empties c.
func (c *chunks) release() {
	c.truncate(0)
	c.parts = nil
}

// clone copies c.
func (c *chunks) clone() chunks {
	d := chunks{parts: make([][]byte, len(c.parts)), size: c.size}
	for i, b := range c.parts {
		d.parts[i] = append([]byte(nil), b...)
	}
	return d
}

// pool keeps pieces of deleted files: touching fresh memory costs far more
// than clearing memory that is there.
var pool sync.Pool

func getChunk() []byte {
	if b, ok := pool.Get().(*[chunkSize]byte); ok {
		return b[:]
	}
	return make([]byte, chunkSize)
}

func putChunk(b []byte) {
	if cap(b) == chunkSize {
		pool.Put((*[chunkSize]byte)(b[:chunkSize]))
	}
}
