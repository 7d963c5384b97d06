package group

import "slices"

// sync runs a SyncGroup. Refusals leave at once: they say nothing that the log
// has to hold, and a member must not lose its session while it waits for one.
func (g *Group) sync(t Ticket, r *Sync) {
	m, code := g.checkSync(r)
	if code != codeNone {
		g.reply(t, DependsNothing, Synced{Code: code})
		return
	}
	g.settleSync(m)
	if g.state == Stable {
		g.answerMember(m, t, DependsGroup, g.synced(m))
		return
	}
	if m.sync.waits {
		g.reply(m.sync.ticket, DependsNothing, Synced{Code: codeNotCoordinator})
	}
	m.sync = parked{waits: true, ticket: t, seq: g.nextSeq()}
	g.extend(m)
	if m == g.leader {
		g.install(m, r.Assignments)
	}
}

// checkSync finds the member that may sync now.
func (g *Group) checkSync(r *Sync) (*member, Code) {
	if r.Version >= 5 && (r.ProtocolType == nil || r.ProtocolName == nil) {
		return nil, codeInconsistentGroupProtocol
	}
	if g.id == "" {
		return nil, codeInvalidGroupID
	}
	m, code := g.identify(r.MemberID, r.InstanceID)
	switch {
	case code == codeUnknownMemberID && g.forgot(r.Generation):
		return nil, codeRebalanceInProgress // the join says that it is no member
	case code != codeNone:
		return nil, code
	case r.Generation != g.generation:
		return nil, g.wrongGeneration(r.Generation)
	case differs(r.ProtocolType, g.protocolType), differs(r.ProtocolName, g.protocolName):
		return nil, codeInconsistentGroupProtocol
	case g.state == PreparingRebalance:
		return nil, codeRebalanceInProgress
	}
	return m, codeNone
}

// differs reports whether a request names something else than what the group
// has. A group without a protocol yet has no opinion.
func differs(asked *string, has string) bool {
	return asked != nil && has != "" && *asked != has
}

// synced is what a member of a stable group is told.
func (g *Group) synced(m *member) Synced {
	protocolType, protocolName := g.names()
	return Synced{ProtocolType: protocolType, ProtocolName: protocolName, Assignment: m.assignment}
}

// startSyncPhase gives the members of a new generation time to sync.
func (g *Group) startSyncPhase() {
	g.syncing = syncPhase{by: g.now.Mono + g.longestRebalanceTimeout(), began: g.now.Mono, missing: len(g.order)}
	for _, m := range g.order {
		m.unsynced = true
	}
}

// settleSync notes that the member has sent its SyncGroup.
func (g *Group) settleSync(m *member) {
	if !m.unsynced {
		return
	}
	m.unsynced = false
	if g.syncing.missing--; g.syncing.missing == 0 {
		g.syncing.by = never
	}
}

// endSyncPhase forgets who owes a SyncGroup.
func (g *Group) endSyncPhase() {
	if g.syncing.missing > 0 {
		for _, m := range g.order {
			m.unsynced = false
		}
	}
	g.syncing = syncPhase{by: never}
}

// syncDeadline removes every member that has not sent its SyncGroup, whatever
// its heartbeats say, and starts a rebalance among the others.
func (g *Group) syncDeadline() {
	g.syncing.by = never
	late := slices.DeleteFunc(slices.Clone(g.order), func(m *member) bool { return !m.unsynced })
	for _, m := range late {
		g.evict(m, MemberDropped, CauseSyncDeadline)
	}
	g.afterLoss(CauseSyncDeadline, late[0].ref())
}

// answerSyncs answers every parked SyncGroup with the member's assignment.
func (g *Group) answerSyncs() {
	for _, m := range g.order {
		if m.sync.waits {
			g.answerSync(m, g.synced(m))
		}
	}
}

// refuseSyncs answers every parked SyncGroup with an error and wipes the
// assignments of a generation that will not become stable.
func (g *Group) refuseSyncs(c Code) {
	for _, m := range g.order {
		m.assignment = nil
		if m.sync.waits {
			g.answerSync(m, Synced{Code: c})
		}
	}
}

// answerSync answers a parked SyncGroup. The member's session starts anew.
func (g *Group) answerSync(m *member, answer Synced) {
	t := m.sync.ticket
	m.sync = parked{}
	g.answerMember(m, t, DependsGroup, answer)
}
