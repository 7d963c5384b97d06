package client

import (
	"slices"
	"time"

	"rota/internal/schema"
)

// pendingCall is the callback that runs, and what follows it.
type pendingCall struct {
	kind CallKind
	then afterCall
	keep []Partition // what is owned once it has returned
}

type afterCall uint8

const (
	afterPrepare afterCall = iota
	afterRevoke
	afterAssign
	afterLeaving
)

// prepareCommit is the commit of positions before a rebalance.
type prepareCommit struct {
	op OpID // 0 if there is none
	by time.Duration
}

// prepare runs once when a rebalance begins. It reports whether the poll may
// go on at once; else a callback runs, or a commit is waited for.
func (m *Machine) prepare() bool {
	if !m.commitBeforeJoin() {
		return false
	}
	m.prepareNeeded = false
	m.note(NoticePrepare)
	switch {
	case m.gen.ID == -1 || m.gen.MemberID == "":
		if len(m.owned) == 0 {
			return m.emptyCall()
		}
		m.startCall(Lost, m.owned, nil, afterPrepare)
	case !m.cooperative:
		m.startCall(Revoked, m.owned, nil, afterPrepare)
	default:
		var gone, keep []Partition
		for _, p := range m.owned {
			if m.subscribed(p) {
				keep = append(keep, p)
			} else {
				gone = append(gone, p)
			}
		}
		if len(gone) == 0 {
			return m.emptyCall()
		}
		m.startCall(Revoked, gone, keep, afterPrepare)
	}
	return false
}

// emptyCall begins a rebalance in which nothing is given up. It reports whether
// the poll may go on at once.
func (m *Machine) emptyCall() bool {
	if m.c.EveryCall {
		m.startCall(Revoked, nil, m.owned, afterPrepare)
	}
	return !m.c.EveryCall
}

// subscribed reports whether the member wants the partition, if it is to have
// it.
func (m *Machine) subscribed(p Partition) bool {
	_, ok := slices.BinarySearch(m.topics, p.Topic)
	return ok || m.c.Dialect != nil
}

// commitBeforeJoin commits what has been consumed, as long as the generation
// is good for it. It reports whether that is over, whatever came of it.
func (m *Machine) commitBeforeJoin() bool {
	if m.prepareCommit.op == 0 {
		if !m.c.AutoCommit || len(m.positions) == 0 || m.gen.ID == -1 || m.state != Stable {
			return true
		}
		m.prepareCommit.by = m.now + m.c.RebalanceTimeout
		m.prepareCommit.op = m.startCommit(&commitOp{offsets: slices.Clone(m.positions), sync: true, auto: true, by: m.prepareCommit.by})
	}
	if m.findCommit(m.prepareCommit.op) != nil && m.now < m.prepareCommit.by {
		return false
	}
	m.prepareCommit = prepareCommit{}
	return true
}

// complete tells the application of the new assignment: eager members get all
// of it anew, cooperative ones first give up what it takes away, and then join
// again, so that it can be given to others. It reports whether the poll may go
// on at once.
func (m *Machine) complete() bool {
	if m.state != Stable || m.gen.ID == -1 {
		m.failRound(nil, false)
		return true
	}
	assigned, err := m.share(m.plan)
	if err != nil {
		m.throw(err)
		return false
	}
	for _, p := range assigned {
		if !m.subscribed(p) {
			m.requestRejoin("assignment does not match the subscription")
			m.endRound()
			return true
		}
	}
	m.callErr = nil
	if m.cooperative {
		if revoked := without(m.owned, assigned); len(revoked) > 0 {
			m.startCall(Revoked, revoked, without(m.owned, revoked), afterRevoke)
			return false
		}
	}
	m.assign(assigned)
	return false
}

// assign installs the assignment.
func (m *Machine) assign(assigned []Partition) {
	added := without(assigned, m.owned)
	m.own(assigned)
	m.startCall(Assigned, added, assigned, afterAssign)
}

// own replaces what the member may consume.
func (m *Machine) own(list []Partition) {
	m.owned = list
	m.positions = slices.DeleteFunc(m.positions, func(o Offset) bool { return !owns(list, o.Partition) })
}

// endRound ends a successful round: the next rebalance has its callbacks again.
func (m *Machine) endRound() {
	m.round, m.prepareNeeded, m.failures = noRound, true, 0
	m.plan = nil
	m.note(NoticeComplete)
}

func (m *Machine) startCall(kind CallKind, list, keep []Partition, then afterCall) {
	m.call = &pendingCall{kind: kind, then: then, keep: keep}
	m.out.Call = &Call{Kind: kind, Partitions: list}
}

// Done says that the callback has returned, with an error if it failed. The
// poll that it ran in goes on.
func (m *Machine) Done(now time.Duration, err error) {
	m.now = now
	c := m.call
	m.call = nil
	if err != nil {
		err = &CallbackError{c.kind, err}
	}
	switch c.then {
	case afterPrepare:
		m.own(c.keep)
	case afterRevoke:
		// The round goes on, and throws at its end.
		m.callErr = err
		m.own(c.keep)
		m.requestRejoin("partitions were given up")
		if assigned, parseErr := m.share(m.plan); parseErr == nil {
			m.assign(assigned)
			return
		}
	case afterAssign:
		if err = firstError(m.callErr, err); err == nil {
			m.endRound()
		} // else the next poll tells the application again
	case afterLeaving:
		m.own(nil)
	}
	switch {
	case m.closing != nil:
		m.goOnLeaving()
	case err != nil:
		m.throw(err)
	default:
		m.progress()
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// parsePlan decodes an assignment, sorted.
func parsePlan(plan []byte) ([]Partition, error) {
	if len(plan) < 2 {
		return nil, ErrShortAssignment
	}
	a, err := schema.ParseAssignment(plan)
	if err != nil {
		return nil, err
	}
	list := flat(a.Partitions)
	slices.SortFunc(list, Partition.Compare)
	return list, nil
}
