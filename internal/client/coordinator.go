package client

import "time"

// lookUp asks for the coordinator, unless that is under way or too soon. It
// reports whether the coordinator is known already.
func (m *Machine) lookUp() bool {
	if m.coordinator {
		return true
	}
	if !m.finding && m.findAt <= m.now {
		m.finding = true
		m.send(FindCoordinator{}, m.c.RequestTimeout, 0)
	}
	return false
}

// found is the answer to a lookUp. The session counts from here: the member
// could not have been heard before.
func (m *Machine) found(r Found) {
	m.finding = false
	switch {
	case r.Code == codeNone:
		m.coordinator, m.address, m.findFails = true, r.Address, 0
		m.heardAt = m.now
	case retriable(r.Code):
		m.backOffFinding()
	default:
		m.thrown = &CodeError{"FindCoordinator", r.Code}
		m.backOffFinding()
	}
}

func (m *Machine) backOffFinding() {
	m.findAt = m.now + m.backoff(m.findFails)
	m.findFails++
}

// forgetCoordinator drops the connection to it: whatever was sent on it is
// over. drop says that the driver does not know that yet.
func (m *Machine) forgetCoordinator(drop bool) {
	if m.coordinator {
		m.coordinator, m.address = false, ""
		m.findAt = m.now
	}
	m.out.Drop = m.out.Drop || drop
	m.failRequests(false)
}

// backoff is the pause after so many failures in a row before this one.
func (m *Machine) backoff(failures int) time.Duration {
	return min(m.c.RetryBackoff<<min(failures, 8), m.c.MaxBackoff)
}
