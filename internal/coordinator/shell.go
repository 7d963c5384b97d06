package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/machine"
	"rota/internal/storage"
)

// shellConfig says what a shell runs on.
type shellConfig struct {
	Partitions int32
	NextEpoch  func() (int32, error)
	Now        func() machine.Now
	CrashDir   string
	Log        *slog.Logger
}

// processClock counts from now on.
func processClock() func() machine.Now {
	origin := time.Now()
	return func() machine.Now {
		now := time.Now()
		return machine.Now{Mono: now.Sub(origin), Wall: now.UnixMilli()}
	}
}

// randomUUID is a version 4 UUID in its usual form.
func randomUUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var s [36]byte
	at := 0
	for i, b := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			s[at] = '-'
			at++
		}
		hex.Encode(s[at:], []byte{b})
		at += 2
	}
	return string(s[:])
}

// shell runs the machines of one kind over the partitions of one internal
// topic: one shard for each, which one goroutine at a time drives.
type shell[Q, R, E any] struct {
	config shellConfig
	idName string // what the id of a machine is called in the log of operators
	open   func(p int32) (partitionLog, error)
	// newKind makes the kind of a new shard.
	newKind func() Kind[Q, R, E]
	// configure gives the settings of now to a shard.
	configure func(*Shard[Q, R, E])
	refuse    func(Q, machine.Code) R
	publish   func(from origin, id string, events []E)
	// crashText is what a panic leaves behind: the text of its file before and
	// after what the log holds of the machine.
	crashText func(c *Crash[Q, R, E], p *panicked, state []byte) (head, tail []byte)

	runners []*runner[Q, R, E]

	ctx    context.Context // ends when the shell does
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines that load and report

	loading chan struct{} // closed when every shard has loaded
	left    atomic.Int32  // shards that have not loaded yet
	closing atomic.Bool
}

// prepare makes the runners, so that requests can be submitted. start comes next.
func (c *shell[Q, R, E]) prepare() {
	c.loading = make(chan struct{})
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.runners = make([]*runner[Q, R, E], c.config.Partitions)
	for p := range c.runners {
		c.runners[p] = &runner[Q, R, E]{c: c, p: int32(p), gone: make(chan struct{})}
	}
	c.left.Store(c.config.Partitions)
}

// start begins to load every shard.
func (c *shell[Q, R, E]) start() { c.background(c.loadAll) }

// loadAll loads every shard under one leader epoch, as many at a time as the
// machine has processors.
func (c *shell[Q, R, E]) loadAll(ctx context.Context) {
	epoch, err := c.takeEpoch(ctx)
	if err != nil {
		return
	}
	var next atomic.Int32
	worker := func(ctx context.Context) {
		for {
			p := next.Add(1) - 1
			if p >= c.config.Partitions || ctx.Err() != nil {
				return
			}
			r := c.runners[p]
			r.control(func(r *runner[Q, R, E]) { r.lead(epoch) })
			r.load(ctx, epoch, nil)
		}
	}
	for range min(runtime.GOMAXPROCS(0), int(c.config.Partitions)) - 1 {
		c.background(worker)
	}
	worker(ctx)
}

// background runs f on a goroutine that Close waits for. It is called by
// Start, by what it has started, and by runners that have not shut.
func (c *shell[Q, R, E]) background(f func(context.Context)) {
	c.work.Go(func() {
		f(c.ctx)
	})
}

// loadedOne counts the first load of a shard.
func (c *shell[Q, R, E]) loadedOne() {
	if c.left.Add(-1) == 0 {
		close(c.loading)
	}
}

// Loaded is closed when every shard has loaded, or failed to.
func (c *shell[Q, R, E]) Loaded() <-chan struct{} { return c.loading }

// submit runs one request on a machine of partition p.
func (c *shell[Q, R, E]) submit(p int32, id string, req Q, done func(R)) {
	if !c.runners[p].put(input[Q, R, E]{asked: true, id: id, req: req, done: done}) {
		done(c.refuse(req, codeCoordinatorNotAvailable))
	}
}

// list calls f with every shard that serves, while nobody else does. The code
// is COORDINATOR_LOAD_IN_PROGRESS if one of them is still loading; shards that
// are not served here are left out.
func (c *shell[Q, R, E]) list(ctx context.Context, f func(p int32, s *Shard[Q, R, E])) (machine.Code, error) {
	if c.closing.Load() {
		return codeCoordinatorNotAvailable, nil
	}
	codes := make(chan machine.Code, len(c.runners))
	for _, r := range c.runners {
		asked := r.control(func(r *runner[Q, R, E]) {
			var code machine.Code
			switch r.state {
			case active:
				code = codeCoordinatorLoadInProgress // if the shard panics
				r.guard(func(r *runner[Q, R, E]) { f(r.p, r.shard); code = 0 })
			case loading, stopped:
				code = r.state.refusal()
			case failed, away, draining:
			}
			codes <- code
		})
		if !asked {
			codes <- codeCoordinatorNotAvailable
		}
	}
	for range c.runners {
		select {
		case code := <-codes:
			if code != 0 {
				return code, nil
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, nil
}

// everywhere runs a request on every machine of every shard. done is called
// once, when all that comes of it is durable, or with the first error, which is
// ErrNotServing if a shard does not serve. Shards that are loading do it when
// they have loaded.
func (c *shell[Q, R, E]) everywhere(req Q, answer R, done func(error)) {
	var mu sync.Mutex
	left, told := len(c.runners), false
	one := func(err error) {
		mu.Lock()
		left--
		tell := !told && (err != nil || left == 0)
		told = told || tell
		mu.Unlock()
		if tell {
			done(err)
		}
	}
	for _, r := range c.runners {
		p := &passing[Q, R, E]{req: req, answer: answer, done: one, r: r}
		if !r.control(func(r *runner[Q, R, E]) { r.pass(p) }) {
			one(ErrNotServing)
		}
	}
}

// reconfigure gives the settings of now to every shard.
func (c *shell[Q, R, E]) reconfigure() {
	for _, r := range c.runners {
		r.control(func(r *runner[Q, R, E]) {
			if r.shard != nil {
				c.configure(r.shard)
			}
		})
	}
}

// Move unloads the shard of partition p and loads it again under a new leader
// epoch, as if another broker had taken over. It returns when the shard has
// loaded. Errors: ErrNotServing if it has not.
func (c *shell[Q, R, E]) Move(p int32) error {
	if p < 0 || p >= c.config.Partitions {
		return errors.New("coordinator: no such partition")
	}
	r := c.runners[p]
	away, err := c.takeEpoch(c.ctx)
	if err != nil {
		return err
	}
	if _, err := r.ask(func(r *runner[Q, R, E]) bool { return r.resign(away) }); err != nil {
		return err
	}
	back, err := c.takeEpoch(c.ctx)
	if err != nil {
		return err
	}
	var quarantined map[string]bool
	leads, err := r.ask(func(r *runner[Q, R, E]) bool {
		quarantined = r.trouble.quarantined
		return r.lead(back)
	})
	if err != nil || !leads {
		return ErrNotServing
	}
	r.load(c.ctx, back, quarantined)
	if serves, err := r.ask(func(r *runner[Q, R, E]) bool { return r.state == active }); err != nil || !serves {
		return ErrNotServing
	}
	return nil
}

// Drain answers every parked request with NOT_COORDINATOR; later ones get the
// same. Appends in flight end first. It returns when that is done, or ctx ends.
func (c *shell[Q, R, E]) Drain(ctx context.Context) error {
	waits := make([]chan struct{}, len(c.runners))
	for i, r := range c.runners {
		done := make(chan struct{})
		waits[i] = done
		if !r.control(func(r *runner[Q, R, E]) { r.drain(done) }) {
			close(done)
		}
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close stops every shard and waits for it. Parked requests get
// NOT_COORDINATOR, as do those whose records are not durable yet.
func (c *shell[Q, R, E]) Close() error {
	c.closing.Store(true)
	c.cancel()
	for _, r := range c.runners {
		r.control((*runner[Q, R, E]).stop)
	}
	for _, r := range c.runners {
		<-r.gone
	}
	c.work.Wait()
	return nil
}

// storedLog is a log of package storage.
type storedLog struct{ *storage.Log }

func (l storedLog) Writer(epoch int32) partitionWriter { return l.Log.Writer(epoch) }
