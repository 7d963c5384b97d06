package wire

import "sync"

// budget is an amount of memory that requests share. Those that do not fit
// wait in line, so that a large one is not overtaken for ever by small ones.
type budget struct {
	limit int64

	mu    sync.Mutex
	used  int64
	peak  int64
	queue []*claim
}

type claim struct {
	n     int64
	ready chan struct{}
}

// tryTake takes n bytes if they are free and nobody waits for any.
func (b *budget) tryTake(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || !b.fits(n) {
		return false
	}
	b.grant(n)
	return true
}

// take waits until n bytes are free and takes them, or returns false when done
// is closed first. A claim beyond the whole budget is granted when nothing
// else is taken.
func (b *budget) take(n int64, done <-chan struct{}) bool {
	b.mu.Lock()
	if len(b.queue) == 0 && b.fits(n) {
		b.grant(n)
		b.mu.Unlock()
		return true
	}
	c := &claim{n, make(chan struct{})}
	b.queue = append(b.queue, c)
	b.mu.Unlock()

	select {
	case <-c.ready:
		return true
	case <-done:
		b.withdraw(c)
		return false
	}
}

// force takes n bytes whether they are free or not.
func (b *budget) force(n int64) {
	b.mu.Lock()
	b.grant(n)
	b.mu.Unlock()
}

// upTo takes at most n bytes and returns how many.
func (b *budget) upTo(n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = max(min(n, b.limit-b.used), 0)
	b.grant(n)
	return n
}

// give returns n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	next := b.next()
	b.mu.Unlock()
	wake(next)
}

// withdraw takes a claim out of the line, or gives back what it was granted.
func (b *budget) withdraw(c *claim) {
	b.mu.Lock()
	granted := true
	for i, q := range b.queue {
		if q == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			granted = false
			break
		}
	}
	if granted {
		b.used -= c.n
	}
	next := b.next()
	b.mu.Unlock()
	wake(next)
}

// next grants the claims at the head of the line that fit.
func (b *budget) next() []*claim {
	n := 0
	for n < len(b.queue) && b.fits(b.queue[n].n) {
		b.grant(b.queue[n].n)
		n++
	}
	if n == 0 {
		return nil
	}
	granted := b.queue[:n:n]
	b.queue = b.queue[n:]
	return granted
}

func (b *budget) fits(n int64) bool { return b.used == 0 || b.used+n <= b.limit }

func (b *budget) grant(n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

// usage returns what is taken, the most that ever was, and the claims that wait.
func (b *budget) usage() (used, peak int64, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak, len(b.queue)
}

func wake(claims []*claim) {
	for _, c := range claims {
		close(c.ready)
	}
}
