package disk

import (
	"os"
	"syscall"
	"testing"

	"rota/internal/vfs"
)

// What is read again and again comes past the page cache, then into it, then
// out of it, and is always the same; so does what is appended meanwhile.
func TestStretchesFromDiskAndPageCache(t *testing.T) {
	c := onTheSystem(t)
	m, _ := recoverFrom(t, c)
	defer func() { closeMedium(t, m) }()
	s := largeShelf(t, m)
	whole := func() []byte {
		seg := s.Segments[0]
		want, err := m.Read(s.Partition, seg, 0, int(seg.Size), nil)
		if err != nil || int64(len(want)) != seg.Size {
			t.Fatal(len(want), err)
		}
		return want
	}
	for round := range 6 {
		want := whole()
		for range round % 3 {
			m.segments.read.forgetAll()
			passOver(t, m, s, want)
		}
		if round == 3 { // the system takes the pages back
			dropPages(t, m, s)
		}
		if round%2 == 1 {
			settle(t, m, s.move(m, false, s.run(20, 40_000, rising)...))
		}
	}
	if !vfs.IsDirect(openSegmentOf(t, m, s).f) {
		t.Skip("there is no way past the page cache here")
	}
	want := whole()
	for range 2 { // then every whole chunk is in the page cache
		m.segments.read.forgetAll()
		passOver(t, m, s, want)
	}
	sg := openSegmentOf(t, m, s)
	chunks := (segmentHeader + s.Segments[0].Size) / chunkSize
	for i, from := range sg.reads[:chunks] {
		if from != fromPages {
			t.Errorf("chunk %d of %d comes from %d", i, chunks, from)
		}
	}
}

// dropPages has the system forget the pages of the segment that it can.
func dropPages(t *testing.T, m *Medium, s *shelf) {
	t.Helper()
	const dontNeed = 4
	f, err := os.Open(segmentFile(m.c, s))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}
