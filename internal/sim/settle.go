package sim

import (
	"runtime/debug"
	"slices"
	"time"

	"rota/internal/client"
	"rota/internal/group"
)

// patience is how long a group may take to become Stable once all is well: a
// rebalance that nobody answers, the sessions of those who are gone, and the
// time of new members that are never heard of again, each more than once.
const patience = 10 * time.Minute

// settle ends the faults and lets everybody behave. Every group must become
// Stable, its members agree, and nothing be left over.
func (w *World) settle() {
	defer func() {
		if r := recover(); r != nil {
			w.fail("panic", "%v\n%s", r, site(debug.Stack()))
		}
	}()
	w.calm()
	w.calmed = true
	end, limit := w.mono+patience, w.steps+200_000
	for w.failure == nil {
		if w.exchange() {
			if w.steps > limit {
				w.fail("busy", "no end of requests at %s", w.mono)
			}
			continue
		}
		if w.agreed() {
			break
		}
		next, ok := w.deadline()
		if !ok || next > end {
			w.stuck()
			return
		}
		w.to(max(next, w.mono))
		w.runTimers()
		w.steps++
	}
	for _, sh := range w.shards {
		w.compareReplay(sh)
		if n := sh.life.s.Load(); n.Requests > 0 || n.InFlight > 0 || n.Passes > 0 {
			w.fail("memory", "at the end shard %d holds %+v", sh.number, n)
		}
	}
	w.count("settled")
}

// calm ends everything that disturbs.
func (w *World) calm() {
	w.o.group.MaxSize, w.o.group.MaxRecordBytes = 1<<30, 16<<20
	for _, sh := range w.shards {
		sh.disk.refuse, sh.disk.foreign, sh.disk.full = false, false, false
		if sh.life != nil && sh.drains {
			w.drained(sh)
		}
		if sh.life == nil {
			w.start(sh)
		}
	}
	w.setChecking(false)
	for _, a := range w.actors {
		w.reconnect(a)
		if a.role != member || a.dead {
			continue
		}
		if a.gone {
			a.restart(w)
		}
		a.frozen, a.dawdles, a.throws, a.holds = false, false, false, false
		a.returns(w)
		a.m.Metadata(w.mono, w.topics)
		if !a.m.Closed() {
			a.m.Subscribe(w.mono, a.topics)
		}
		a.tick(w)
	}
}

// reconnect ends what holds up an actor's connections, and those that are lost.
func (w *World) reconnect(a *actor) {
	lost := false
	a.delays = [lanes]delay{}
	for _, c := range a.conns {
		if c != nil {
			lost = lost || c.lost
			for _, x := range c.calls {
				x.takes, x.readAfter, x.deliverAfter = 0, 0, 0
			}
		}
	}
	if lost {
		w.cutOf(a)
		a.disconnected(w)
	}
}

// drained ends a shard that is on its way out.
func (w *World) drained(sh *shard) {
	for sh.life != nil {
		l := sh.life
		if sh.disk.durable == len(sh.disk.batches) {
			w.turn(l, nil)
			continue
		}
		sh.disk.durable++
		w.story.lands(sh)
		w.landed(l, sh.disk.batches[sh.disk.durable-1].seq, 0)
	}
}

// exchange lets everything through that is on its way. It reports whether there
// was anything.
func (w *World) exchange() bool {
	any := false
	for _, sh := range w.shards {
		if sh.life == nil {
			w.start(sh)
			any = true
		}
		for l := sh.life; l != nil && sh.life == l && sh.disk.durable < len(sh.disk.batches); any = true {
			sh.disk.durable++
			w.story.lands(sh)
			w.landed(l, sh.disk.batches[sh.disk.durable-1].seq, 0)
		}
	}
	if w.carry() {
		any = true
		w.steps++
	}
	return any
}

// agreed reports whether every group is as it should be.
func (w *World) agreed() bool {
	for g := range w.groups {
		if !w.groupAgrees(g) {
			return false
		}
	}
	for _, a := range w.actors {
		if a.waits() {
			return false
		}
	}
	for _, sh := range w.shards {
		if sh.life.s.Load().Passes > 0 {
			return false
		}
	}
	return true
}

// groupAgrees reports whether all live members of a group are in one
// generation, the group has no others, and every partition that somebody wants
// is with exactly one. A static member that comes back with another
// subscription, or as a leader that may not plan, changes nothing by that
// (KIP-345, KIP-814): with those in a group some partitions may be left out.
func (w *World) groupAgrees(g int) bool {
	var live []*actor
	for _, a := range w.actors {
		if a.role == member && a.group == g && !a.dead {
			live = append(live, a)
		}
	}
	p := w.shardOf(g).life.probes[w.groups[g].name]
	if len(live) == 0 {
		return p == nil || !p.real.Exists() || p.real.Summary().State == group.Empty.String()
	}
	if p == nil || p.real.Summary().State != group.Stable.String() {
		return false
	}
	want, have := map[client.Partition]bool{}, map[client.Partition]int{}
	generation := live[0].m.Generation().ID
	static := false
	for _, a := range live {
		static = static || a.instance != nil
		if !a.m.Settled() || a.m.Generation().ID != generation {
			return false
		}
		for _, t := range a.topics {
			for n := range w.topics[t] {
				want[client.Partition{Topic: t, Partition: n}] = true
			}
		}
		for _, q := range a.m.Owned() {
			have[q]++
		}
	}
	rec := w.shardOf(g).disk.index.groups[g].value
	if rec == nil || rec.Generation != generation || len(rec.Members) != len(live) {
		return false
	}
	for q, n := range have {
		if n != 1 || !want[q] {
			return false
		}
	}
	return len(have) == len(want) || static
}

// stuck says which group does not come to rest.
func (w *World) stuck() {
	for g, s := range w.groups {
		if w.groupAgrees(g) {
			continue
		}
		text := "does not exist\n"
		if p := w.shardOf(g).life.probes[s.name]; p != nil {
			b, _ := p.real.MarshalText()
			text = string(b)
		}
		for _, a := range w.actors {
			if a.role == member && a.group == g {
				text += a.name + ": "
				if a.dead {
					text += "dead\n"
					continue
				}
				gen := a.m.Generation()
				text += a.m.State().String() + " " + gen.MemberID + " " + itoa(int(gen.ID))
				for _, q := range a.m.Owned() {
					text += " " + q.Topic + itoa(int(q.Partition))
				}
				if a.lastError != nil {
					text += " after " + a.lastError.Error()
				}
				text += "\n"
			}
		}
		w.fail("stuck", "group %s is not stable after %s without faults\n%s", s.name, patience, text)
	}
	if w.failure == nil {
		open := slices.IndexFunc(w.actors, (*actor).waits)
		w.fail("stuck", "%s waits for an answer", w.actors[open].name)
	}
}
