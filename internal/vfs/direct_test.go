package vfs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
)

// A direct file holds what was written, wherever it begins and ends, past the
// page cache or not, like any other file, but for zeros at its end.
func TestDirectFileHoldsWhatWasWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	name := filepath.Join(t.TempDir(), "f")
	f, err := CreateDirect(OS(), name)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for range 60 {
		at := rng.IntN(len(want) + 1)
		if rng.IntN(3) > 0 {
			at = len(want) // mostly at the end, as segments are
		}
		b := make([]byte, 1+rng.IntN([]int{100, 9000, 3 << 20}[rng.IntN(3)]))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		write := f.WriteVec
		if rng.IntN(3) == 0 {
			write = func(bufs [][]byte, off int64) error { return WriteVecCached(f, bufs, off) }
		}
		if err := write(inPieces(rng, b, at), int64(at)); err != nil {
			t.Fatalf("write of %d at %d: %v", len(b), at, err)
		}
		want = append(want[:at], append(b, want[min(len(want), at+len(b)):]...)...)
		if rng.IntN(20) == 0 {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if f, err = OpenDirect(OS(), name); err != nil {
				t.Fatal(err)
			}
		}
		from := rng.IntN(len(want))
		got := make([]byte, 1+rng.IntN(len(want)-from))
		if n, err := f.ReadAt(got, int64(from)); err != nil || n != len(got) {
			t.Fatalf("read of %d at %d: %d, %v", len(got), from, n, err)
		}
		if !bytes.Equal(got, want[from:from+len(got)]) {
			t.Fatalf("read of %d at %d: other bytes than were written", len(got), from)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	all, err := ReadFile(OS(), name, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < len(want) || !bytes.Equal(all[:len(want)], want) {
		t.Error("another reader sees other bytes")
	}
	if rest := bytes.Trim(all[len(want):], "\x00"); len(rest) > 0 {
		t.Errorf("%d bytes that nobody wrote", len(rest))
	}
	if n, err := f.ReadAt(make([]byte, 10), int64(len(all))); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read behind the end: %d, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// inPieces divides b, some of whose pieces lie where they need not be copied:
// their memory has the same place in a block as their bytes in the file.
func inPieces(rng *rand.Rand, b []byte, at int) [][]byte {
	var pieces [][]byte
	for len(b) > 0 {
		n := 1 + rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			n = min(n, 20_000)
		}
		piece := b[:n:n]
		if rng.IntN(2) == 0 {
			skip := at & (DirectBlock - 1)
			piece = Aligned(skip + n)[skip:]
			copy(piece, b)
		}
		pieces = append(pieces, piece)
		b, at = b[n:], at+n
	}
	return pieces
}

// A file system in memory has no page cache to go past.
func TestDirectFallsBack(t *testing.T) {
	m := NewMem()
	f, err := CreateDirect(m, "/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(); size != 3 || err != nil {
		t.Errorf("size is %d, %v", size, err)
	}
}

// The cost of aligned memory is what the allocator takes for it.
func TestAlignedCost(t *testing.T) {
	for _, n := range []int{64 << 10, 1 << 20, 1<<20 + 1} {
		const times = 16
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			if b := Aligned(n); len(b) != n {
				t.Fatal(len(b))
			}
		}
		runtime.ReadMemStats(&after)
		// Something else may allocate a little meanwhile.
		if took := int64(after.TotalAlloc-before.TotalAlloc) / times; took < AlignedCost(n) || took > AlignedCost(n)+1024 {
			t.Errorf("%d bytes take %d, not %d", n, took, AlignedCost(n))
		}
	}
}
