package vfs

import "unsafe"

// directWrite is a WriteVec on its way: whole blocks from piece to piece.
type directWrite struct {
	f      *directFile
	at     int64    // where pieces go; a multiple of the block, as all their sizes are
	pieces [][]byte // what has been listed
	size   int64    // of pieces

	// room is aligned memory for what has to be copied, and behind end a block
	// to read into. room[from:used] goes behind the pieces; used has the same
	// place in its block as the next byte has in the file.
	room            []byte
	from, used, end int
}

// uncopied is the size from which a piece is worth an entry of its own.
const uncopied = 4 * DirectBlock

// WriteVec writes whole blocks around the pieces. What was in the first and
// the last of them is kept. Pieces are not copied if their memory has the same
// place in a block as their bytes in the file, but for what shares a block with
// the next.
func (f *directFile) WriteVec(bufs [][]byte, off int64) error {
	buf, _ := directBuffers.Get().(*[]byte)
	defer directBuffers.Put(buf)
	w := directWrite{f: f, room: *buf, end: len(*buf) - DirectBlock, at: off &^ (DirectBlock - 1), pieces: f.pieces[:0]}
	if w.used = int(off - w.at); w.used > 0 {
		if err := f.readBlock(w.room[:DirectBlock], w.at); err != nil {
			return err
		}
	}
	for _, b := range bufs {
		for len(b) > 0 {
			if w.used == w.end {
				if err := w.flush(); err != nil {
					return err
				}
			}
			b = b[w.take(b):]
		}
	}
	return w.finish()
}

// take takes the first bytes of b and returns how many.
func (w *directWrite) take(b []byte) int {
	place := w.used & (DirectBlock - 1)
	n := min(len(b), w.end-w.used)
	if len(b) < uncopied || int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))&(DirectBlock-1) != place {
		w.used += copy(w.room[w.used:], b[:n])
		return n
	}
	head := -place & (DirectBlock - 1)
	w.used += copy(w.room[w.used:], b[:head])
	w.list()
	whole := (len(b) - head) &^ (DirectBlock - 1)
	w.pieces = append(w.pieces, b[head:head+whole])
	w.size += int64(whole)
	return head + whole
}

// list lists the whole blocks of what has been copied.
func (w *directWrite) list() {
	if to := w.used &^ (DirectBlock - 1); to > w.from {
		w.pieces = append(w.pieces, w.room[w.from:to])
		w.size += int64(to - w.from)
		w.from = to
	}
}

// flush writes whole blocks and keeps the one that is not full.
func (w *directWrite) flush() error {
	w.list()
	if err := w.write(); err != nil {
		return err
	}
	w.used = copy(w.room, w.room[w.from:w.used])
	w.from = 0
	return nil
}

// finish fills the last block with what the file has there and writes it.
func (w *directWrite) finish() error {
	if part := w.used - w.from; part&(DirectBlock-1) != 0 {
		behind := w.used & (DirectBlock - 1)
		old := w.room[w.end : w.end+DirectBlock]
		if err := w.f.readBlock(old, w.at+w.size+int64(part-behind)); err != nil {
			return err
		}
		w.used += copy(w.room[w.used:], old[behind:])
	}
	w.list()
	return w.write()
}

// write writes the pieces.
func (w *directWrite) write() error {
	if len(w.pieces) == 0 {
		return nil
	}
	f := w.f
	err := f.osFile.WriteVec(w.pieces, w.at)
	f.lastAt = -1
	if err == nil {
		end := w.pieces[len(w.pieces)-1]
		f.last = append(f.last[:0], end[len(end)-DirectBlock:]...)
		f.lastAt = w.at + w.size - DirectBlock
	}
	w.at += w.size
	w.size = 0
	clear(w.pieces) // do not keep the caller's memory alive
	f.pieces, w.pieces = w.pieces[:0], w.pieces[:0]
	return err
}
