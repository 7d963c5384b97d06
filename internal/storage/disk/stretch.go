package disk

import (
	"errors"
	"io"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// stretch is a run of batches that is read when its bytes leave: a megabyte at
// a time past the page cache, or, what is read again and again, from the page
// cache straight into the caller's buffer.
type stretch struct {
	sg       *segment
	size     int
	pos, end int64 // of the batches that have not been handed out
	settled  int64 // how much of the segment its manifest covers
	check    checker

	// vet is where the batches begin that have been verified and came out of
	// the page cache without a gap; -1: there are none.
	vet int64

	// What is known of the chunk that pos lies in.
	chunk int64 // -1: none
	from  source
	held  *chunk // lent; nil if it is not
}

var (
	_ storage.Lender      = (*Medium)(nil)
	_ storage.FileStretch = (*stretch)(nil)
)

// Lend implements storage.Lender.
func (m *Medium) Lend(p storage.Partition, s storage.Segment, offset int64, limit int, visible int64) (storage.Stretch, int64, error) {
	sg, err := m.segments.acquire(p, &s)
	if err != nil {
		return nil, 0, err
	}
	st, err := sg.lend(&s, offset, limit, visible)
	if st == nil || err != nil {
		m.segments.release(sg)
		return nil, 0, err
	}
	return st, st.check.end, nil
}

// lend finds the batches by the index alone, wherever it can: only the one that
// offset lies in may have to be looked for.
func (sg *segment) lend(s *storage.Segment, offset int64, limit int, visible int64) (*stretch, error) {
	if sg.suspect.Load() {
		return nil, nil
	}
	pos, first, known := sg.exactly(offset, s.Size)
	if !known {
		at, found, err := sg.find(
			func() entry { return sg.lookup(offset, s.Size) }, s.Size,
			func(h *record.Header) bool { return h.LastOffset() >= offset })
		if err != nil || !found {
			return nil, err
		}
		pos, first = at.pos, at.base
	}
	end, upper := s.Size, s.End
	if s.Size-pos > int64(limit) || s.End > visible {
		e := sg.lastEntry(min(pos+int64(limit), s.Size), visible)
		end, upper = e.pos, e.offset
	}
	if end <= pos {
		return nil, nil
	}
	return &stretch{
		sg: sg, size: int(end - pos), pos: pos, end: end, settled: s.Size,
		check: checker{first: first, end: upper}, vet: -1, chunk: -1,
	}, nil
}

// Size implements storage.Stretch.
func (st *stretch) Size() int { return st.size }

// Next implements storage.Stretch.
func (st *stretch) Next(buf []byte) (n int, lent []byte, err error) {
	if st.pos == st.end {
		return 0, nil, nil
	}
	b, isLent, err := st.read(buf[:min(int64(len(buf)), st.end-st.pos)])
	if err == nil {
		st.note()
		why := st.check.take(b)
		if why == "" && st.pos+int64(len(b)) == st.end && !st.check.whole() {
			why = "the last batch is cut off"
		}
		if why != "" {
			err = st.sg.corrupt(st.pos, why)
		}
	}
	if err != nil {
		st.sg.suspect.Store(true)
		return 0, nil, err
	}
	st.pos += int64(len(b))
	if st.pos == st.end {
		st.vouch()
		st.sg.remember(st.check.next, st.end)
	}
	if isLent {
		return 0, b, nil
	}
	return len(b), nil, nil
}

// note is called between reading bytes and checking them: it keeps track of
// what has come out of the page cache.
func (st *stretch) note() {
	switch {
	case st.from == fromChunk:
		st.vouch()
	case st.vet < 0 && st.check.whole():
		st.vet = st.pos
	}
}

// vouch has the segment know of the batches that were verified.
func (st *stretch) vouch() {
	if st.vet >= 0 {
		st.sg.cache.read.vouch(st.sg, st.vet, st.pos-int64(st.check.begun()))
		st.vet = -1
	}
}

// InFile implements storage.FileStretch.
func (st *stretch) InFile() (fd uintptr, off int64, size int) {
	if !st.check.whole() || st.sg.suspect.Load() {
		return 0, 0, 0
	}
	rc := st.sg.cache.read
	to := min(rc.vetted(st.sg, st.pos), st.end)
	if to == st.pos {
		return 0, 0, 0
	}
	f, off, size := st.sg.paged(), segmentHeader+st.pos, int(to-st.pos)
	fd, in, known := vfs.InCache(f, off, size)
	if known && !in {
		rc.evicted(st.sg, off/chunkSize)
	}
	if !in {
		return 0, 0, 0
	}
	return fd, off, size
}

// Passed implements storage.FileStretch.
func (st *stretch) Passed(size int) {
	st.vouch()
	st.leave()
	st.check.skip()
	st.pos += int64(size)
	if st.pos == st.end {
		st.sg.remember(st.check.end, st.end)
	}
}

// Close implements storage.Stretch.
func (st *stretch) Close() {
	st.leave()
	st.sg.cache.release(st.sg)
}

// read returns the bytes at pos: those that fill buf, or less.
func (st *stretch) read(buf []byte) (b []byte, lent bool, err error) {
	at := segmentHeader + st.pos
	if !vfs.IsDirect(st.sg.f) {
		st.from = fromPages
		return buf, false, st.readFile(st.sg.f, buf, at)
	}
	i := at / chunkSize
	if i != st.chunk {
		st.leave()
		st.enter(i)
	}
	buf = buf[:min(int64(len(buf)), (i+1)*chunkSize-at)]
	switch st.from {
	case fromPages:
		if n := vfs.ReadCached(st.sg.paged(), buf, at); n > 0 {
			return buf[:n], false, nil
		}
		st.sg.cache.read.evicted(st.sg, i)
		st.from = fromChunk
	case fillPages:
		return buf, false, st.readFile(st.sg.paged(), buf, at)
	case fromChunk:
	}
	return st.fromChunk(buf, int(at%chunkSize))
}

func (st *stretch) readFile(f vfs.File, buf []byte, at int64) error {
	n, err := f.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return st.sg.cutOff(at - segmentHeader + int64(n))
	}
	return err
}

// enter decides where chunk i comes from.
func (st *stretch) enter(i int64) {
	st.chunk = i
	// What is written to the file later begins in the last block, which so
	// never comes from a page that may be older than the file.
	whole := (i+1)*chunkSize <= segmentHeader+st.settled
	st.from = st.sg.cache.read.source(chunkKey{st.sg, i}, whole)
	if st.from == fromChunk {
		return
	}
	f := st.sg.paged()
	if f == nil {
		st.from = fromChunk
	}
}

func (st *stretch) leave() {
	if st.from == fillPages && st.chunk >= 0 && segmentHeader+st.pos == (st.chunk+1)*chunkSize {
		st.sg.cache.read.filled(st.sg, st.chunk)
	}
	if st.held != nil {
		st.sg.cache.read.takeBack(st.held)
		st.held = nil
	}
	st.chunk = -1
}

// fromChunk lends what is at skip in the chunk, or copies it if too many chunks
// are lent to readers who may take their time.
func (st *stretch) fromChunk(buf []byte, skip int) (b []byte, lent bool, err error) {
	if st.held != nil {
		return st.held.buf.B[skip : skip+len(buf)], true, nil
	}
	rc := st.sg.cache.read
	covered, _ := st.sg.state()
	covered = max(covered, st.settled) // less while a round that has failed is tried again
	need := int(min(chunkSize, segmentHeader+st.end-st.chunk*chunkSize))
	c, err := rc.take(chunkKey{st.sg, st.chunk}, need, segmentHeader+covered)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = st.sg.cutOff(st.pos)
	}
	if err != nil {
		return nil, false, err
	}
	rc.readAhead(st.sg, st.chunk, segmentHeader+covered)
	if rc.lend() {
		st.held = c
		return c.buf.B[skip : skip+len(buf)], true, nil
	}
	copy(buf, c.buf.B[skip:])
	rc.release(c)
	return buf, false, nil
}

// paged is the segment's file by way of the page cache, nil if it cannot be
// opened.
func (sg *segment) paged() vfs.File {
	if !vfs.IsDirect(sg.f) {
		return sg.f
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if sg.pages == nil && !sg.pageless {
		f, err := sg.cache.c.FS.Open(segmentFullPath(sg.cache.c, sg.key))
		sg.pages, sg.pageless = f, err != nil
		if err != nil {
			sg.pages = nil
		}
	}
	return sg.pages
}
