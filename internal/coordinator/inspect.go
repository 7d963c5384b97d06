package coordinator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/machine"
)

// inspector is what groups are and other machines need not be.
type inspector interface {
	Inspect(overview bool) group.Inspection
}

// Overview inspects every group that exists, without members, by id. The code
// is that of List.
func (c *Coordinator) Overview(ctx context.Context) ([]group.Inspection, machine.Code, error) {
	parts := make([][]group.Inspection, len(c.runners))
	code, err := c.list(ctx, func(p int32, s *Shard[group.Request, group.Response, group.Event]) {
		for _, e := range s.order {
			if m, ok := e.m.(inspector); ok && e.m.Exists() {
				parts[p] = append(parts[p], m.Inspect(true))
			}
		}
	})
	if code != 0 || err != nil {
		return nil, code, err
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b group.Inspection) int { return cmp.Compare(a.ID, b.ID) })
	return all, 0, nil
}

// Inspect describes one group, and reports false if it does not exist or its
// shard does not serve.
func (c *Coordinator) Inspect(id string) (v group.Inspection, exists bool) {
	r := c.runners[c.PartitionOf(id)]
	exists, _ = r.ask(func(r *runner[group.Request, group.Response, group.Event]) (found bool) {
		if r.state != active {
			return false
		}
		r.guard(func(r *runner[group.Request, group.Response, group.Event]) {
			e, ok := r.shard.machines[id]
			if !ok || !e.m.Exists() {
				return
			}
			if m, ok := e.m.(inspector); ok {
				v, found = m.Inspect(false), true
			}
		})
		return found
	})
	return v, exists
}

// ShardStats is what a shard is doing.
type ShardStats struct {
	Partition int32
	// State is loading, active, failed, away, draining or stopped.
	State string
	Epoch int32
	// Queue is how many inputs wait for the next turn.
	Queue int
	// LoadTook is how long the last load took.
	LoadTook time.Duration
	Load
}

// Stats describes every shard. It waits for the turns under way, not for
// loads.
func (c *shell[Q, R, E]) Stats() []ShardStats {
	all := make([]ShardStats, len(c.runners))
	for i, r := range c.runners {
		st := &all[i]
		st.Partition, st.State = r.p, stopped.String()
		r.mu.Lock()
		st.Queue = len(r.queue)
		r.mu.Unlock()
		_, _ = r.ask(func(r *runner[Q, R, E]) bool { // refused: it has stopped
			st.State, st.Epoch, st.LoadTook = r.state.String(), r.epoch, r.loadTook
			if r.shard != nil && r.state == active {
				st.Load = r.shard.Load()
			}
			return true
		})
	}
	return all
}

var stateNames = [...]string{
	loading: "loading", active: "active", failed: "failed", away: "away", draining: "draining", stopped: "stopped",
}

// String names the state for an operator.
func (s state) String() string { return stateNames[s] }
