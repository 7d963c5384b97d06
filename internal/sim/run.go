package sim

import (
	"fmt"

	"rota/internal/group"
)

// Result is what came of one seed.
type Result struct {
	Seed  uint64
	Steps int
	// Hash is that of the trace: two runs of a seed have the same.
	Hash  uint64
	Stats *Stats
	// Failure is nil if all rules held; Case then plays it.
	Failure *RuleError
	Case    *Case

	past []operation // of the history, if one is recorded
}

// Run plays a seed for so many steps, twice, and compares the two.
func Run(seed uint64, steps int) Result {
	first := once(seed, steps, setup{})
	if first.Failure != nil {
		return first
	}
	second := once(seed, steps, setup{})
	if second.Hash != first.Hash {
		first.Failure = &RuleError{Rule: "not repeatable", Step: steps, Reason: fmt.Sprintf("two runs of seed %d differ: %x and %x", seed, first.Hash, second.Hash)}
	}
	return first
}

// setup is what a test wants otherwise.
type setup struct {
	// history records what clients see of offsets.
	history bool
	// owners checks who owns what, of members only.
	owners bool
	// trusting: leases do not end, to see that they have to.
	trusting bool
	// hasty: an assignment counts as had while its SyncGroup is on its way, to see
	// that it must not.
	hasty bool
	// spoil breaks what groups say, to see that it is noticed.
	spoil func(*group.Effects)
}

// once plays a seed.
func once(seed uint64, steps int, with setup) Result {
	stats := NewStats()
	w, r := newWorld(seed, with, stats)
	c := &Case{Seed: seed, Events: make([]Event, 0, steps), with: with}
	for w.steps < steps && w.failure == nil {
		c.Events = append(c.Events, w.advance(r))
	}
	if w.failure == nil {
		c.Settle = true
		w.settle()
	}
	w.close()
	res := Result{Seed: seed, Steps: w.steps, Hash: w.h, Stats: stats, Failure: w.failure, past: w.past}
	if w.failure != nil {
		res.Case = c
	}
	return res
}

// Play plays a Case. Events that cannot be played are passed over.
func Play(c *Case) Result {
	stats := NewStats()
	w := c.play(stats)
	return Result{Seed: c.Seed, Steps: w.steps, Hash: w.h, Stats: stats, Failure: w.failure, Case: c}
}

func (c *Case) play(stats *Stats) *World {
	w, _ := newWorld(c.Seed, c.with, stats)
	c.playIn(w)
	return w
}

// playIn plays the events in a World that is new.
func (c *Case) playIn(w *World) {
	for _, e := range c.Events {
		if w.failure != nil {
			break
		}
		w.step(e)
	}
	if w.failure == nil && c.Settle {
		w.settle()
	}
	w.close()
}
