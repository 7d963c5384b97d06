package sim

import (
	"math"
	"time"

	"rota/internal/group"
)

// options is the lie of the land, which the seed draws.
type options struct {
	shards, groups, actors int
	group                  group.Config
	expireInterval         time.Duration
	// pipeline is how many requests of a connection the broker works on.
	pipeline int
	// chaos is how often something goes wrong: a fault each so many events.
	chaos int
	// eager is how often the log is given time, against everything else.
	landing int
	// checks is how many steps pass between two searches of the groups' own
	// invariants.
	checks int
	// history: the run is recorded for a check of linearizability, and nothing
	// removes offsets behind its back.
	history bool
	// owners: everybody is a member as rota/member is one, and ownership is
	// checked. Nobody takes a member's place or throws it out, as two processes
	// with one instance id and operators do.
	owners, trusting, hasty bool
	// session and rebalance are the timeouts of owners, if they all have the same:
	// either may be the first to run out.
	session, rebalance time.Duration
	// flows: at times everything gets through at once that nothing holds up.
	flows bool
}

func drawOptions(r *random, with setup) options {
	history := with.history
	o := options{
		shards: 1 + r.below(3), groups: 1 + r.below(3), actors: 4 + r.below(6), pipeline: pick(r, 1, 1, 2, 8),
		chaos: pick(r, 12, 25, 60, 400), landing: pick(r, 1, 3, 6), history: history, owners: with.owners, trusting: with.trusting, hasty: with.hasty,
		expireInterval: pick(r, time.Second, 20*time.Second, time.Minute), checks: pick(r, 8, 32, 128),
	}
	c := group.DefaultConfig()
	c.InitialDelay = pick(r, 0, 250*time.Millisecond, 3*time.Second)
	c.NewMemberTimeout = pick(r, 15*time.Second, time.Minute)
	c.OffsetsRetention = pick(r, time.Minute, 5*time.Minute, time.Hour)
	c.MaxSize = pick(r, math.MaxInt32, math.MaxInt32, math.MaxInt32, 2, 4)
	c.MaxRecordBytes = pick(r, 16<<20, 16<<20, 16<<20, 16<<20, 450)
	if history {
		c.OffsetsRetention, c.MaxRecordBytes = 1000*time.Hour, 16<<20
		o.groups, o.actors, o.chaos = 1, 5, 20
	}
	if with.owners {
		c.MaxSize = math.MaxInt32 // a group that is full throws out members that come back late
		o.groups, o.shards, o.actors, o.flows = 1, 1, 2+r.below(4), !r.oneIn(3)
		o.chaos = pick(r, 8, 16, 60)
		o.session = pick(r, 0, 10*time.Second, 30*time.Second)
		o.rebalance = pick(r, 6*time.Second, 15*time.Second)
	}
	o.group = c
	return o
}
