package group

// replace gives the place of a static member to the client that came back
// under its instance id (KIP-345). It has a new member id; the old one is
// fenced from now on. In a stable group whose protocol stays the same nobody
// else notices: the newcomer gets the assignment of the old one (KIP-814).
func (g *Group) replace(t Ticket, r *Join, old *member) {
	waited := !old.join.waits
	g.fence(old)
	oldLeader := g.leader.id
	m := g.successor(old, r)
	e := g.emit(MemberReplaced)
	e.Member, e.Replaced = m.ref(), old.id

	if g.state == Stable && g.vote() == g.protocolName && g.appendGroup(g.snapshot(g.since, assigned)) {
		g.installed = g.log.group
		answer := g.joined(m)
		switch {
		case r.Version < 9:
			// These cannot skip the assignment, so that a leader that came
			// back is told that another one leads.
			answer.Leader, answer.Members = oldLeader, nil
		case m == g.leader:
			answer.SkipAssignment = true
		}
		g.answerMember(m, t, DependsStep, answer)
		return
	}
	g.parkJoin(m, t)
	if g.state.canRebalance() {
		g.prepareRebalance(&reason{cause: CauseStaticReplaced, member: m.ref()})
	} else {
		if waited {
			g.waitEnded(m.ref(), OutcomeJoined, 0)
		}
		g.completeIfAllJoined(m.ref())
	}
}

// fence answers what the old owner of an instance id has parked.
func (g *Group) fence(old *member) {
	if old.join.waits {
		g.unparkJoin(old, refusal(codeFencedInstanceID, old.id))
	}
	if old.sync.waits {
		t := old.sync.ticket
		old.sync = parked{}
		g.reply(t, DependsGroup, Synced{Code: codeFencedInstanceID})
	}
}

// successor puts a new member in the place of the old one. It inherits the
// old one's assignment, client, leadership, place, and debt of a SyncGroup.
func (g *Group) successor(old *member, r *Join) *member {
	leads, owes := g.leader == old, old.unsynced
	m := &member{
		id: r.NewMemberID, instanceID: old.instanceID, clientID: old.clientID, clientHost: old.clientHost,
		sessionTimeout: old.sessionTimeout, assignment: old.assignment, order: old.order,
	}
	g.withdraw(old)
	timeout := old.sessionTimeout
	m.take(r)
	g.insert(m)
	g.leases.move(&m.lease, g.now.Mono+timeout)
	if leads {
		g.leader = m
	}
	if owes {
		m.unsynced = true
		g.syncing.missing++
	}
	return m
}

func assigned(m *member) []byte { return m.assignment }
