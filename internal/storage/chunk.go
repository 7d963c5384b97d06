package storage

import (
	"sync"
	"sync/atomic"
)

// chunkSize is the unit in which the tail takes and recycles memory. It holds
// two batches of the usual largest size.
const chunkSize = 2 << 20

// tail is the memory that keeps recent batches of all logs. Batches lie in
// chunks in about the order in which they were appended, so that settling in
// that order frees whole chunks.
type tail struct {
	limit  int64
	blocks blocks
	// grown is called, without a lock, when a chunk is taken although more
	// than half of the limit is in use.
	grown func()

	used atomic.Int64 // bytes of all chunks that are not free
	over atomic.Bool  // used > limit

	mu      sync.Mutex
	current *chunk
	free    []*chunk
	fewest  int // the fewest free chunks since the last trim
	pressed chan struct{}
}

func newTail(limit int64, b blocks, grown func()) *tail {
	return &tail{limit: max(limit, 2*chunkSize), blocks: b, grown: grown}
}

// chunk is a piece of memory that many logs share. It lives until the last
// reference is released: one for each batch in it that a log still lists, one
// for each reader that is copying from it, one while it is being filled.
type chunk struct {
	owner *tail
	buf   []byte
	keep  any // what buf lives as long as, if it is not of the heap
	fill  int // guarded by owner.mu
	refs  atomic.Int32
}

func (c *chunk) retain() { c.refs.Add(1) }

func (c *chunk) release() { c.releaseMany(1) }

func (c *chunk) releaseMany(count int32) {
	n := c.refs.Add(-count)
	if n < 0 {
		panic("storage: chunk released twice")
	}
	if n > 0 {
		return
	}
	c.owner.mu.Lock()
	c.owner.recycleLocked(c)
	c.owner.mu.Unlock()
}

// pins are references to chunks that are gathered under a log's lock and
// released after it.
type pins []pin

type pin struct {
	chunk *chunk
	count int32
}

func (p *pins) add(c *chunk) {
	if n := len(*p); n > 0 && (*p)[n-1].chunk == c {
		(*p)[n-1].count++
		return
	}
	*p = append(*p, pin{c, 1})
}

func (p pins) release() {
	for i := range p {
		p[i].chunk.releaseMany(p[i].count)
	}
}

// alloc returns room for n bytes at pos, with one reference for the caller.
// If place is not nowhere, pos has that place in its block.
func (t *tail) alloc(n, place int) (c *chunk, pos int) {
	t.mu.Lock()
	grown := false
	if c = t.current; c == nil || t.blocks.next(c.fill, place)+n > len(c.buf) {
		c = t.nextLocked(t.blocks.next(0, place)+n, place != nowhere)
		grown = t.used.Load() > t.limit/2
	}
	pos = t.blocks.next(c.fill, place)
	c.fill = pos + n
	c.refs.Add(1)
	t.mu.Unlock()
	if grown {
		t.grown()
	}
	return c, pos
}

// nextLocked makes a chunk with room for n bytes the current one. placed says that
// a batch comes which is written from where it lies; only then is memory outside of
// the heap worth it: the heap's size is what the collector goes by.
func (t *tail) nextLocked(n int, placed bool) *chunk {
	if old := t.current; old != nil && old.refs.Add(-1) == 0 {
		t.recycleLocked(old)
	}
	var c *chunk
	if last := len(t.free) - 1; last >= 0 && n <= chunkSize {
		c, t.free[last] = t.free[last], nil
		t.free = t.free[:last]
		t.fewest = min(t.fewest, last)
	} else {
		c = &chunk{owner: t}
		if placed && n <= chunkSize && t.blocks.page != nil {
			c.buf, c.keep = t.blocks.page(chunkSize)
		} else {
			c.buf = make([]byte, max(n, chunkSize))
		}
	}
	c.fill = 0
	c.refs.Store(1)
	t.current = c
	if t.used.Add(int64(len(c.buf))) > t.limit && t.pressed == nil {
		t.pressed = make(chan struct{})
		t.over.Store(true)
	}
	return c
}

func (t *tail) recycleLocked(c *chunk) {
	used := t.used.Add(-int64(len(c.buf)))
	if len(c.buf) == chunkSize && int64(len(t.free)+1)*chunkSize <= t.limit {
		t.free = append(t.free, c)
	}
	if used <= t.limit && t.pressed != nil {
		close(t.pressed)
		t.pressed = nil
		t.over.Store(false)
	}
}

// pressure returns a channel that is closed when the tail is within its limit
// again, nil if it is.
func (t *tail) pressure() <-chan struct{} {
	if !t.over.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pressed
}

// bytes is the memory that the tail has, in use or not.
func (t *tail) bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used.Load() + int64(len(t.free))*chunkSize
}

// trim gives back the chunks that have not been needed since the last trim.
func (t *tail) trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := len(t.free) - t.fewest
	clear(t.free[keep:])
	t.free = t.free[:keep]
	t.fewest = keep
}
