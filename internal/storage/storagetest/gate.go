package storagetest

import (
	"sync"

	"rota/internal/storage"
)

// Gate holds the flushes of a medium back while it is shut, so that a test
// decides what gathers for the next one.
type Gate struct {
	storage.Medium
	before, after door

	mu    sync.Mutex
	count map[storage.Partition]int // segments in the last manifest
	moved func()                    // called after each round of settling
	wrote func()                    // called after each Write
	reads func()                    // called before each Read
	looks func()                    // called before each Aborted
	seeks func()                    // called before each Seek
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
	if g.moved != nil {
		g.moved()
	}
	return err
}

// Write is compaction's.
func (g *Gate) Write(p storage.Partition, created int64, w *storage.SegmentWrite) error {
	err := g.Medium.Write(p, created, w)
	if g.wrote != nil {
		g.wrote()
	}
	return err
}

// Read lets a test get in between.
func (g *Gate) Read(p storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	if g.reads != nil {
		g.reads()
	}
	return g.Medium.Read(p, s, offset, limit, dst)
}

// Lend lets a test get in between. Nothing is lent if the medium does not.
func (g *Gate) Lend(p storage.Partition, s storage.Segment, offset int64, limit int, visible int64) (storage.Stretch, int64, error) {
	if g.reads != nil {
		g.reads()
	}
	if m, ok := g.Medium.(storage.Lender); ok {
		return m.Lend(p, s, offset, limit, visible)
	}
	return nil, 0, nil
}

// Aborted lets a test get in between.
func (g *Gate) Aborted(p storage.Partition, s storage.Segment, from int64, dst []storage.AbortedTransaction) ([]storage.AbortedTransaction, error) {
	if g.looks != nil {
		g.looks()
	}
	return g.Medium.Aborted(p, s, from, dst)
}

// Seek lets a test get in between.
func (g *Gate) Seek(p storage.Partition, s storage.Segment, ts int64) (int64, error) {
	if g.seeks != nil {
		g.seeks()
	}
	return g.Medium.Seek(p, s, ts)
}

func (g *Gate) segments(p storage.Partition) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count[p]
}
