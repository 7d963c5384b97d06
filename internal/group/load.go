package group

import (
	"cmp"
	"math"
	"slices"
)

// epochStride is how far the generations of two leader epochs are apart.
// Nothing is written when a generation is handed out, so a restart must assume
// that some were.
const epochStride = 1000

// Loaded ends a replay: every member gets a full session, a group over its
// size limit, or one that a member has left since its last assignment, starts a
// rebalance, and epoch (this shard's leader epoch) sets the generation numbers
// apart from those of earlier epochs.
func (g *Group) Loaded(now Now, at Offset, epoch int32) Effects {
	g.begin(now, at)
	if g.log.holdsAny() {
		g.load(epoch)
	}
	return g.finish()
}

// load makes the group what its last record says: Stable, or Empty without
// members. Rebalances that were under way are forgotten, unless a member has
// left: what it had would be nobody's.
func (g *Group) load(epoch int32) {
	v := g.log.group
	if v == nil { // offsets only; every generation it ever had was unrecorded
		g.skipTo = generationAfter(0, int64(epoch))
		g.forgotten = [2]int32{0, g.skipTo}
		g.emit(GroupLoaded).Cause = CauseMoved
		return
	}
	g.generation, g.protocolType, g.since = v.Generation, v.ProtocolType, v.StateTimestamp
	g.skipTo = generationAfter(v.Generation, int64(epoch)-int64(g.log.epoch))
	g.forgotten = [2]int32{v.Generation, g.skipTo}
	if v.Protocol != nil && len(v.Members) > 0 {
		g.protocolName = *v.Protocol
	}
	for i := range v.Members {
		r := &v.Members[i]
		if g.members[r.ID] != nil || r.InstanceID != nil && g.statics[*r.InstanceID] != nil {
			continue // no group has written such a record
		}
		m := &member{
			id: r.ID, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
			sessionTimeout: max(fromMillis(r.SessionTimeout), 0), rebalanceTimeout: fromMillis(r.RebalanceTimeout),
			protocols:  []Protocol{{Name: g.protocolName, Metadata: r.Subscription}},
			assignment: r.Assignment, order: g.nextSeq(),
		}
		if m.rebalanceTimeout <= 0 {
			m.rebalanceTimeout = m.sessionTimeout
		}
		g.insert(m)
		g.extend(m)
	}
	if v.Leader != nil && g.members[*v.Leader] != nil {
		g.leader = g.members[*v.Leader]
	}
	g.subscribed = g.subscriptions()
	if len(g.members) > 0 {
		g.installed = v
		g.state = Stable
	}
	e := g.emit(GroupLoaded)
	e.Cause, e.Count = CauseMoved, len(g.members)
	switch {
	case g.cfg.MaxSize > 0 && len(g.members) > g.cfg.MaxSize:
		g.prepareRebalance(&reason{cause: CauseGroupFull})
	case owesRebalance(v):
		g.prepareRebalance(&reason{cause: CauseMemberLeft})
	}
}

// generationAfter is the first generation of an epoch that is so many epochs
// later than that in which the given one was recorded; 0 means the next.
func generationAfter(recorded int32, epochs int64) int32 {
	if epochs <= 0 {
		return 0
	}
	next := int64(recorded) + epochStride*epochs
	if next <= 0 || next > math.MaxInt32 {
		return 1
	}
	return int32(next)
}

// forgot reports whether a generation was handed out before the load and never
// recorded. Nobody has an assignment of it.
func (g *Group) forgot(generation int32) bool {
	return generation != g.generation && generation > g.forgotten[0] && generation < g.forgotten[1]
}

// wrongGeneration refuses a request of a member for another generation than the
// present one. One that a load has forgotten stands for a rebalance that has
// been cut off: its members are told to join again, not that they have lost
// what they have from the generation before.
func (g *Group) wrongGeneration(generation int32) Code {
	if g.forgot(generation) {
		return codeRebalanceInProgress
	}
	return codeIllegalGeneration
}

// Unload ends the group's life on this shard: every parked request is answered
// with NOT_COORDINATOR. The Group must not be used after it.
func (g *Group) Unload(now Now) Effects {
	g.begin(now, 0)
	if g.Exists() {
		e := g.emit(GroupUnloaded)
		e.Cause, e.Count = CauseMoved, len(g.members)
	}
	requests := g.parked()
	g.out.Replies = make([]Reply, 0, len(requests))
	for _, p := range requests {
		g.reply(p.ticket, DependsNothing, p.refusal(codeNotCoordinator))
	}
	out := g.out
	*g = Group{id: g.id, cfg: g.cfg, state: Dead, joining: joinPhase{by: never}, syncing: syncPhase{by: never}}
	return out
}

// parkedRequest is a parked request and whose it is.
type parkedRequest struct {
	parked
	member *member
	joins  bool
}

func (p *parkedRequest) refusal(c Code) Response {
	if p.joins {
		return refusal(c, p.member.id)
	}
	return Synced{Code: c}
}

// parked lists the parked requests in the order of arrival.
func (g *Group) parked() []parkedRequest {
	var list []parkedRequest
	for _, m := range g.order {
		if m.join.waits {
			list = append(list, parkedRequest{m.join, m, true})
		}
		if m.sync.waits {
			list = append(list, parkedRequest{m.sync, m, false})
		}
	}
	slices.SortFunc(list, func(a, b parkedRequest) int { return cmp.Compare(a.seq, b.seq) })
	return list
}
