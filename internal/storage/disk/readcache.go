package disk

import (
	"container/list"
	"errors"
	"io"
	"sync"
	"time"

	"rota/internal/vfs"
)

const (
	// chunkSize is what is read from a segment at a time.
	chunkSize = vfs.BlockSize
	// maxChunks bounds the chunks kept, and so the memory for them.
	maxChunks = 64
	// aheadDepth is how many chunks are read ahead of a reader that goes
	// through a segment, and aheadLimit bounds those of all readers.
	aheadDepth, aheadLimit = 2, 16
	// maxFree bounds the memory that is kept for chunks to come.
	maxFree = 16
	// maxLent bounds the chunks that wait for somebody to read them from a
	// connection. They may be out of the cache already.
	maxLent = 32
	// maxAsked is how often a chunk is asked for here before it is taken to the
	// page cache, from where the system can send it.
	maxAsked = 6
	// idleTime is how long chunks are kept that nobody reads.
	idleTime = 15 * time.Second
)

// readCache stands in for the system's page cache, which segments go past: it
// reads ahead of those who go through a segment, and lets others who follow
// closely have the same bytes. Chunks of memory are used again and again.
//
// What has been read twice and is no longer here, or is asked for again and
// again, is read into the page cache and from then on found there: that costs
// less than the disk again and again, but more than the disk once.
type readCache struct {
	mu     sync.Mutex
	free   []*vfs.Block
	lent   int // chunks that stretches have lent on
	chunks map[chunkKey]*chunk
	recent *list.List // front: used last
	ahead  int        // chunks being read ahead
	sweep  *time.Timer
	memory int64 // of all chunks
	used   bool  // since the last sweep
	closed bool
	work   sync.WaitGroup
}

type chunkKey struct {
	sg *segment
	i  int64 // position in the file, in chunks
}

// source says where the bytes of a chunk come from. As a mark of a chunk that is
// not in the cache: how it was last read.
type source uint8

const (
	// fromChunk: read past the page cache, into a chunk. As a mark: never.
	fromChunk source = iota
	// fillPages: read into the page cache. As a mark: once past it.
	fillPages
	// fromPages: found in the page cache. As a mark: by way of it.
	fromPages
)

// chunk is a piece of a segment's file.
type chunk struct {
	key   chunkKey
	size  int           // of buf
	ready chan struct{} // closed when the fields below are set
	buf   *vfs.Block
	n     int // bytes that count
	err   error

	// Guarded by readCache.mu.
	users   int
	asked   int // how many stretches came for it
	dropped bool
	place   *list.Element
}

func newReadCache() *readCache {
	return &readCache{chunks: map[chunkKey]*chunk{}, recent: list.New()}
}

// read fills b from position at of the file, of which covered bytes count.
func (rc *readCache) read(sg *segment, b []byte, at, covered int64) error {
	last := int64(0)
	for len(b) > 0 {
		i := at / chunkSize
		skip := int(at % chunkSize)
		n := min(len(b), chunkSize-skip)
		c, err := rc.take(chunkKey{sg, i}, skip+n, covered)
		if err != nil {
			return err
		}
		copy(b[:n], c.buf.B[skip:])
		rc.release(c)
		b, at, last = b[n:], at+int64(n), i
	}
	rc.readAhead(sg, last, covered)
	return nil
}

// source says where a reader should take a chunk from. whole: all of the chunk
// lies before what may still be written.
func (rc *readCache) source(key chunkKey, whole bool) source {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if !whole || key.i >= int64(len(key.sg.reads)) {
		return fromChunk
	}
	if c := rc.chunks[key]; c != nil {
		if c.asked++; c.asked <= maxAsked {
			return fromChunk
		}
	}
	return key.sg.reads[key.i]
}

// filled says that a chunk has been read into the page cache.
func (rc *readCache) filled(sg *segment, i int64) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if sg.reads[i] == fillPages {
		sg.reads[i] = fromPages
	}
}

// paged reports whether the bytes from one position of the file to another
// should be in the page cache.
func (rc *readCache) paged(sg *segment, from, to int64) bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	last := (to - 1) / chunkSize
	return last < int64(len(sg.reads)) && sg.reads[from/chunkSize] == fromPages && sg.reads[last] == fromPages
}

// evicted says that chunk i is not in the page cache any more, and so probably
// none of those behind it.
func (rc *readCache) evicted(sg *segment, i int64) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for j := i; j < int64(len(sg.reads)); j++ {
		if sg.reads[j] == fromPages {
			sg.reads[j] = fromChunk
		}
	}
	sg.vetted.cut(i*chunkSize - segmentHeader)
}

// vouch says that batches have come out of the page cache and were verified.
func (rc *readCache) vouch(sg *segment, from, to int64) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	sg.vetted.add(from, to)
}

// vetted returns how far the batches from pos on have been verified since they
// came into the page cache: pos if they have not.
func (rc *readCache) vetted(sg *segment, pos int64) int64 {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return sg.vetted.from(pos)
}

// markReadLocked notes that a chunk has been read past the page cache.
func (rc *readCache) markReadLocked(key chunkKey) {
	if n := key.i + 1 - int64(len(key.sg.reads)); n > 0 {
		key.sg.reads = append(key.sg.reads, make([]source, n)...)
	}
	if key.sg.reads[key.i] == fromChunk {
		key.sg.reads[key.i] = fillPages
	}
}

// lend reports whether one more chunk may be lent. takeBack must follow.
func (rc *readCache) lend() bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.lent >= maxLent {
		return false
	}
	rc.lent++
	return true
}

// takeBack ends the loan of a chunk.
func (rc *readCache) takeBack(c *chunk) {
	rc.mu.Lock()
	rc.lent--
	rc.mu.Unlock()
	rc.release(c)
}

// bytes is the memory of the chunks that are kept, and of those to come.
func (rc *readCache) bytes() int64 {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.memory + int64(len(rc.free))*chunkSize
}

// take returns a chunk with at least need bytes, reading it if it is not there.
func (rc *readCache) take(key chunkKey, need int, covered int64) (*chunk, error) {
	for {
		c, fresh := rc.enter(key, covered)
		if fresh {
			rc.load(c, covered)
		}
		<-c.ready
		if c.err == nil && c.n >= need {
			return c, nil
		}
		err := c.err
		rc.drop(c)
		rc.release(c)
		if err != nil {
			return nil, err
		}
		if fresh {
			return nil, io.ErrUnexpectedEOF // the file is shorter than its manifest says
		}
	}
}

// enter finds a chunk or makes an empty one, which the caller loads.
func (rc *readCache) enter(key chunkKey, covered int64) (c *chunk, fresh bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.used = true
	if c = rc.chunks[key]; c != nil {
		c.users++
		rc.recent.MoveToFront(c.place)
		return c, false
	}
	c = &chunk{key: key, size: bufferSize(covered - key.i*chunkSize), ready: make(chan struct{}), users: 1}
	rc.chunks[key] = c
	rc.markReadLocked(key)
	rc.memory += vfs.AlignedCost(c.size)
	c.place = rc.recent.PushFront(c)
	for e := rc.recent.Back(); len(rc.chunks) > maxChunks && e != nil; {
		old, _ := e.Value.(*chunk)
		e = e.Prev()
		if old.users == 0 {
			rc.dropLocked(old)
		}
	}
	if rc.sweep == nil && !rc.closed {
		rc.sweep = time.AfterFunc(idleTime, rc.sweepIdle)
	}
	return c, true
}

// bufferSize is what a chunk takes of which n bytes count: no more than that, in
// whole blocks, at the end of a segment. There may be many small ones.
func bufferSize(n int64) int {
	const block = 4096
	if n > chunkSize/4 {
		return chunkSize
	}
	return int(max(n+block-1, block) / block * block)
}

// buffer returns memory for a chunk. Only whole chunks are used again.
func (rc *readCache) buffer(size int) *vfs.Block {
	if size < chunkSize {
		return &vfs.Block{B: vfs.Aligned(size)}
	}
	rc.mu.Lock()
	if last := len(rc.free) - 1; last >= 0 {
		b := rc.free[last]
		rc.free[last], rc.free = nil, rc.free[:last]
		rc.mu.Unlock()
		return b
	}
	rc.mu.Unlock()
	return vfs.NewBlock()
}

// load reads the chunk.
func (rc *readCache) load(c *chunk, covered int64) {
	defer close(c.ready)
	c.buf = rc.buffer(c.size)
	from := c.key.i * chunkSize
	n, err := c.key.sg.f.ReadAt(c.buf.B, from)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
		return
	}
	c.n = int(min(int64(n), covered-from))
}

// readAhead starts to read the chunks behind i, if the reader seems to go
// through the segment.
func (rc *readCache) readAhead(sg *segment, i, covered int64) {
	rc.mu.Lock()
	_, before := rc.chunks[chunkKey{sg, i - 1}]
	rc.mu.Unlock()
	if i > 0 && !before {
		return
	}
	for next := i + 1; next <= i+aheadDepth && next*chunkSize < covered; next++ {
		rc.startAhead(chunkKey{sg, next}, covered)
	}
}

func (rc *readCache) startAhead(key chunkKey, covered int64) {
	rc.mu.Lock()
	_, there := rc.chunks[key]
	there = there || key.i < int64(len(key.sg.reads)) && key.sg.reads[key.i] != fromChunk // or will be in the page cache
	if there || rc.closed || rc.ahead >= aheadLimit {
		rc.mu.Unlock()
		return
	}
	rc.ahead++
	rc.mu.Unlock()
	// The file must stay open while it is read.
	key.sg.cache.hold(key.sg)
	rc.work.Go(func() {
		defer rc.endAhead()
		defer key.sg.cache.release(key.sg)
		c, fresh := rc.enter(key, covered)
		if fresh {
			rc.load(c, covered)
		}
		rc.release(c)
	})
}

func (rc *readCache) endAhead() {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.ahead--
}

func (rc *readCache) release(c *chunk) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	c.users--
	if c.users == 0 && c.dropped {
		rc.recycleLocked(c)
	}
}

func (rc *readCache) drop(c *chunk) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.dropLocked(c)
}

// dropLocked takes a chunk out of the cache.
func (rc *readCache) dropLocked(c *chunk) {
	if c.dropped {
		return
	}
	c.dropped = true
	delete(rc.chunks, c.key)
	rc.memory -= vfs.AlignedCost(c.size)
	rc.recent.Remove(c.place)
	if c.users == 0 {
		rc.recycleLocked(c)
	}
}

func (rc *readCache) recycleLocked(c *chunk) {
	if c.buf != nil && c.size == chunkSize && len(rc.free) < maxFree && !rc.closed {
		rc.free = append(rc.free, c.buf)
	}
	c.buf = nil
}

// forget drops every chunk of a segment: its file is closed, or what it holds
// behind its manifest is written anew.
func (rc *readCache) forget(sg *segment) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for key, c := range rc.chunks {
		if key.sg == sg {
			rc.dropLocked(c)
		}
	}
}

// sweepIdle drops everything when nobody has read for a while.
func (rc *readCache) sweepIdle() {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.closed {
		return
	}
	if !rc.used {
		for _, c := range rc.chunks {
			if c.users == 0 {
				rc.dropLocked(c)
			}
		}
		rc.free = nil
	}
	rc.used = false
	rc.sweep = nil
	if len(rc.chunks)+len(rc.free) > 0 {
		rc.sweep = time.AfterFunc(idleTime, rc.sweepIdle)
	}
}

// close ends what is read ahead.
func (rc *readCache) close() {
	rc.mu.Lock()
	rc.closed, rc.free = true, nil
	if rc.sweep != nil {
		rc.sweep.Stop()
	}
	rc.mu.Unlock()
	rc.work.Wait()
}
