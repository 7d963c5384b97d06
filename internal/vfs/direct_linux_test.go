package vfs

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"
)

// One write by the page cache leaves the file direct.
func TestCachedWriteLeavesTheFileDirect(t *testing.T) {
	f, err := CreateDirect(OS(), filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	df, ok := f.(*directFile)
	if !ok {
		t.Skip("the temporary folder's file system has no direct files")
	}
	check(t, WriteVecCached(f, [][]byte{[]byte("odd")}, 5))
	if size, err := f.Size(); size != 8 || err != nil {
		t.Errorf("size is %d, %v", size, err)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, df.Fd(), syscall.F_GETFL, 0)
	if errno != 0 || flags&syscall.O_DIRECT == 0 {
		t.Errorf("the file's flags are %#x, %v", flags, errno)
	}
}

// A file that grows while it is read, and does not end with a block, is read as
// far as it went when the read began, or farther.
func TestDirectReadsOfAFileThatGrows(t *testing.T) {
	const part, parts = 777, 300
	piece := bytes.Repeat([]byte("x"), part)
	for _, b := range [][]byte{Aligned(part * parts), Aligned(part*parts + 1)[1:]} {
		for range 20 {
			f, err := CreateDirect(OS(), filepath.Join(t.TempDir(), "f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var size atomic.Int64
			var writer sync.WaitGroup
			writer.Go(func() {
				for range parts {
					if err := WriteVecCached(f, [][]byte{piece}, size.Load()); err != nil {
						t.Error(err)
						return
					}
					size.Add(part)
				}
			})
			for before := int64(0); before < part*parts && !t.Failed(); {
				before = size.Load()
				n, err := f.ReadAt(b, 0)
				if err != nil && !errors.Is(err, io.EOF) || int64(n) < before || bytes.Count(b[:n], []byte("x")) != n {
					t.Errorf("%d bytes of a file of %d or more, %v", n, before, err)
				}
			}
			writer.Wait()
		}
	}
}

// Pieces that lie in their place are not copied, but for the blocks that they
// share with their neighbours.
func TestDirectWriteCopiesBlocksAtEndsOnly(t *testing.T) {
	f, err := CreateDirect(OS(), filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	df, ok := f.(*directFile)
	if !ok {
		t.Skip("the temporary folder's file system has no direct files")
	}
	const lead, size = 100, 10 * DirectBlock
	memory := Aligned(lead + 2*size)
	for i := range memory {
		memory[i] = byte(i>>12 + i)
	}
	placed := memory[lead : lead+size]
	elsewhere := append([]byte(nil), memory[lead+size:]...)
	if uintptr(unsafe.Pointer(&elsewhere[0]))&(DirectBlock-1) == (lead+size)&(DirectBlock-1) {
		t.Fatal("the second piece lies in its place by chance")
	}
	if _, err := f.WriteAt(memory[:lead], 0); err != nil {
		t.Fatal(err)
	}
	w := directWrite{f: df, room: Aligned(directStep + 2*DirectBlock), end: directStep, at: 0, used: lead}
	copy(w.room, memory[:lead])
	if n := w.take(placed); n != size-lead {
		t.Errorf("%d bytes of the first piece are taken, want %d", n, size-lead)
	}
	if got := len(w.pieces); got != 2 || &w.pieces[1][0] != &memory[DirectBlock] || len(w.pieces[1]) != size-DirectBlock {
		t.Errorf("%d pieces, the second is not the memory it came from", got)
	}
	if n := w.take(placed[size-lead:]); n != lead {
		t.Errorf("%d bytes of the first piece's end are taken, want %d", n, lead)
	}
	if n := w.take(elsewhere); n != size || len(w.pieces) != 2 {
		t.Errorf("%d bytes of the second piece are taken into %d pieces, want all of them copied", n, len(w.pieces)-2)
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(memory))
	if _, err := f.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, memory) {
		t.Error("the file has other bytes")
	}
}
