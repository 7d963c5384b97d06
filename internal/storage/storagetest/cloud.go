package storagetest

import (
	"math/rand/v2"
	"sync"
	"time"

	"rota/internal/storage"
)

// Cloud is Memory behind a long wire, as an object store would be. Flushes
// become durable in order, one behind the other, but up to three are on their
// way and their outcomes arrive in any order. A seed decides how long each
// call takes and which fail: some of those have happened all the same.
type Cloud struct {
	*Memory
	latency  time.Duration
	failures int // percent of flushes and settling rounds that fail

	mu    sync.Mutex
	rand  *rand.Rand
	last  *link // the newest flush of the stream
	calm  bool
	ended error
}

// link is one flush in the chain.
type link struct {
	settled   chan struct{} // closed when committed is final
	committed bool
}

// NewCloud returns an empty medium with the latency that its calls have on
// average, and the percentage that fails.
func NewCloud(seed uint64, latency time.Duration, failures int) *Cloud {
	return cloudOver(NewMemory(), seed, latency, failures)
}

func cloudOver(m *Memory, seed uint64, latency time.Duration, failures int) *Cloud {
	return &Cloud{Memory: m, latency: latency, failures: failures, rand: rand.New(rand.NewPCG(seed, 1))}
}

// Crash returns a medium over what another process would find now.
func (c *Cloud) Crash(seed uint64) *Cloud {
	return cloudOver(c.Memory.Clone(), seed, c.latency, c.failures)
}

// Calm ends the failures.
func (c *Cloud) Calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
}

// InFlight is 3.
func (c *Cloud) InFlight() int { return 3 }

// fate is what happens to a call.
type fate struct {
	before, after time.Duration
	fails         bool
	happens       bool // although it fails
}

func (c *Cloud) fateLocked() fate {
	return fate{
		before:  time.Duration(c.rand.Int64N(int64(c.latency) + 1)),
		after:   time.Duration(c.rand.Int64N(int64(c.latency) + 1)),
		fails:   c.rand.IntN(100) < c.failures && !c.calm,
		happens: c.rand.IntN(2) == 0,
	}
}

// Flush returns at once.
func (c *Cloud) Flush(f storage.Flush, written func(), done func(error)) {
	c.mu.Lock()
	what, err, previous := c.fateLocked(), c.ended, c.last
	this := &link{settled: make(chan struct{})}
	c.last = this
	c.mu.Unlock()
	go func() {
		time.Sleep(what.before)
		if previous != nil {
			<-previous.settled
			if !previous.committed {
				err = ErrFault
			}
		}
		if err == nil && (!what.fails || what.happens) {
			err = c.Memory.put(f)
		}
		if err == nil && what.fails {
			err = ErrFault
		}
		this.committed = err == nil
		if err != nil {
			c.mu.Lock()
			c.ended = err
			c.mu.Unlock()
		} else {
			written()
		}
		close(this.settled)
		time.Sleep(what.after)
		done(err)
	}()
}

// Reopen begins a new chain.
func (c *Cloud) Reopen(next uint64) error {
	c.mu.Lock()
	what := c.fateLocked()
	c.mu.Unlock()
	time.Sleep(what.before)
	if what.fails {
		return ErrFault
	}
	c.mu.Lock()
	c.ended, c.last = nil, nil
	c.mu.Unlock()
	return c.Memory.Reopen(next)
}

// Settle fails sometimes, before or after its work, or in the middle of it.
func (c *Cloud) Settle(moves []storage.Move) error {
	c.mu.Lock()
	what := c.fateLocked()
	c.mu.Unlock()
	time.Sleep(what.before + what.after)
	if what.fails {
		if !what.happens {
			return ErrFault
		}
		c.Memory.FailSettle(1)
	}
	return c.Memory.Settle(moves)
}
