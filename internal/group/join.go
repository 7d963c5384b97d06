package group

import "rota/internal/schema"

// join runs a JoinGroup. The order of the checks is the protocol's: what a
// client is told first decides what it does next.
func (g *Group) join(t Ticket, r *Join) {
	exists := g.Exists()
	switch {
	case g.id == "", len(g.id) > schema.MaxString:
		g.refuseJoin(t, codeInvalidGroupID, r.MemberID)
	case r.SessionTimeout < g.cfg.MinSessionTimeout || r.SessionTimeout > g.cfg.MaxSessionTimeout:
		g.refuseJoin(t, codeInvalidSessionTimeout, r.MemberID)
	case !exists && r.MemberID != "":
		g.refuseJoin(t, codeUnknownMemberID, r.MemberID)
	case !recordable(r):
		g.refuseJoin(t, codeUnknownServerError, r.MemberID)
	case !g.hasRoom(r):
		g.refuseForSize(t, r)
	case !g.offersUsable(r):
		g.refuseJoin(t, codeInconsistentGroupProtocol, r.MemberID)
	default:
		if !exists {
			g.create()
		}
		g.enter(t, r)
	}
}

// recordable reports whether the strings of a join fit into a group record.
// The newer versions of JoinGroup can carry longer ones.
func recordable(r *Join) bool {
	longest := max(len(r.NewMemberID), len(r.ClientID), len(r.ClientHost), len(r.ProtocolType))
	if r.InstanceID != nil {
		longest = max(longest, len(*r.InstanceID))
	}
	for i := range r.Protocols {
		longest = max(longest, len(r.Protocols[i].Name))
	}
	return longest <= schema.MaxString
}

// enter runs a JoinGroup that the group as such has no objection to.
func (g *Group) enter(t Ticket, r *Join) {
	if r.MemberID != "" {
		g.enterAgain(t, r)
		return
	}
	if r.NewMemberID == "" || g.members[r.NewMemberID] != nil || g.pending[r.NewMemberID] != nil {
		panic("group: a join needs a member id that is not in use")
	}
	switch {
	case r.InstanceID != nil && g.statics[*r.InstanceID] != nil:
		g.replace(t, r, g.statics[*r.InstanceID])
	case r.InstanceID != nil, r.Version < 4:
		g.admit(t, r, r.NewMemberID)
	default:
		g.requireMemberID(t, r)
	}
}

// enterAgain runs a JoinGroup with a member id.
func (g *Group) enterAgain(t Ticket, r *Join) {
	if g.pending[r.MemberID] != nil {
		if r.InstanceID != nil { // a static member never gets an id to come back with
			g.refuseJoin(t, codeUnknownServerError, r.MemberID)
			return
		}
		g.admit(t, r, r.MemberID)
		return
	}
	m, code := g.identify(r.MemberID, r.InstanceID)
	if code != codeNone {
		g.refuseJoin(t, code, r.MemberID)
		return
	}
	same, before := m.offersSame(r.Protocols), m.protocols
	switch g.state {
	case PreparingRebalance:
		if !m.join.waits {
			g.waitEnded(refOf(m, r), OutcomeJoined, 0)
		}
		g.rejoin(t, r, m)
		g.completeIfAllJoined(m.ref())
	case CompletingRebalance, Stable:
		if same && (g.state == CompletingRebalance || m != g.leader) {
			g.reply(t, DependsStep, g.joined(m))
			return
		}
		why := reason{cause: CauseLeaderRejoined}
		if !same {
			why = reason{cause: CauseProtocolsChanged, before: before, after: r.Protocols, leader: m == g.leader && g.state == Stable}
		}
		g.rejoin(t, r, m)
		why.member = m.ref()
		g.prepareRebalance(&why)
	case Empty, Dead:
		panic("group: a member in state " + g.state.String())
	}
}

// requireMemberID hands out a member id to come back with (KIP-394), so that a
// client that has given up does not leave a member behind. The id lives as
// long as a session.
func (g *Group) requireMemberID(t Ticket, r *Join) {
	p := &pendingJoin{ref: MemberRef{ID: r.NewMemberID, ClientID: r.ClientID, ClientHost: r.ClientHost, Reason: r.Reason}, since: g.now.Mono}
	p.lease.pending = p
	p.lease.seq = g.nextSeq()
	if g.pending == nil {
		g.pending = make(map[string]*pendingJoin)
	}
	g.pending[r.NewMemberID] = p
	g.leases.add(&p.lease, g.now.Mono+r.SessionTimeout)
	g.refuseJoin(t, codeMemberIDRequired, r.NewMemberID)
}

// admit adds a member under the given id.
func (g *Group) admit(t Ticket, r *Join, id string) {
	if p := g.pending[id]; p != nil {
		g.dropPending(p)
		g.waitEnded(p.ref, OutcomeJoined, p.since)
	}
	if g.state == PreparingRebalance && g.joining.initial {
		g.joining.newcomer = true
	}
	if len(g.members) == 0 {
		g.protocolType = r.ProtocolType
	}
	m := &member{
		id: id, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		isNew: true, order: g.nextSeq(),
	}
	m.take(r)
	g.insert(m)
	g.leases.move(&m.lease, g.now.Mono+g.cfg.NewMemberTimeout)
	g.parkJoin(m, t)
	e := g.emit(MemberJoined)
	e.Member, e.Timeout = m.ref(), m.sessionTimeout
	if g.state.canRebalance() {
		g.prepareRebalance(&reason{cause: CauseMemberJoined, member: m.ref()})
	} else {
		g.completeIfAllJoined(m.ref())
	}
}

// rejoin stores what a known member offers and parks its JoinGroup.
func (g *Group) rejoin(t Ticket, r *Join, m *member) {
	g.update(m, r)
	g.parkJoin(m, t)
	g.emit(MemberRejoined).Member = m.ref()
}

// update stores what a member's JoinGroup says.
func (g *Group) update(m *member, r *Join) {
	g.count(m, -1)
	m.take(r)
	g.count(m, 1)
}

// take copies what a JoinGroup says into a member that is not counted.
func (m *member) take(r *Join) {
	m.protocols, m.sessionTimeout, m.rebalanceTimeout = r.Protocols, r.SessionTimeout, r.RebalanceTimeout
	if m.rebalanceTimeout <= 0 {
		m.rebalanceTimeout = m.sessionTimeout
	}
	m.reason = r.Reason
}

// parkJoin keeps the request until the join phase ends. A request that the
// member has parked before is answered with NOT_COORDINATOR: its client has
// given up on it, but its connection may still wait for an answer.
func (g *Group) parkJoin(m *member, t Ticket) {
	if m.join.waits {
		g.reply(m.join.ticket, DependsNothing, refusal(codeNotCoordinator, m.id))
	} else {
		g.joining.waiting++
	}
	m.join = parked{waits: true, ticket: t, seq: g.nextSeq()}
	g.extend(m)
}

// unparkJoin answers a parked JoinGroup outside the end of the join phase.
func (g *Group) unparkJoin(m *member, answer Joined) {
	t := m.join.ticket
	m.join = parked{}
	g.joining.waiting--
	g.reply(t, DependsStep, answer)
}

// answerJoins answers every parked JoinGroup with the new generation, and
// gives every member a session in full, static ones that did not come back too.
func (g *Group) answerJoins() {
	g.joining = joinPhase{by: never}
	if g.out.Replies == nil {
		g.out.Replies = make([]Reply, 0, len(g.order))
	}
	for _, m := range g.order {
		if m.join.waits {
			g.reply(m.join.ticket, DependsNothing, g.joined(m))
		}
		m.join, m.isNew = parked{}, false
		m.lease.due = never
		if !m.unanswered() {
			m.lease.due = g.now.Mono + m.sessionTimeout
		}
	}
	g.leases.rebuild()
}

// joined is what a member of the present generation is told.
func (g *Group) joined(m *member) Joined {
	protocolType, protocolName := g.names()
	answer := Joined{
		Generation: g.generation, ProtocolType: protocolType, ProtocolName: protocolName,
		Leader: g.leader.id, MemberID: m.id,
	}
	if m == g.leader {
		answer.Members = g.joinedMembers()
	}
	return answer
}

// joinedMembers is the list that the leader gets.
func (g *Group) joinedMembers() []JoinedMember {
	list := make([]JoinedMember, len(g.order))
	for i, m := range g.order {
		list[i] = JoinedMember{MemberID: m.id, InstanceID: m.instanceID, Metadata: m.metadata(g.protocolName)}
	}
	return list
}

// refusal is the answer to a JoinGroup that fails.
func refusal(c Code, memberID string) Joined {
	return Joined{Code: c, Generation: -1, MemberID: memberID}
}

func (g *Group) refuseJoin(t Ticket, c Code, memberID string) {
	g.reply(t, DependsStep, refusal(c, memberID))
}
