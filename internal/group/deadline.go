package group

import "time"

// Tick runs every deadline at or before now, earliest first, and returns their
// effects. Calling it early or twice does nothing. At one and the same moment a
// phase ends before a lease does, so that nobody is thrown out of a phase that
// is over.
func (g *Group) Tick(now Now, at Offset) Effects {
	g.begin(now, at)
	for {
		due := g.next()
		if due > now.Mono {
			return g.finish()
		}
		switch due {
		case g.joining.by:
			g.joinDeadline()
		case g.syncing.by:
			g.syncDeadline()
		default:
			g.expireLease(g.leases.first())
		}
	}
}

// Deadline returns the next time (Now.Mono) at which Tick has work, and false
// if there is none.
func (g *Group) Deadline() (time.Duration, bool) {
	due := g.next()
	return due, due != never
}

func (g *Group) next() time.Duration {
	due := min(g.joining.by, g.syncing.by)
	if l := g.leases.first(); l != nil {
		due = min(due, l.due)
	}
	return due
}

// expireLease gives up a member that has been silent for its session, or that
// was never answered in the time that new members have, or an id that has not
// come back.
func (g *Group) expireLease(l *lease) {
	if l.pending != nil {
		g.dropPending(l.pending)
		g.waitEnded(l.pending.ref, OutcomeExpired, l.pending.since)
		e := g.emit(PendingExpired)
		e.Cause, e.Member = CauseSessionExpired, l.pending.ref
		g.completeIfAllJoined(l.pending.ref)
		return
	}
	m, why := l.member, CauseSessionExpired
	if m.isNew {
		why = CauseNewMemberTimeout
	}
	g.evict(m, MemberExpired, why)
	g.afterLoss(why, m.ref())
}

// Released says that the reply with this ticket has been released by the
// shell: the session of the member it went to starts in full.
func (g *Group) Released(now Now, t Ticket) {
	m := g.unreleased.take(t)
	if m == nil {
		return
	}
	m.unreleased--
	g.now = now
	g.extend(m)
}

// Forgive is called instead of Tick when the shard finds itself late: it
// restarts every session in full and moves all other deadlines by late.
func (g *Group) Forgive(now Now, late time.Duration) {
	g.now = now
	g.joining.by = later(g.joining.by, late)
	g.syncing.by = later(g.syncing.by, late)
	for _, l := range g.leases {
		switch {
		case l.pending != nil || l.member.isNew:
			l.due = later(l.due, late)
		case l.due != never:
			l.due = now.Mono + l.member.sessionTimeout
		}
	}
	g.leases.rebuild()
}

func later(due, late time.Duration) time.Duration {
	if due == never {
		return never
	}
	return due + late
}
