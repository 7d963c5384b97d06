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
