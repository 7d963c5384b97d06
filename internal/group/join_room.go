package group

import (
	"cmp"
	"slices"
)

// hasRoom reports whether group.max.size allows the join. While a rebalance is
// prepared those count that have joined, so that of a group that is over its
// limit the last to join again are refused. An instance id that is known
// counts as the member that it is about to replace.
func (g *Group) hasRoom(r *Join) bool {
	limit := g.cfg.MaxSize
	if limit <= 0 {
		return true
	}
	m := g.claimed(r)
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.join.waits || g.joining.waiting < limit
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < limit
	case Empty, Dead:
	}
	return true
}

// claimed is the member that a JoinGroup names, be it rightly or not.
func (g *Group) claimed(r *Join) *member {
	if r.MemberID == "" && r.InstanceID != nil {
		return g.statics[*r.InstanceID]
	}
	return g.members[r.MemberID]
}

// refuseForSize refuses a join that there is no room for. Whoever asked is no
// member any more.
func (g *Group) refuseForSize(t Ticket, r *Join) {
	gone := MemberRef{ID: r.MemberID, ClientID: r.ClientID, ClientHost: r.ClientHost, Reason: r.Reason}
	if m := g.claimed(r); m != nil {
		gone = m.ref()
		g.evict(m, MemberDropped, CauseGroupFull)
	} else if p := g.pending[r.MemberID]; p != nil {
		g.dropPending(p)
		g.waitEnded(p.ref, OutcomeRefused, p.since)
	}
	g.refuseJoin(t, codeGroupMaxSizeReached, "")
	e := g.emit(MemberRefused)
	e.Cause, e.Member, e.Code = CauseGroupFull, gone, codeGroupMaxSizeReached
	g.completeIfAllJoined(gone)
}

// offersUsable reports whether the group can use what a JoinGroup offers: one
// protocol at least that all members have, counting the caller's own old list.
func (g *Group) offersUsable(r *Join) bool {
	if g.state == Empty {
		return r.ProtocolType != "" && len(r.Protocols) > 0
	}
	if r.ProtocolType != g.protocolType {
		return false
	}
	for i := range r.Protocols {
		if g.supports.of(r.Protocols[i].Name) == len(g.members) {
			return true
		}
	}
	return false
}

// vote picks the protocol of the generation: each member votes for the first
// on its list that all members have. On a tie the leader's preference decides.
func (g *Group) vote() string {
	all := len(g.members)
	votes := make(map[string]int)
	for _, m := range g.order {
		for i := range m.protocols {
			if name := m.protocols[i].Name; g.supports.of(name) == all {
				votes[name]++
				break
			}
		}
	}
	best, most := "", 0
	for i := range g.leader.protocols {
		if name := g.leader.protocols[i].Name; votes[name] > most {
			best, most = name, votes[name]
		}
	}
	return best
}

// create records that the group exists from now on, though nobody is in it.
func (g *Group) create() {
	g.since = g.now.Wall
	g.appendGroup(g.snapshot(g.since, nil))
	g.emit(GroupCreated)
}

// dropPending forgets an id that was handed out.
func (g *Group) dropPending(p *pendingJoin) {
	g.leases.drop(&p.lease)
	delete(g.pending, p.ref.ID)
	if len(g.pending) == 0 {
		g.pending = nil // most groups never need it again
	}
}

// pendingInOrder lists the ids that were handed out, the oldest first.
func (g *Group) pendingInOrder() []*pendingJoin {
	list := make([]*pendingJoin, 0, len(g.pending))
	for _, p := range g.pending {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *pendingJoin) int { return cmp.Compare(a.lease.seq, b.lease.seq) })
	return list
}
