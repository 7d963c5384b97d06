package sim

import (
	"maps"
	"slices"
	"time"

	"rota/internal/client"
	"rota/internal/group"
)

// What rota/member promises of ownership: no two members own a partition at the
// same time. A member owns what it has been assigned until it is told to give
// it up, its generation is lost, or its lease ends, whichever is first; a
// process that stands still is one whose context ends when the lease does.

// ownership is what a member owns, as rota/member keeps it.
type ownership struct {
	lease client.Lease
	owns  map[client.Partition]bool
	// prepared: a rebalance has begun, and has not been completed.
	prepared bool
}

func newOwnership(c *client.Config, trusting bool) ownership {
	o := ownership{lease: client.Lease{Session: c.SessionTimeout, Rebalance: c.PollInterval}, owns: map[client.Partition]bool{}}
	if trusting {
		o.lease.Session, o.lease.Rebalance = time.Hour, time.Hour
	}
	return o
}

// live reports whether the actor owns a partition at this moment.
func (a *actor) live(p client.Partition, now time.Duration) bool {
	return a.role == member && !a.gone && !a.dead && a.ownership.owns[p] && now < a.ownership.lease.Until()
}

// checkGivenUp checks that a member that has been given up owns nothing any
// more: what it had may be another's at once.
func (w *World) checkGivenUp(g int, e *group.Event) {
	if !w.o.owners {
		return
	}
	for _, a := range w.actors {
		if a.group != g || a.role != member || a.m.Generation().MemberID != e.Member.ID {
			continue
		}
		w.count("given up")
		for _, p := range slices.SortedFunc(maps.Keys(a.ownership.owns), client.Partition.Compare) {
			if a.live(p, w.mono) {
				w.fail("ownership", "%s owns %v of group %d for another %s, and is given up: %s", a.name, p, g, a.ownership.lease.Until()-w.mono, e.Cause)
			}
		}
	}
}

// checkLease gives up what is owned when the lease has ended.
func (a *actor) checkLease(w *World) {
	if o := &a.ownership; w.o.owners && len(o.owns) > 0 && w.mono >= o.lease.Until() {
		w.count("lease ended")
		clear(o.owns)
		a.m.Lose(w.mono, "coordinator was out of reach")
	}
}

// noticed ends what is owned as soon as the generation is lost: whoever has it
// next may begin at once.
func (a *actor) noticed(list []client.Notice) {
	if slices.Contains(list, client.NoticeReset) {
		clear(a.ownership.owns)
	}
}

// own follows a callback, and checks that what is given is nobody else's, and
// that a rebalance begins and ends once, however many requests it takes.
func (a *actor) own(w *World, c *client.Call) {
	o := &a.ownership
	if c.Kind != client.Assigned {
		o.prepared = o.prepared || !a.m.Leaving()
		for _, p := range c.Partitions {
			delete(o.owns, p)
		}
		return
	}
	if w.mono >= o.lease.Until() {
		w.count("assigned too late")
		clear(o.owns)
		a.m.Lose(w.mono, "coordinator was out of reach")
		return
	}
	if a.m.Generation().ID == -1 {
		return // lost while the rebalance ended
	}
	if !o.prepared {
		w.fail("callbacks", "%s completes a rebalance that has not begun", a.name)
	}
	o.prepared = false
	for _, p := range c.Partitions {
		for _, other := range w.actors {
			if other != a && other.group == a.group && other.live(p, w.mono) {
				w.fail("ownership", "%s is given %v of group %d, which %s owns for another %s",
					a.name, p, a.group, other.name, other.ownership.lease.Until()-w.mono)
			}
		}
		if o.owns[p] {
			w.fail("callbacks", "%s is given %v, which it owns", a.name, p)
		}
		o.owns[p] = true
		w.count("ownership")
	}
}
