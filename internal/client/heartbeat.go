package client

import "time"

// beats reports whether heartbeats are due at all: not while a JoinGroup is on
// its way, during which the coordinator waits with the member.
func (m *Machine) beats() bool {
	return m.started && !m.closed && (m.state == Completing || m.state == Stable)
}

// beat is one turn of the heartbeat thread.
func (m *Machine) beat() {
	if !m.beats() {
		return
	}
	switch {
	case !m.coordinator:
		m.lookUp()
	case m.now-m.heardAt >= m.c.SessionTimeout:
		m.forgetCoordinator(true)
		m.lookUp()
	case m.closing == nil && m.now-m.lastPoll > m.c.PollInterval:
		m.pollTimedOut()
	case m.now >= m.beatAt:
		m.beatAt = m.now + m.c.HeartbeatInterval
		m.send(Heartbeat{MemberID: m.gen.MemberID, InstanceID: m.c.InstanceID, Generation: m.gen.ID}, m.c.RequestTimeout, 0)
	}
}

// beatDeadline is when beat has work.
func (m *Machine) beatDeadline() (at time.Duration) {
	switch {
	case !m.beats():
		return never
	case !m.coordinator:
		if m.finding {
			return never
		}
		return max(m.findAt, m.now)
	}
	at = min(m.beatAt, m.heardAt+m.c.SessionTimeout)
	if m.closing == nil {
		at = min(at, m.lastPoll+m.c.PollInterval+1)
	}
	return at
}

// startBeating is what the answer to a JoinGroup does to the heartbeat thread.
func (m *Machine) startBeating() {
	m.heardAt = m.now
	m.beatAt = m.now + m.c.HeartbeatInterval
}

// beatAnswered reacts to a Heartbeat's answer.
func (m *Machine) beatAnswered(r *inFlight, code int16) {
	unchanged := r.gen == m.gen
	switch code {
	case codeNone:
		m.heardAt = m.now
	case codeRebalanceInProgress:
		m.heardAt = m.now
		if m.state == Stable {
			m.requestRejoin("group is already rebalancing")
		}
	case codeIllegalGeneration:
		if unchanged {
			m.reset(true, "heartbeat: generation is over")
		}
	case codeUnknownMemberID:
		if unchanged {
			m.reset(false, "heartbeat: member is not known")
		}
	case codeFencedInstanceID:
		if unchanged {
			m.reset(false, "heartbeat: instance is fenced")
			m.started = false
			m.thrown = &CodeError{"Heartbeat", code}
		}
	case codeCoordinatorNotAvailable, codeNotCoordinator:
		m.forgetCoordinator(true)
		m.lookUp()
	default:
		m.beatAt = min(m.beatAt, m.now+m.c.RetryBackoff)
	}
}

// pollTimedOut gives up the place of an application that does not poll. A
// static member just falls silent: it may come back within its session.
func (m *Machine) pollTimedOut() {
	if m.c.InstanceID == nil {
		m.sendLeave("application does not poll")
	}
	m.reset(false, "application did not poll in time")
}
