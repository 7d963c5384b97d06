package member

import (
	"context"
	"slices"
	"sync"

	"rota/internal/client/assignor"
)

// ownerships are the shards that the member owns, with their contexts.
type ownerships struct {
	mu      sync.Mutex
	held    map[Shard]*holding
	runs    map[Shard]chan struct{} // Run functions, each closed when it returns
	running sync.WaitGroup          // the same
}

// holding is one shard that is owned.
type holding struct {
	Ownership
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// grant makes the member the owner of a shard.
func (o *ownerships) grant(w Ownership) *holding {
	h := &holding{Ownership: w}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		o.held = map[Shard]*holding{}
	}
	o.held[w.Shard] = h
	return h
}

// end cancels the contexts of shards.
func (o *ownerships) end(list []assignor.Partition, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range list {
		if h, ok := o.held[Shard(p)]; ok {
			delete(o.held, h.Shard)
			h.cancel(why)
		}
	}
}

// endAll cancels every context.
func (o *ownerships) endAll(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s, h := range o.held {
		h.cancel(why)
		delete(o.held, s)
	}
}

func (o *ownerships) none() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.held) == 0
}

// run starts the program's function for a shard, unless it is lost already.
func (o *ownerships) run(h *holding, f func(context.Context, Ownership)) {
	if h.ctx.Err() != nil {
		return
	}
	returned := make(chan struct{})
	o.mu.Lock()
	if o.runs == nil {
		o.runs = map[Shard]chan struct{}{}
	}
	o.runs[h.Shard] = returned
	o.mu.Unlock()
	o.running.Go(func() {
		defer close(returned)
		f(h.ctx, h.Ownership)
	})
}

// wait waits until no function runs for any of the shards.
func (o *ownerships) wait(list []assignor.Partition) {
	for _, p := range list {
		o.mu.Lock()
		returned := o.runs[Shard(p)]
		delete(o.runs, Shard(p))
		o.mu.Unlock()
		if returned != nil {
			<-returned
		}
	}
}

func (o *ownerships) list() []Ownership {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Ownership, 0, len(o.held))
	for _, h := range o.held {
		out = append(out, h.Ownership)
	}
	slices.SortFunc(out, func(a, b Ownership) int {
		return assignor.Partition(a.Shard).Compare(assignor.Partition(b.Shard))
	})
	return out
}

// Owned lists what the member owns now, by shard.
func (m *Member) Owned() []Ownership { return m.owned.list() }

// Context returns the context that lasts as long as the member owns the shard,
// with its fencing token; false if it does not own it.
func (m *Member) Context(s Shard) (context.Context, Ownership, bool) {
	m.owned.mu.Lock()
	defer m.owned.mu.Unlock()
	h, ok := m.owned.held[s]
	if !ok {
		return nil, Ownership{}, false
	}
	return h.ctx, h.Ownership, true
}
