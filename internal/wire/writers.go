package wire

import (
	"runtime"
	"sync"
	"syscall"
)

// writers write replies that others than the readers of their connections have
// made ready. When a group has formed there are as many as it has members, all
// at once. A few goroutines then take the connections in turn: one for each
// connection would cost a good part of what the write itself does. None of them
// waits for a peer: one that would have to stays with that connection, and hands
// its place to another one.
type writers struct {
	most int // places

	mu      sync.Mutex
	waiting []*conn // those from next on; their flag writing is set
	next    int
	taken   int      // places
	idle    []*place // to be used again
}

// inTurn is how many connections a goroutine writes for before it lets others
// run, and how often in a row for the same one before that loses its place.
const inTurn = 32

// keepWaiting is the longest list whose memory is kept.
const keepWaiting = 1024

func newWriters() *writers { return &writers{most: runtime.GOMAXPROCS(0)} }

// add sees to it that the ready replies of a connection are written soon. The
// caller has set c.writing.
func (w *writers) add(c *conn) {
	w.mu.Lock()
	if len(w.waiting) == cap(w.waiting) && 2*w.next > len(w.waiting) {
		n := copy(w.waiting, w.waiting[w.next:]) // rather than grow
		clear(w.waiting[n:])
		w.waiting, w.next = w.waiting[:n], 0
	}
	w.waiting = append(w.waiting, c)
	var p *place
	if w.taken < w.most {
		p = w.placeLocked()
	}
	w.mu.Unlock()
	if p != nil {
		go w.run(p)
	}
}

func (w *writers) placeLocked() *place {
	w.taken++
	if n := len(w.idle); n > 0 {
		p := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return p
	}
	p := &place{of: w, held: true}
	p.write = p.attempt
	return p
}

// run is a goroutine that has a place.
func (w *writers) run(p *place) {
	for n := 1; ; n++ {
		c := w.take(p)
		if c == nil {
			return
		}
		c.writeAt(p)
		if !p.held {
			return
		}
		if n%inTurn == 0 {
			runtime.Gosched()
		}
	}
}

// take returns the connection whose turn it is. If there is none it takes the
// place away.
func (w *writers) take(p *place) *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == len(w.waiting) {
		w.waiting, w.next = w.waiting[:0], 0
		if cap(w.waiting) > keepWaiting {
			w.waiting = nil
		}
		w.taken--
		w.idle = append(w.idle, p)
		return nil
	}
	c := w.waiting[w.next]
	w.waiting[w.next] = nil
	w.next++
	return c
}

// writeAt writes the ready replies of a connection.
func (c *conn) writeAt(p *place) {
	defer c.guard()
	c.flush(p)
}

// place is what a goroutine has that writes for one connection after the other.
// A nil place is none.
type place struct {
	of   *writers
	held bool

	// What follows is for tryWrite.

	write  func(fd uintptr) bool // attempt
	b      []byte
	n      int
	failed error
}

// giveUp lets another goroutine have the place: this one may have to wait from
// now on, or has had it for long.
func (p *place) giveUp() {
	if p == nil || !p.held {
		return
	}
	p.held = false
	w := p.of
	w.mu.Lock()
	w.taken--
	var next *place
	if w.next < len(w.waiting) {
		next = w.placeLocked()
	}
	w.mu.Unlock()
	if next != nil {
		go w.run(next)
	}
}

// tryWrite writes as much as the system takes without waiting.
func (p *place) tryWrite(raw syscall.RawConn, b []byte) (int, error) {
	p.b, p.n, p.failed = b, 0, nil
	err := raw.Write(p.write)
	p.b = nil
	if err != nil {
		return 0, err
	}
	return p.n, p.failed
}
