package group

import "time"

// The transitions. Each draws one arrow of the package's diagram and emits the
// event that says why; nothing else writes Group.state.

// joinPhase is what PreparingRebalance keeps.
type joinPhase struct {
	by    time.Duration // when the phase ends at the latest, or is looked at again
	began time.Duration
	// waiting counts the members whose JoinGroup is parked.
	waiting int
	waits   *waits // that have ended; nil if none has

	// initial is true during the initial delay, which is always waited for.
	initial bool
	// recorded counts the bytes that leaves have had recorded.
	recorded int
	// newcomer: a member joined during this stretch of the delay, so that
	// another stretch follows while there is remaining time.
	newcomer  bool
	delay     time.Duration // of this stretch
	remaining time.Duration
}

// syncPhase is what a generation keeps until every member has sent SyncGroup.
type syncPhase struct {
	by      time.Duration // when members that have not are removed
	began   time.Duration
	missing int // members that have not
}

// reason is why a rebalance begins: the cause, the member that triggered it, and
// for CauseProtocolsChanged what that one offered before and offers now.
type reason struct {
	cause         Cause
	member        MemberRef
	before, after []Protocol
	leader        bool // the member leads the group
}

// prepareRebalance moves the group from Empty, CompletingRebalance or Stable
// to PreparingRebalance. From Empty it starts the initial delay; from the
// others it sets the deadline by which members must join again, and ends the
// phase at once if all have. Parked joins stay; parked syncs are answered with
// REBALANCE_IN_PROGRESS.
func (g *Group) prepareRebalance(why *reason) {
	if !g.state.canRebalance() {
		panic("group: rebalance in state " + g.state.String())
	}
	if g.state == CompletingRebalance {
		e := g.emit(RebalanceSuperseded)
		e.Cause, e.Member, e.Duration = why.cause, why.member, g.now.Mono-g.syncing.began
		g.refuseSyncs(codeRebalanceInProgress)
	}
	g.endSyncPhase()
	initial := g.state == Empty
	g.joining = joinPhase{by: never, began: g.now.Mono, waiting: g.joining.waiting}
	if initial {
		g.startInitialDelay()
	}
	g.state, g.since = PreparingRebalance, g.now.Wall
	timeout := g.longestRebalanceTimeout()
	e := g.emit(RebalanceStarted)
	e.Cause, e.Member, e.OldProtocols, e.NewProtocols, e.Leader = why.cause, why.member, why.before, why.after, why.leader
	e.Count, e.Initial, e.Timeout = len(g.members), initial, timeout
	switch {
	case initial:
	case g.allJoined():
		g.completeJoin(why.member)
	default:
		g.joining.by = g.now.Mono + timeout
	}
}

// completeJoin moves the group from PreparingRebalance to CompletingRebalance,
// or to Empty if nobody is left. It drops dynamic members that did not join
// again, starts the next generation, picks its leader and protocol, and
// answers every join. If only silent static members are left it waits for them
// once more instead. last is the member that ended the wait, if one did.
func (g *Group) completeJoin(last MemberRef) {
	g.joining.by = never
	g.dropSilent()
	if len(g.members) > 0 && g.joining.waiting == 0 {
		g.joining.by = g.now.Mono + max(g.longestRebalanceTimeout(), time.Millisecond)
		return
	}
	if g.leader != nil && !g.leader.join.waits {
		g.leader = g.firstWaiting()
	}
	g.nextGeneration()
	if len(g.members) > 0 {
		g.protocolName = g.vote()
	}
	g.tellJoined(last)
	if len(g.members) == 0 {
		g.becomeEmpty()
		return
	}
	g.subscribed = g.subscriptions()
	g.state, g.since = CompletingRebalance, g.now.Wall
	g.answerJoins()
	g.startSyncPhase()
}

// becomeEmpty moves the group from PreparingRebalance to Empty, when a join
// phase ends without members, and records that.
func (g *Group) becomeEmpty() {
	g.joining = joinPhase{by: never}
	g.protocolName = ""
	g.subscribed, g.installed = topicSet{}, nil
	g.state, g.since = Empty, g.now.Wall
	g.appendGroup(g.snapshot(g.since, nil))
	g.emit(GroupEmptied)
}

// install moves the group from CompletingRebalance to Stable with the leader's
// assignment: it is recorded, and every parked sync is answered with its part.
// A record that is too large is refused before it is appended, and the members
// have to try again.
func (g *Group) install(leader *member, plan []Assignment) {
	assignments := make(map[string][]byte, len(plan))
	for i := range plan {
		assignments[plan[i].MemberID] = plan[i].Data
	}
	before := g.installed
	record := g.snapshot(g.now.Wall, func(m *member) []byte { return assignments[m.id] })
	if !g.appendGroup(record) {
		g.refuseSyncs(codeUnknownServerError)
		g.prepareRebalance(&reason{cause: CauseAssignmentTooLarge, member: leader.ref()})
		return
	}
	g.installed = g.log.group
	g.state, g.since = Stable, g.now.Wall
	for i, m := range g.order {
		m.assignment = record.Members[i].Assignment
	}
	e := g.emit(AssignmentInstalled)
	e.Member, e.Duration, e.Count = leader.ref(), g.now.Mono-g.syncing.began, len(g.members)
	e.ProtocolType, e.Protocol, e.Before, e.After = g.protocolType, g.protocolName, before, g.log.group
	g.answerSyncs()
}

// evict removes a member. Its parked requests are answered with
// UNKNOWN_MEMBER_ID. Whether the others are owed a rebalance is for the caller
// to say, after it has removed all that go.
func (g *Group) evict(m *member, kind EventKind, why Cause) {
	if m.join.waits {
		g.unparkJoin(m, refusal(codeUnknownMemberID, ""))
	} else {
		g.waitEnded(m.ref(), lossOutcome(kind, why), 0)
	}
	if m.sync.waits {
		t := m.sync.ticket
		m.sync = parked{}
		g.reply(t, DependsGroup, Synced{Code: codeUnknownMemberID})
	}
	g.withdraw(m)
	g.tellLoss(m, kind, why)
}

// afterLoss does what the group owes its members once some have been removed
// or an id has been given up.
func (g *Group) afterLoss(why Cause, lost MemberRef) {
	switch g.state {
	case CompletingRebalance, Stable:
		g.prepareRebalance(&reason{cause: why, member: lost})
	case PreparingRebalance:
		g.completeIfAllJoined(lost)
	case Empty, Dead:
	}
}

// completeIfAllJoined ends the join phase when nobody is missing any more. The
// initial delay is always waited for.
func (g *Group) completeIfAllJoined(last MemberRef) {
	if g.state == PreparingRebalance && !g.joining.initial && g.allJoined() {
		g.completeJoin(last)
	}
}

// allJoined reports whether every member has joined and no id is outstanding.
func (g *Group) allJoined() bool {
	return g.joining.waiting == len(g.members) && len(g.pending) == 0
}

// dropSilent removes the dynamic members that have not joined again.
func (g *Group) dropSilent() {
	if g.joining.waiting == len(g.members) {
		return
	}
	var silent []*member
	for _, m := range g.order {
		if !m.join.waits && m.instanceID == nil {
			silent = append(silent, m)
		}
	}
	for _, m := range silent {
		g.evict(m, MemberDropped, CauseJoinDeadline)
	}
}

func (g *Group) firstWaiting() *member {
	for _, m := range g.order {
		if m.join.waits {
			return m
		}
	}
	return nil
}

// nextGeneration counts on, past the numbers that were handed out before a
// load but not recorded.
func (g *Group) nextGeneration() {
	next := g.skipTo
	if next == 0 {
		next = g.generation + 1
	}
	if next <= 0 { // wrapped: negative numbers mean "no generation"
		next = 1
	}
	g.generation, g.skipTo = next, 0
}

// startInitialDelay gives the first members of a group time to gather.
func (g *Group) startInitialDelay() {
	g.joining.initial = true
	g.joining.delay = g.cfg.InitialDelay
	g.joining.remaining = max(g.longestRebalanceTimeout()-g.cfg.InitialDelay, 0)
	g.joining.by = g.now.Mono + g.joining.delay
}

// joinDeadline runs when the join phase has lasted long enough: it ends,
// unless members came during this stretch of the initial delay.
func (g *Group) joinDeadline() {
	j := &g.joining
	if !j.initial || !j.newcomer || j.remaining == 0 {
		g.completeJoin(MemberRef{})
		return
	}
	j.newcomer = false
	delay := min(g.cfg.InitialDelay, j.remaining)
	j.remaining = max(j.remaining-j.delay, 0)
	j.delay = delay
	j.by = g.now.Mono + delay
}
