package vfs

import (
	"bytes"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"
)

// Blocks are whole, suit a direct file, and no two share a byte, also when
// others have gone back to the system meanwhile.
func TestBlocks(t *testing.T) {
	f, err := CreateDirect(OS(), filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := bytes.Repeat([]byte("block by block, "), BlockSize/16)
	if _, err := f.WriteAt(want, 0); err != nil {
		t.Fatal(err)
	}
	var kept []*Block
	for round := range 8 {
		b := NewBlock()
		NewBlock().B[0] = 1 // nobody keeps it
		if len(b.B) != BlockSize || cap(b.B) != BlockSize || uintptr(unsafe.Pointer(unsafe.SliceData(b.B)))%DirectBlock != 0 {
			t.Fatalf("a block of %d bytes, room for %d, at %p", len(b.B), cap(b.B), b.B)
		}
		if n, err := f.ReadAt(b.B, 0); n != BlockSize || err != nil {
			t.Fatal(n, err)
		}
		b.B[0] = byte(round)
		kept = append(kept, b)
		runtime.GC()
	}
	for i, b := range kept {
		if b.B[0] != byte(i) || !bytes.Equal(b.B[1:], want[1:]) {
			t.Errorf("block %d has been written to by others", i)
		}
	}
}

// A page is as large as it says, wherever it comes from, and all of it can be
// written to and to a direct file.
func TestPage(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		page := NewPage(fsys)
		if len(page.B) != PageSize || cap(page.B) != PageSize || !isBlock(page.B) {
			t.Fatalf("%d bytes at %p", len(page.B), page.B)
		}
		for i := range page.B {
			page.B[i] = byte(i >> 12)
		}
		name := filepath.Join(dir, "f")
		f, err := CreateDirect(fsys, name)
		check(t, err)
		check(t, second(f.WriteAt(page.B, 0)))
		check(t, f.Close())
		if contents(t, fsys, name) != string(page.B) {
			t.Error("the file holds something else")
		}
		runtime.KeepAlive(page)
	})
}

// isBlock reports whether b begins where a block may.
func isBlock(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&(DirectBlock-1) == 0
}
