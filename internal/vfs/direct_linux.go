package vfs

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// directStep bounds what one call copies.
const directStep = 1 << 20

// directBuffers holds aligned memory: a step and two blocks.
var directBuffers = sync.Pool{New: func() any {
	b := Aligned(directStep + 2*DirectBlock)
	return &b
}}

// directFile is a file opened with O_DIRECT. It rounds to whole blocks what it
// is asked for, through a buffer where it must.
type directFile struct {
	osFile
	// last is the content of the block that the last write ended in, at
	// position lastAt; -1: not known. Only the one who writes uses it.
	last   []byte
	lastAt int64
	pieces [][]byte // scratch space of WriteVec
}

func (osFS) openDirect(name string, create bool) (File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags|syscall.O_DIRECT, fileMode)
	switch {
	case err == nil:
		return &directFile{osFile: osFile{File: f}, lastAt: -1}, nil
	case create && errors.Is(err, syscall.EINVAL):
		return osFS{}.Create(name)
	case errors.Is(err, syscall.EINVAL), errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return osFS{}.Open(name)
	}
	return nil, err
}

func (*directFile) direct() bool { return true }

// ReadAt reads whole blocks around what is asked for.
func (f *directFile) ReadAt(p []byte, off int64) (int, error) {
	if isAligned(p, off) {
		return f.readBlocks(p, off)
	}
	buf, _ := directBuffers.Get().(*[]byte)
	defer directBuffers.Put(buf)
	done := 0
	for done < len(p) {
		at := off + int64(done)
		skip := int(at & (DirectBlock - 1))
		want := min(len(p)-done, directStep)
		blocks := (*buf)[:(skip+want+DirectBlock-1)&^(DirectBlock-1)]
		n, err := f.readBlocks(blocks, at-int64(skip))
		got := copy(p[done:done+want], blocks[min(skip, n):n])
		done += got
		if err != nil && (got < want || !errors.Is(err, io.EOF)) {
			return done, err
		}
	}
	return done, nil
}

// readBlocks reads whole blocks into aligned memory. A file that was written by
// way of the page cache may end within a block, and while it is read it may go
// on there, from where a direct read cannot: that block is read again.
func (f *directFile) readBlocks(p []byte, off int64) (int, error) {
	for from, ended := 0, -1; ; {
		n, err := f.File.ReadAt(p[from:], off+int64(from))
		n += from
		if n&(DirectBlock-1) == 0 || !errors.Is(err, syscall.EINVAL) {
			return n, err
		}
		if n == ended {
			return n, io.EOF
		}
		from, ended = n&^(DirectBlock-1), n
	}
}

func isAligned(p []byte, off int64) bool {
	return (int64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))|off|int64(len(p)))&(DirectBlock-1) == 0
}

// WriteAt is WriteVec of one piece.
func (f *directFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.WriteVec([][]byte{p}, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// writeSynced syncs everything: little is not durable of a direct file.
func (f *directFile) writeSynced(b []byte, off int64) error {
	if _, err := f.WriteAt(b, off); err != nil {
		return err
	}
	return f.Sync()
}

// readBlock reads one block; behind the end of the file there are zeros.
func (f *directFile) readBlock(b []byte, at int64) error {
	if at == f.lastAt {
		copy(b, f.last)
		return nil
	}
	n, err := f.readBlocks(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	clear(b[n:])
	return nil
}

// Truncate sets the size.
func (f *directFile) Truncate(size int64) error {
	f.lastAt = -1
	return f.File.Truncate(size)
}

// Allocate gains nothing here: the bytes are written once.
func (*directFile) Allocate(int64) error { return nil }
