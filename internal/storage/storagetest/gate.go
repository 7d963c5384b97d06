package storagetest

import (
	"sync"
	"sync/atomic"

	"rota/internal/storage"
)

// Gate holds the flushes of a medium back while it is shut, so that a test
// decides what gathers for the next one.
type Gate struct {
	storage.Medium
	before, after door

	mu    sync.Mutex
	count map[storage.Partition]int // segments in the last manifest
	moved hook                      // called after each round of settling
	wrote hook                      // called after each Write
	reads hook                      // called before each Read
	looks hook                      // called before each Aborted
	seeks hook                      // called before each Seek
}

// hook is what a test has called at some place, nil for nothing. It may be set
// while others call it.
type hook struct{ f atomic.Pointer[func()] }

func (h *hook) set(f func()) {
	if f == nil {
		h.f.Store(nil)
		return
	}
	h.f.Store(&f)
}

func (h *hook) call() {
	if f := h.f.Load(); f != nil {
		(*f)()
	}
}

// door is open or shut.
type door struct {
	mu   sync.Mutex
	open chan struct{} // nil when open; closed when opened
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = make(chan struct{})
	}
}

func (d *door) unlock() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil {
		close(d.open)
		d.open = nil
	}
}

func (d *door) pass() {
	d.mu.Lock()
	open := d.open
	d.mu.Unlock()
	if open != nil {
		<-open
	}
}

// Shut holds flushes back before the medium sees them.
func (g *Gate) Shut() { g.before.shut() }

// ShutBehind holds back the outcome of flushes that the medium has written.
func (g *Gate) ShutBehind() { g.after.shut() }

// Open lets everything through.
func (g *Gate) Open() {
	g.before.unlock()
	g.after.unlock()
}

// Flush passes the gate.
func (g *Gate) Flush(f storage.Flush, written func(), done func(error)) {
	g.before.pass()
	g.Medium.Flush(f, written, func(err error) {
		g.after.pass()
		done(err)
	})
}

// Settle notes how many segments each partition has.
func (g *Gate) Settle(moves []storage.Move) error {
	err := g.Medium.Settle(moves)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range moves {
		if g.count == nil {
			g.count = make(map[storage.Partition]int)
		}
		g.count[moves[i].Manifest.Partition] = len(moves[i].Manifest.Segments)
	}
	g.moved.call()
	return err
}

// Write is compaction's.
func (g *Gate) Write(p storage.Partition, created int64, w *storage.SegmentWrite) error {
	err := g.Medium.Write(p, created, w)
	g.wrote.call()
	return err
}

// Read lets a test get in between.
func (g *Gate) Read(p storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	g.reads.call()
	return g.Medium.Read(p, s, offset, limit, dst)
}

// Lend lets a test get in between. Nothing is lent if the medium does not.
func (g *Gate) Lend(p storage.Partition, s storage.Segment, offset int64, limit int, visible int64) (storage.Stretch, int64, error) {
	g.reads.call()
	if m, ok := g.Medium.(storage.Lender); ok {
		return m.Lend(p, s, offset, limit, visible)
	}
	return nil, 0, nil
}

// Aborted lets a test get in between.
func (g *Gate) Aborted(p storage.Partition, s storage.Segment, from int64, dst []storage.AbortedTransaction) ([]storage.AbortedTransaction, error) {
	g.looks.call()
	return g.Medium.Aborted(p, s, from, dst)
}

// Seek lets a test get in between.
func (g *Gate) Seek(p storage.Partition, s storage.Segment, ts int64) (int64, error) {
	g.seeks.call()
	return g.Medium.Seek(p, s, ts)
}

func (g *Gate) segments(p storage.Partition) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count[p]
}
