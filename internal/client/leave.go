package client

import (
	"slices"
	"time"
)

// farewell is a member that goes: it commits, gives up its partitions, leaves,
// and waits for the answer.
type farewell struct {
	by    time.Duration
	stage farewellStage
	leave bool
	close bool // for good
	op    OpID
}

type farewellStage uint8

const (
	commits farewellStage = iota
	awaitsCommit
	callsBack
	leaves
	awaitsLeave
)

// LeaveOption says whether a member that closes gives up its place (KIP-1092).
type LeaveOption uint8

const (
	// LeaveDefault: dynamic members leave, static ones stay.
	LeaveDefault LeaveOption = iota
	// LeaveGroup: it leaves.
	LeaveGroup
	// RemainInGroup: it stays until its session runs out.
	RemainInGroup
)

// Close ends the member, at the latest after timeout. Closed tells when it is
// over; callbacks and sends come as ever.
func (m *Machine) Close(now time.Duration, option LeaveOption, timeout time.Duration) {
	m.now = now
	if m.closed || m.closing != nil && m.closing.close {
		return
	}
	leave := option == LeaveGroup || option == LeaveDefault && m.c.InstanceID == nil
	m.closing = &farewell{by: now + timeout, leave: leave, close: true}
	m.goOnLeaving()
}

// Unsubscribe gives up all partitions and, if the member is dynamic, its place.
// It can subscribe again once the callback has returned.
func (m *Machine) Unsubscribe(now time.Duration) {
	m.now = now
	if m.closed || m.closing != nil {
		return
	}
	m.closing = &farewell{by: now, stage: callsBack, leave: m.c.InstanceID == nil}
	m.goOnLeaving()
}

// Closed reports whether Close has come to its end.
func (m *Machine) Closed() bool { return m.closed }

// goOnLeaving takes the next steps of a farewell.
func (m *Machine) goOnLeaving() {
	for m.closing != nil && m.call == nil {
		f := m.closing
		switch f.stage {
		case commits:
			f.stage = awaitsCommit
			if m.c.AutoCommit && len(m.positions) > 0 && m.state == Stable && m.gen.ID != -1 {
				f.op = m.startCommit(&commitOp{offsets: slices.Clone(m.positions), sync: true, auto: true, by: f.by})
			}
		case awaitsCommit:
			if f.op != 0 && m.findCommit(f.op) != nil && m.now < f.by {
				return
			}
			f.stage = callsBack
		case callsBack:
			f.stage = leaves
			if len(m.owned) > 0 {
				kind := Revoked
				if m.gen.ID == -1 || m.state != Stable {
					kind = Lost
				}
				m.startCall(kind, m.owned, nil, afterLeaving)
			}
		case leaves:
			f.stage = awaitsLeave
			m.goAway(f.leave)
		case awaitsLeave:
			pending := slices.ContainsFunc(m.requests, func(r inFlight) bool { _, ok := r.req.(Leave); return ok })
			if f.close && pending && m.now < f.by {
				return
			}
			m.closing = nil
			if f.close {
				m.shut()
			}
		}
	}
}

// goAway gives up the place, or keeps it for a successor.
func (m *Machine) goAway(leave bool) {
	if leave {
		m.sendLeave(m.c.LeaveReason)
	}
	m.note(NoticeLeft)
	m.topics = nil
	if m.round == synced {
		m.round = noRound
	} // else its answer ends the round: there is never more than one on its way
	m.retryAt = m.now
	m.reset(false, "")
}

// shut ends everything.
func (m *Machine) shut() {
	m.closed = true
	m.out.Drop = true
	m.requests = nil
	for len(m.commits) > 0 {
		m.commits[0].unknown = m.commits[0].unknown || m.commits[0].sent
		m.endCommit(m.commits[0], ErrClosed)
	}
	for len(m.fetches) > 0 {
		m.endFetch(m.fetches[0], nil, ErrClosed)
	}
}

// sendLeave sends a LeaveGroup, as far as there is anything to leave and
// anyone to tell. Nothing is done about its answer.
func (m *Machine) sendLeave(reason string) {
	if m.state == Unjoined || m.gen.MemberID == "" || !m.coordinator {
		return
	}
	m.send(Leave{MemberID: m.gen.MemberID, InstanceID: m.c.InstanceID, Reason: reason}, m.c.RequestTimeout, 0)
}
