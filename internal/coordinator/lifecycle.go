package coordinator

import (
	"context"
	"errors"
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
)

// ErrNotServing says that the shard does not serve: its load has failed, it is led
// elsewhere, or the coordinator stops.
var ErrNotServing = errors.New("shard is not served here")

// lead makes the runner load its shard under a leader epoch and reports
// whether it does: an epoch that is not newer than the one it knows is an
// order that came twice, or late.
func (r *runner) lead(epoch int32) bool {
	if epoch <= r.epoch || r.state == draining || r.state == stopped {
		return false
	}
	r.epoch, r.state = epoch, loading
	r.unload()
	return true
}

// resign makes the runner drop its shard because another leader has the newer
// epoch, and reports whether it does.
func (r *runner) resign(epoch int32) bool {
	if epoch <= r.epoch || r.state == draining || r.state == stopped {
		return false
	}
	r.epoch = epoch
	r.leave(away)
	return true
}

// leave ends the shard, if there is one, and what waits for it.
func (r *runner) leave(to state) {
	r.state = to
	r.unload()
	for _, f := range r.forgets {
		f.done(ErrNotServing)
	}
	r.forgets = nil
}

// loadResult is what a load has come to.
type loadResult struct {
	epoch  int32
	shard  *Shard
	log    partitionLog
	writer partitionWriter
	next   group.Offset
	err    error
	panic  *panicked
}

// load reads the shard of a leader epoch and hands it to the runner. It runs on
// a goroutine of its own.
func (r *runner) load(ctx context.Context, epoch int32, quarantined map[string]bool) {
	for {
		res := loadResult{epoch: epoch}
		settings := r.c.settings.Load()
		res.shard = NewShard(ShardConfig{
			Group: settings.group, ExpireInterval: settings.expireInterval,
			Epoch: epoch, Quarantined: quarantined, New: r.c.newMachine,
		})
		res.panic = protect(func() {
			if res.log, res.err = r.c.open(r.p); res.err == nil {
				res.writer = res.log.Writer(epoch)
				res.next, res.err = replayLog(ctx, res.log, res.shard)
			}
		})
		if errors.Is(res.err, storage.ErrOffsetOutOfRange) {
			continue // the log start has moved under the reader
		}
		if ctx.Err() == nil {
			r.put(input{control: func(r *runner) { r.loaded(&res) }})
		}
		return
	}
}

// loaded takes over what a load has come to.
func (r *runner) loaded(res *loadResult) {
	if r.state != loading || res.epoch != r.epoch {
		return // overtaken by a later order
	}
	if res.panic != nil {
		r.troubled(res.shard, res.panic)
		if r.trouble.stray <= strayLimit {
			r.reload()
			return
		}
		res.err = errCrashed
	}
	defer r.loadedOnce()
	if res.err != nil {
		r.c.config.Log.Error("groups cannot be loaded, their requests are refused until the partition is loaded again",
			"partition", r.p, "epoch", res.epoch, "err", res.err)
		r.leave(failed)
		return
	}
	for kind, n := range res.shard.Skipped() {
		r.c.config.Log.Warn("records of an unknown type were skipped", "partition", r.p, "type", kind, "records", n)
	}
	r.state, r.shard, r.log, r.writer = active, res.shard, res.log, res.writer
	settings := r.c.settings.Load()
	r.shard.SetConfig(settings.group, settings.expireInterval)
	r.begin()
	r.shard.Activate(res.next)
	for _, f := range r.forgets {
		r.shard.ForgetTopic(f.req, f.end)
	}
}

func (r *runner) loadedOnce() {
	if !r.first {
		r.first = true
		r.c.loadedOne()
	}
}

// over sees to a shard that has ended. If nobody wanted that, its groups are
// loaded again under a new leader epoch.
func (r *runner) over(why error) {
	r.shard, r.writer = nil, nil
	switch r.state {
	case active:
		r.c.config.Log.Error("groups are loaded again", "partition", r.p, "epoch", r.epoch, "err", why)
		r.state = loading
		if r.trouble.stray > strayLimit {
			r.leave(failed)
			return
		}
		r.reload()
	case draining:
		for _, c := range r.drained {
			close(c)
		}
		r.drained = nil
	case loading, failed, away, stopped:
	}
}

// reload takes the next leader epoch and loads the shard, on a goroutine.
func (r *runner) reload() {
	old, quarantined := r.epoch, r.trouble.quarantined
	r.c.background(func(ctx context.Context) {
		epoch, err := r.c.takeEpoch(ctx)
		if err != nil {
			return
		}
		if leads, err := r.ask(func(r *runner) bool { return r.epoch == old && r.lead(epoch) }); err == nil && leads {
			r.load(ctx, epoch, quarantined)
		}
	})
}

// Pauses between attempts to take a leader epoch.
const (
	epochPause    = 100 * time.Millisecond
	epochPauseMax = 5 * time.Second
)

// takeEpoch takes the next leader epoch. It tries until it gets one or ctx ends.
func (c *Coordinator) takeEpoch(ctx context.Context) (int32, error) {
	pause := epochPause
	for {
		epoch, err := c.config.NextEpoch()
		if err == nil || ctx.Err() != nil {
			return epoch, err
		}
		c.config.Log.Error("no leader epoch", "err", err, "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
		pause = min(2*pause, epochPauseMax)
	}
}

// forget is a topic whose offsets go.
type forget struct {
	req  group.ForgetTopic
	done func(error)
	r    *runner
}

// forget begins to remove a topic's offsets. A shard that is loading, or ends
// before it is done, begins again when it is loaded.
func (r *runner) forget(f *forget) {
	switch r.state {
	case active:
		r.forgets = append(r.forgets, f)
		r.shard.ForgetTopic(f.req, f.end)
	case loading:
		r.forgets = append(r.forgets, f)
	case failed, away, draining, stopped:
		f.done(ErrNotServing)
	}
}

// end is called as the release of the shard's answer.
func (f *forget) end(group.Response) {
	f.r.forgets = slices.DeleteFunc(f.r.forgets, func(o *forget) bool { return o == f })
	f.done(nil)
}

// drain lets what is in flight end and then unloads the shard; done is closed
// when that has happened. New requests are refused from now on.
func (r *runner) drain(done chan struct{}) {
	if r.state == stopped || r.state == draining && r.shard == nil {
		close(done)
		return
	}
	r.state = draining
	r.drained = append(r.drained, done)
	for _, f := range r.forgets {
		f.done(ErrNotServing)
	}
	r.forgets = nil
	if r.shard != nil {
		r.shard.Drain()
		return
	}
	r.over(nil)
}

// stop ends the runner: it takes nothing any more, and r.gone is closed once it
// is at rest.
func (r *runner) stop() {
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
