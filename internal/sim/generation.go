package sim

import (
	"maps"
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
)

// What must hold of generations: who is in one, what its members are told, and
// how long it takes to begin.

// checkGeneration checks that what is taken of a member is of the generation
// that the group is in.
func (w *World) checkGeneration(c *call, generation int32) {
	g := w.groups[c.group]
	if generation != g.current {
		w.fail("generation", "%T of generation %d is taken, group %d is in %d", c.req, generation, c.group, g.current)
	}
	// Whoever has not synced in time is out, however alive. A broker that has
	// been late, or has been loaded since, gives more time.
	gen := g.gens[generation]
	if gen == nil || gen.life != c.life || gen.forgiven != w.forgiven || gen.synced[g.canon(c.member)] {
		return
	}
	const slack = 600 * time.Millisecond
	if late := w.mono - gen.began; late > longestRebalance+slack && !g.preparing {
		w.fail("sync deadline", "member %s of group %d has not synced for %s", c.member, c.group, late)
	}
}

// longestRebalance is the longest rebalance timeout of any actor.
const longestRebalance = 28 * time.Second

// follow notes what an event says of the group's state, and checks what must
// hold when it happens.
func (g *groupState) follow(p *probe, e *group.Event, fx *group.Effects) {
	w := p.w
	if e.Kind == group.MemberDropped || e.Kind == group.MemberExpired {
		w.checkGivenUp(p.g, e)
	}
	switch e.Kind { //nolint:exhaustive // other events change nothing of this
	case group.RebalanceStarted:
		if !g.preparing {
			g.started, g.fromEmpty = w.mono, !g.active
		}
		g.preparing, g.completing, g.active = true, false, true
	case group.JoinCompleted:
		if g.fromEmpty && w.mono-g.started < w.o.group.InitialDelay {
			w.fail("initial delay", "group %d has its first generation after %s", p.g, w.mono-g.started)
		}
		g.current, g.preparing, g.completing = e.Generation, false, e.Count > 0
		if e.Count > 0 {
			g.begin(e.Generation, p)
			w.checkLeader(p, fx)
		}
	case group.AssignmentInstalled:
		g.completing = false
	case group.GroupDeleted: // another of its name begins anew
		g.current, g.preparing, g.completing, g.active = 0, false, false, false
	case group.GroupEmptied:
		g.active = false
		if v := p.l.shard.disk.index.groups[p.g].value; v == nil || v.Generation != e.Generation || len(v.Members) > 0 {
			w.fail("record", "group %d has become empty in generation %d, and that is not recorded", p.g, e.Generation)
		}
	case group.MemberDropped:
		if e.Cause == group.CauseJoinDeadline && e.Member.InstanceID != "" {
			w.fail("join deadline", "static member %s of group %d is dropped", e.Member.ID, p.g)
		}
	case group.MemberExpired:
		if e.Cause == group.CauseSessionExpired {
			w.checkExpiry(p, e.Member.ID)
		} else if l := g.members[e.Member.ID]; l != nil && w.mono-l.since < w.o.group.NewMemberTimeout {
			w.fail("expiry", "new member %s of group %d is given up after %s", e.Member.ID, p.g, w.mono-l.since)
		}
	}
}

// noteSync notes that a member has asked for its assignment.
func (w *World) noteSync(c *call) {
	s, ok := c.req.(group.Sync)
	if !ok || c.replied && !c.good {
		return
	}
	g := w.groups[c.group]
	if gen := g.gens[s.Generation]; gen != nil {
		gen.synced[g.canon(s.MemberID)] = true
	}
}

// checkLeader checks that the leader of a new generation is one of those that
// have come for it.
func (w *World) checkLeader(p *probe, fx *group.Effects) {
	leader, there := "", false
	for i := range fx.Replies {
		if j, ok := fx.Replies[i].Body.(group.Joined); ok && j.Code == 0 {
			leader = j.Leader
		}
	}
	for i := range fx.Replies {
		j, ok := fx.Replies[i].Body.(group.Joined)
		there = there || ok && j.Code == 0 && j.MemberID == leader && len(j.Members) > 0
	}
	if !there {
		w.fail("leader", "%q leads group %d and is not told so", leader, p.g)
	}
}

// told checks what a member is told of its generation.
func (w *World) told(c *call, b *group.Joined) {
	g := w.groups[c.group]
	gen := c.gen
	if gen == nil {
		w.fail("generation", "member %s of group %d is told generation %d, which has not begun", b.MemberID, c.group, b.Generation)
		return
	}
	for _, other := range g.all[b.Generation] {
		if other != gen && other.ids[b.MemberID] {
			w.fail("generation", "member %s of group %d is told generation %d for two member sets", b.MemberID, c.group, b.Generation)
		}
	}
	gen.ids[b.MemberID] = true
	leader := g.canon(b.Leader)
	if !gen.told {
		gen.told, gen.leader, gen.name = true, leader, *b.ProtocolName
	}
	if gen.leader != leader || gen.name != *b.ProtocolName {
		w.fail("generation", "generation %d of group %d: some are told %s leads by %s, %s that %s does by %s",
			b.Generation, c.group, gen.leader, gen.name, b.MemberID, leader, *b.ProtocolName)
	}
	if len(b.Members) > 0 {
		list := make([]string, len(b.Members))
		for i := range b.Members {
			list[i] = g.canon(b.Members[i].MemberID)
		}
		slices.Sort(list)
		if gen.members != nil && !slices.Equal(gen.members, list) {
			w.fail("generation", "generation %d of group %d has members %v and %v", b.Generation, c.group, gen.members, list)
		}
		gen.members = list
		for _, id := range slices.Sorted(maps.Keys(gen.ids)) {
			w.checkListed(c, g, gen, id)
		}
	}
	w.checkListed(c, g, gen, b.MemberID)
}

func (w *World) checkListed(c *call, g *groupState, gen *generation, id string) {
	if gen.members != nil && !slices.Contains(gen.members, g.canon(id)) {
		w.fail("generation", "%s is told generation %d of group %d, whose members are %v", id, gen.number, c.group, gen.members)
	}
}

// assigned checks that no partition has two owners in a generation.
func (w *World) assigned(c *call, b *group.Synced) {
	r, _ := c.req.(group.Sync)
	g := w.groups[c.group]
	gen := c.gen
	if gen == nil {
		w.fail("generation", "member %s of group %d gets an assignment of generation %d, which has not begun", r.MemberID, c.group, r.Generation)
		return
	}
	if len(b.Assignment) == 0 {
		return
	}
	plan, err := schema.ParseAssignment(b.Assignment)
	if err != nil {
		w.fail("plan", "member %s gets an assignment that cannot be read: %v", r.MemberID, err)
		return
	}
	me := g.canon(r.MemberID)
	for _, t := range plan.Partitions {
		for _, n := range t.Partitions {
			at := partOf(t.Topic, n)
			if owner, ok := gen.owners[at]; ok && owner != me {
				w.fail("two owners", "%s-%d has two owners in generation %d of group %d: %s and %s", t.Topic, n, r.Generation, c.group, owner, me)
			}
			gen.owners[at] = me
		}
	}
}
