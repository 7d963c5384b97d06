package record

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// checkPlainLZ4 compares what is read of a frame, if it is a plain one, with what
// the library makes of it.
func checkPlainLZ4(t *testing.T, data []byte) (plain bool) {
	t.Helper()
	var r lz4Reader
	if !r.open(data) {
		return false
	}
	got, gotErr := io.ReadAll(io.LimitReader(&r, 1<<20))
	want, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(data)), 1<<20))
	switch {
	case gotErr == nil && errors.Is(err, lz4.ErrInvalidFrameChecksum):
	case (gotErr == nil) != (err == nil):
		t.Errorf("error %v, the library's is %v", gotErr, err)
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%d bytes, the library reads %d others", len(got), len(want))
	}
	return true
}

// Plain frames are read as the library reads them, also damaged ones, but for
// the checksum of the content.
func TestPlainLZ4IsReadAsTheLibraryDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for i := range 120 {
		content := make([]byte, rng.IntN([]int{1, 100, 300_000}[i%3])+i%3)
		for j := range content {
			content[j] = byte(rng.IntN(1 + i%7*40)) // from all the same to hardly compressible
		}
		size := []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb}[rng.IntN(4)]
		data := lz4ed(t, content, lz4.ChecksumOption(i%2 == 0), lz4.BlockSizeOption(size))
		if !checkPlainLZ4(t, data) {
			t.Fatalf("a frame of %d bytes is not taken for a plain one", len(content))
		}
		for range 10 {
			damaged := append([]byte(nil), data...)
			damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
			if checkPlainLZ4(t, damaged[:len(damaged)-rng.IntN(2)*rng.IntN(5)]) {
				plain++
			}
		}
	}
	if plain < 300 {
		t.Errorf("%d damaged frames are read: they should be most", plain)
	}
}

// What is more than a plain frame is left to the library.
func TestPlainLZ4(t *testing.T) {
	content := plainRecords(t)
	plain := lz4ed(t, content)
	dependent := append([]byte(nil), plain...)
	dependent[4] &^= lz4Independent
	dependent[6] = byte(xxh32(dependent[4:6]) >> 8)
	for _, tt := range []struct {
		name string
		data []byte
		want bool
	}{
		{"plain", plain, true},
		{"checksums of blocks", lz4ed(t, content, lz4.BlockChecksumOption(true)), false},
		{"content size", lz4ed(t, content, lz4.SizeOption(uint64(len(content)))), false},
		{"dependent blocks", dependent, false},
		{"two frames", slices.Concat(plain, plain), false},
		{"bytes behind", slices.Concat(plain, []byte{0}), false},
		{"cut off", plain[:len(plain)-1], false},
		{"nothing", nil, false},
	} {
		if got := new(lz4Reader).open(tt.data); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzPlainLZ4 takes bytes as an lz4 frame.
func FuzzPlainLZ4(f *testing.F) {
	for _, n := range []int{0, 1, 1000, 70_000} {
		f.Add(lz4ed(f, bytes.Repeat([]byte("abcdefg"), n)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkPlainLZ4(t, data) })
}
