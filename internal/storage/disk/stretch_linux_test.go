package disk

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"rota/internal/storage"
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

// readShelf is a shelf on the system, of which all has been read once: past the
// page cache, where that can be done.
func readShelf(t *testing.T) (m *Medium, s *shelf, all []byte) {
	t.Helper()
	m, _ = recoverFrom(t, onTheSystem(t))
	t.Cleanup(func() { closeMedium(t, m) })
	s = largeShelf(t, m)
	all, err := m.Read(s.Partition, s.Segments[0], 0, int(s.Segments[0].Size), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, s, all
}

// What has been verified out of the page cache is sent from there, as long as
// it is there.
func TestVettedBatchesAreSentByTheSystem(t *testing.T) {
	m, s, want := readShelf(t)
	seg := s.Segments[0]
	inFile := func() int {
		st, _, err := m.Lend(s.Partition, seg, 0, 3<<20, seg.End)
		if err != nil || st == nil {
			t.Fatal(st, err)
		}
		defer st.Close()
		return len(outOfFile(st))
	}
	m.segments.read.forgetAll()
	if n := inFile(); n != 0 {
		t.Fatalf("%d bytes are to be sent that nobody has verified", n)
	}
	passOver(t, m, s, want) // into the page cache
	sg := openSegmentOf(t, m, s)
	if _, ok, _ := vfs.InCache(sg.paged(), 0, 1<<20); !ok {
		t.Skip("the system does not tell what its page cache has")
	}
	if n := inFile(); n < 2<<20 {
		t.Errorf("%d bytes are sent by the system", n)
	}
	passOver(t, m, s, want)
	dropPages(t, m, s)
	if n := inFile(); n != 0 {
		t.Errorf("%d bytes are to be sent that are in memory no more", n)
	}
	// What then rots on the disk is found.
	flip(t, m.c, segmentFile(m.c, s), segmentHeader+10*40_000+777)
	if b := lentBytes(t, m, s.Partition, seg, 0, 1<<20); b != nil {
		t.Error("damage was lent")
	}
}

// A chunk that stays in memory because many ask for it is sent by the system
// in the end.
func TestWhatManyAskForIsSentByTheSystem(t *testing.T) {
	m, s, want := readShelf(t)
	seg := s.Segments[0]
	sg := openSegmentOf(t, m, s)
	if f := sg.paged(); f == nil || !vfs.IsDirect(sg.f) {
		t.Skip("there is no way past the page cache here")
	}
	for range 2 * maxAsked {
		passOver(t, m, s, want)
	}
	chunks := (segmentHeader + seg.Size) / chunkSize
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

// What the system cannot tell of the page cache is not taken for an eviction:
// the segment goes on to be read from there.
func TestPagesThatCannotBeCountedAreStillRead(t *testing.T) {
	m, s, want := readShelf(t)
	seg := s.Segments[0]
	sg := openSegmentOf(t, m, s)
	if f := sg.paged(); f == nil || !vfs.IsDirect(sg.f) {
		t.Skip("there is no way past the page cache here")
	}
	for range 2 {
		m.segments.read.forgetAll()
		passOver(t, m, s, want)
	}
	sg.pages = struct{ vfs.File }{sg.pages} // nobody knows what it is
	st, _, err := m.Lend(s.Partition, seg, 0, 1<<20, seg.End)
	if err != nil || st == nil {
		t.Fatal(st, err)
	}
	defer st.Close()
	if b := outOfFile(st); b != nil {
		t.Errorf("%d bytes are to be sent that may not be in memory", len(b))
	}
	for i, from := range sg.reads[:(segmentHeader+seg.Size)/chunkSize] {
		if from != fromPages {
			t.Errorf("chunk %d comes from %d", i, from)
		}
	}
}

// Once damage has been found in a segment, all of it is read before it leaves.
func TestNothingOfADamagedSegmentIsSentByTheSystem(t *testing.T) {
	m, s, want := readShelf(t)
	seg := s.Segments[0]
	for range 2 {
		m.segments.read.forgetAll()
		passOver(t, m, s, want)
	}
	early, _, err := m.Lend(s.Partition, seg, 0, 1<<20, seg.End)
	if err != nil || early == nil {
		t.Fatal(early, err)
	}
	defer early.Close()
	if outOfFile(early) == nil {
		t.Skip("the system does not tell what its page cache has")
	}
	// A byte rots, its page leaves memory, and another reader brings it back
	// and finds out.
	flip(t, m.c, segmentFile(m.c, s), segmentHeader+10*40_000+777)
	dropPages(t, m, s)
	sg := openSegmentOf(t, m, s)
	m.segments.read.forgetAll()
	sg.reads[0] = fillPages
	other, _, err := m.Lend(s.Partition, seg, 0, 1<<20, seg.End)
	if err != nil || other == nil {
		t.Fatal(other, err)
	}
	defer other.Close()
	buf := make([]byte, 1<<20)
	for err == nil {
		_, _, err = other.Next(buf)
	}
	if _, ok := errors.AsType[*storage.CorruptError](err); !ok {
		t.Fatal(err)
	}
	if got, err := drained(early); err == nil {
		t.Errorf("%d bytes, damaged ones among them, left without an error", len(got))
	}
}
