package storage

import "testing"

func TestTailRecyclesChunks(t *testing.T) {
	grown := 0
	tail := newTail(8*chunkSize, blocks{}, func() { grown++ })
	var held []*chunk
	for range 10 {
		c, pos := tail.alloc(chunkSize, nowhere)
		if pos != 0 || len(c.buf) != chunkSize {
			t.Fatalf("room at %d of %d", pos, len(c.buf))
		}
		held = append(held, c)
	}
	pressed := tail.pressure()
	if pressed == nil {
		t.Fatal("no pressure")
	}
	if grown != 6 {
		t.Errorf("told %d times that it is more than half full", grown)
	}
	for i, c := range held {
		c.release()
		if i == 0 && tail.pressure() == nil {
			t.Error("pressure ends too early")
		}
	}
	select {
	case <-pressed:
	default:
		t.Error("pressure remains")
	}
	if used := tail.used.Load(); used != chunkSize { // the one that is being filled
		t.Errorf("%d bytes in use", used)
	}
	if n := len(tail.free); n != 8 {
		t.Errorf("%d free chunks", n)
	}
	if n := tail.bytes(); n != 9*chunkSize {
		t.Errorf("%d bytes of memory, want %d", n, 9*chunkSize)
	}
	first := tail.free[len(tail.free)-1]
	if c, _ := tail.alloc(100, nowhere); c != first {
		t.Error("memory is not used again")
	}
	tail.trim()
	tail.trim()
	if n := len(tail.free); n != 0 {
		t.Errorf("%d idle chunks are kept", n)
	}
}

// Memory outside of the heap is for batches that are written from where they lie.
func TestPlacedBatchesLieInPages(t *testing.T) {
	type page struct{ b []byte }
	pages := 0
	b := blocks{size: 4096, page: func(size int) ([]byte, any) {
		pages++
		p := &page{make([]byte, size)}
		return p.b, p
	}}
	tail := newTail(8*chunkSize, b, func() {})
	small, _ := tail.alloc(100, nowhere)
	if small.keep != nil || pages != 0 {
		t.Error("a small batch lies in a page")
	}
	placed, pos := tail.alloc(chunkSize-64, 64)
	if p, ok := placed.keep.(*page); !ok || pos != 64 || &p.b[0] != &placed.buf[0] {
		t.Error("a placed batch does not lie in a page that is kept")
	}
	if large, _ := tail.alloc(2*chunkSize, 64); large.keep != nil || pages != 1 {
		t.Error("a batch that is larger than a page lies in one")
	}
}

func TestLargeBatchHasItsOwnChunk(t *testing.T) {
	tail := newTail(8*chunkSize, blocks{}, func() {})
	small, _ := tail.alloc(100, nowhere)
	large, pos := tail.alloc(3*chunkSize, nowhere)
	if pos != 0 || len(large.buf) != 3*chunkSize {
		t.Errorf("room at %d of %d", pos, len(large.buf))
	}
	next, _ := tail.alloc(100, nowhere)
	large.release()
	small.release()
	next.release()
	if n := len(tail.free); n != 1 {
		t.Errorf("%d free chunks: the large one must go", n)
	}
}

func TestReleasingTwicePanics(t *testing.T) {
	tail := newTail(8*chunkSize, blocks{}, func() {})
	c, _ := tail.alloc(chunkSize, nowhere)
	tail.alloc(chunkSize, nowhere)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	c.release()
	c.release()
}

func TestPinsMergeReferences(t *testing.T) {
	tail := newTail(8*chunkSize, blocks{}, func() {})
	var p pins
	for range 5 {
		c, _ := tail.alloc(100, nowhere)
		p.add(c)
	}
	if len(p) != 1 || p[0].count != 5 {
		t.Errorf("pins %+v", p)
	}
	c := p[0].chunk
	p.release()
	if n := c.refs.Load(); n != 1 {
		t.Errorf("%d references are left", n)
	}
}
