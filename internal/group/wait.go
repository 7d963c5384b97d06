package group

import "time"

// maxWaited is how many of those that a join phase waited for are told.
const maxWaited = 100

// waits are those that a join phase waited for, as far as the waits have
// ended, in that order.
type waits struct {
	list []Waited
	more int // earlier ones that are left out
}

// waitEnded notes that the join phase waits for someone no longer. since is
// when its id was handed out, 0 for a member. Nobody is waited for in the
// initial delay, and none who comes in the moment in which the phase begins.
func (g *Group) waitEnded(who MemberRef, how Outcome, since time.Duration) {
	if g.state != PreparingRebalance || g.joining.initial {
		return
	}
	took := g.now.Mono - max(g.joining.began, since)
	if took <= 0 {
		return
	}
	w := g.joining.waits
	if w == nil {
		w = &waits{}
		g.joining.waits = w
	}
	if len(w.list) == 2*maxWaited {
		copy(w.list, w.list[maxWaited:])
		w.list = w.list[:maxWaited]
		w.more += maxWaited
	}
	w.list = append(w.list, Waited{MemberRef: who, Took: took, Outcome: how})
}

// lossOutcome is what a wait for a member comes to that is removed.
func lossOutcome(kind EventKind, why Cause) Outcome {
	switch {
	case kind == MemberLeft:
		return OutcomeLeft
	case kind == MemberExpired:
		return OutcomeExpired
	case why == CauseGroupFull:
		return OutcomeRefused
	}
	return OutcomeDropped
}

// tellJoined emits the event of a join phase that is over. last is the member
// that ended it, if one did. Static members that did not come, and ids that
// have not come back, have been waited for until now.
func (g *Group) tellJoined(last MemberRef) {
	for _, m := range g.order {
		if !m.join.waits {
			g.waitEnded(m.ref(), OutcomeAbsent, 0)
		}
	}
	for _, p := range g.pendingInOrder() {
		g.waitEnded(p.ref, OutcomeAbsent, p.since)
	}
	e := g.emit(JoinCompleted)
	e.Member, e.Initial = last, g.joining.initial
	e.Duration, e.Count = g.now.Mono-g.joining.began, len(g.members)
	if len(g.members) > 0 {
		e.ProtocolType, e.Protocol = g.protocolType, g.protocolName
	}
	if w := g.joining.waits; w != nil {
		cut := max(len(w.list)-maxWaited, 0)
		e.WaitedFor, e.WaitedForMore = w.list[cut:], w.more+cut
	}
}

// tellLoss emits the event of a member that has been removed.
func (g *Group) tellLoss(m *member, kind EventKind, why Cause) {
	e := g.emit(kind)
	e.Cause, e.Member = why, m.ref()
	if kind == MemberLeft {
		return
	}
	switch why {
	case CauseNewMemberTimeout:
		e.Timeout = g.cfg.NewMemberTimeout
	case CauseJoinDeadline, CauseSyncDeadline:
		e.Timeout = m.rebalanceTimeout
	case CauseSessionExpired:
		e.Timeout = m.sessionTimeout
	default:
	}
	if !m.isNew && m.lease.due != never {
		e.Silent = max(g.now.Mono-(m.lease.due-m.sessionTimeout), 0)
	}
}

// refOf names the member as its new JoinGroup does: with the reason of that.
func refOf(m *member, r *Join) MemberRef {
	ref := m.ref()
	ref.Reason = r.Reason
	return ref
}
