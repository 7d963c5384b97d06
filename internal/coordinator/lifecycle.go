package coordinator

import (
	"context"
	"errors"
	"slices"
	"time"

	"rota/internal/machine"
	"rota/internal/storage"
)

// ErrNotServing says that the shard does not serve: its load has failed, it is led
// elsewhere, or the coordinator stops.
var ErrNotServing = errors.New("shard is not served here")

// lead makes the runner load its shard under a leader epoch and reports
// whether it does: an epoch that is not newer than the one it knows is an
// order that came twice, or late.
func (r *runner[Q, R, E]) lead(epoch int32) bool {
	if epoch <= r.epoch || r.state == draining || r.state == stopped {
		return false
	}
	r.epoch, r.state = epoch, loading
	r.term.Store(epoch)
	r.unload()
	return true
}

// resign makes the runner drop its shard because another leader has the newer
// epoch, and reports whether it does.
func (r *runner[Q, R, E]) resign(epoch int32) bool {
	if epoch <= r.epoch || r.state == draining || r.state == stopped {
		return false
	}
	r.epoch = epoch
	r.term.Store(epoch)
	r.leave(away)
	return true
}

// leave ends the shard, if there is one, and what waits for it.
func (r *runner[Q, R, E]) leave(to state) {
	r.state = to
	r.unload()
	for _, p := range r.passing {
		p.done(ErrNotServing)
	}
	r.passing = nil
	r.refuseMarks()
}

// loadResult is what a load has come to.
type loadResult[Q, R, E any] struct {
	took   time.Duration
	epoch  int32
	shard  *Shard[Q, R, E]
	log    partitionLog
	writer partitionWriter
	next   machine.Offset
	err    error
	panic  *panicked
}

// load reads the shard of a leader epoch and hands it to the runner. It runs on
// a goroutine of its own.
func (r *runner[Q, R, E]) load(ctx context.Context, epoch int32, quarantined map[string]bool) {
	for {
		res := loadResult[Q, R, E]{epoch: epoch}
		began := time.Now()
		res.shard = NewShard(ShardConfig[Q, R, E]{Kind: r.c.newKind(), Epoch: epoch, Quarantined: quarantined})
		r.c.configure(res.shard)
		res.panic = protect(func() {
			if res.log, res.err = r.c.open(r.p); res.err == nil {
				res.writer = res.log.Writer(epoch)
				res.next, res.err = replayLog(ctx, res.log, res.shard)
			}
		})
		if errors.Is(res.err, storage.ErrOffsetOutOfRange) {
			continue // the log start has moved under the reader
		}
		res.took = time.Since(began)
		if ctx.Err() == nil {
			r.control(func(r *runner[Q, R, E]) { r.loaded(&res) })
		}
		return
	}
}

// loaded takes over what a load has come to.
func (r *runner[Q, R, E]) loaded(res *loadResult[Q, R, E]) {
	if r.state != loading || res.epoch != r.epoch {
		return // overtaken by a later order
	}
	if res.panic != nil {
		r.troubled(res.shard, res.panic)
		if r.trouble.stray <= strayLimit {
			r.reload(0)
			return
		}
		res.err = errCrashed
	}
	defer r.loadedOnce()
	if res.err != nil {
		r.loadFailed(res)
		return
	}
	r.loadPause = 0
	for kind, n := range res.shard.Skipped() {
		r.c.config.Log.Warn("records of an unknown type were skipped", "partition", r.p, "type", kind, "records", n)
	}
	r.state, r.shard, r.log, r.writer, r.loadTook = active, res.shard, res.log, res.writer, res.took
	r.c.configure(r.shard)
	r.begin()
	r.shard.Activate(res.next)
	for _, p := range r.passing {
		r.shard.Pass(p.req, p.answer, p.end)
	}
	for _, w := range r.marks {
		r.shard.EndTransaction(w.m, w.done)
	}
	r.marks = nil
}

// loadFailed puts the shard out of service. What may pass is tried again after a
// pause; for the rest somebody has to see to it, and to move the shard.
func (r *runner[Q, R, E]) loadFailed(res *loadResult[Q, R, E]) {
	r.leave(failed)
	about := []any{"partition", r.p, "epoch", res.epoch, "err", res.err}
	if !lasting(res.err) {
		r.loadPause = min(max(loadPause, 2*r.loadPause), loadPauseMax)
		about = append(about, "pause", r.loadPause)
		r.reload(r.loadPause)
	}
	r.c.config.Log.Error("shard cannot be loaded, its requests are refused until it is loaded again", about...)
}

func (r *runner[Q, R, E]) loadedOnce() {
	if !r.first {
		r.first = true
		r.c.loadedOne()
	}
}

// over sees to a shard that has ended. If nobody wanted that, its machines are
// loaded again under a new leader epoch.
func (r *runner[Q, R, E]) over(why error) {
	r.shard, r.writer = nil, nil
	switch r.state {
	case active:
		r.c.config.Log.Error("shard is loaded again", "partition", r.p, "epoch", r.epoch, "err", why)
		r.state = loading
		if r.trouble.stray > strayLimit {
			r.leave(failed)
			return
		}
		r.reload(0)
	case draining:
		for _, c := range r.drained {
			close(c)
		}
		r.drained = nil
	case loading, failed, away, stopped:
	}
}

// reload takes the next leader epoch after a pause and loads the shard, on a
// goroutine, unless somebody else has given another order by then.
func (r *runner[Q, R, E]) reload(pause time.Duration) {
	old, quarantined := r.epoch, r.trouble.quarantined
	r.c.background(func(ctx context.Context) {
		if !rest(ctx, pause) {
			return
		}
		epoch, err := r.c.takeEpoch(ctx)
		if err != nil {
			return
		}
		if leads, err := r.ask(func(r *runner[Q, R, E]) bool { return r.epoch == old && r.lead(epoch) }); err == nil && leads {
			r.load(ctx, epoch, quarantined)
		}
	})
}

// Pauses between attempts to take a leader epoch, and to load a shard.
const (
	epochPause    = 100 * time.Millisecond
	epochPauseMax = 5 * time.Second
	loadPause     = 100 * time.Millisecond
	loadPauseMax  = 30 * time.Second
)

// rest waits, and reports whether ctx still holds then.
func rest(ctx context.Context, pause time.Duration) bool {
	if pause == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeEpoch takes the next leader epoch. It tries until it gets one or ctx ends.
func (c *shell[Q, R, E]) takeEpoch(ctx context.Context) (int32, error) {
	pause := epochPause
	for {
		epoch, err := c.nextEpoch(ctx)
		if err == nil || ctx.Err() != nil {
			return epoch, err
		}
		c.config.Log.Error("no leader epoch", "err", err, "pause", pause)
		if !rest(ctx, pause) {
			return 0, ctx.Err()
		}
		pause = min(2*pause, epochPauseMax)
	}
}

// nextEpoch is NextEpoch, which is not waited for any more once ctx has ended:
// it takes for ever while the journal cannot be opened again, and ends when the
// store is closed. An epoch that nobody uses does no harm.
func (c *shell[Q, R, E]) nextEpoch(ctx context.Context) (int32, error) {
	type result struct {
		epoch int32
		err   error
	}
	taken := make(chan result, 1)
	go func() {
		epoch, err := c.config.NextEpoch()
		taken <- result{epoch, err}
	}()
	select {
	case r := <-taken:
		return r.epoch, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// passing is a request that goes to every machine of a shard.
type passing[Q, R, E any] struct {
	req    Q
	answer R
	done   func(error)
	r      *runner[Q, R, E]
}

// pass begins to run a request on every machine. A shard that is loading, or
// ends before it is done, begins again when it is loaded.
func (r *runner[Q, R, E]) pass(p *passing[Q, R, E]) {
	switch r.state {
	case active:
		r.passing = append(r.passing, p)
		r.shard.Pass(p.req, p.answer, p.end)
	case loading:
		r.passing = append(r.passing, p)
	case failed, away, draining, stopped:
		p.done(ErrNotServing)
	}
}

// end is called as the release of the shard's answer.
func (p *passing[Q, R, E]) end(R) {
	p.r.passing = slices.DeleteFunc(p.r.passing, func(o *passing[Q, R, E]) bool { return o == p })
	p.done(nil)
}

// drain lets what is in flight end and then unloads the shard; done is closed
// when that has happened. New requests are refused from now on.
func (r *runner[Q, R, E]) drain(done chan struct{}) {
	if r.state == stopped || r.state == draining && r.shard == nil {
		close(done)
		return
	}
	r.state = draining
	r.drained = append(r.drained, done)
	for _, p := range r.passing {
		p.done(ErrNotServing)
	}
	r.passing = nil
	r.refuseMarks()
	if r.shard != nil {
		r.shard.Drain()
		return
	}
	r.over(nil)
}

// stop ends the runner: it takes nothing any more, and r.gone is closed once it
// is at rest.
func (r *runner[Q, R, E]) stop() {
	r.leave(stopped)
	for _, c := range r.drained {
		close(c)
	}
	r.drained = nil
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
}
