package client

import (
	"slices"
	"time"
)

// commitOp is a commit from its call to its result.
type commitOp struct {
	id      OpID
	offsets []Offset
	sync    bool // it is repeated until it has a result, or its time is over
	auto    bool // nobody asked for it: the result is the machine's own
	by      time.Duration
	sent    bool
	// unknown: an attempt has failed that may have been taken.
	unknown  bool
	retryAt  time.Duration
	failures int
}

// Commit commits offsets: once, or if timeout is positive again and again
// until it has succeeded, cannot succeed, or the time is over. The result comes
// with the id that is returned. Errors: ErrRebalanceInProgress,
// ErrCommitFailed, ErrTimeout, ErrClosed, CodeError.
func (m *Machine) Commit(now time.Duration, offsets []Offset, timeout time.Duration) OpID {
	m.now = now
	op := &commitOp{offsets: offsets, sync: timeout > 0, by: never}
	if op.sync {
		op.by = now + timeout
	}
	return m.startCommit(op)
}

// Consumed says how far the application has come in a partition: what an
// automatic commit commits.
func (m *Machine) Consumed(now time.Duration, o Offset) {
	m.now = now
	if !m.c.AutoCommit || !owns(m.owned, o.Partition) {
		return
	}
	i, known := slices.BinarySearchFunc(m.positions, o.Partition, func(e Offset, p Partition) int { return e.Compare(p) })
	if known {
		m.positions[i] = o
	} else {
		m.positions = slices.Insert(m.positions, i, o)
	}
}

// autoCommit commits positions when it is time to.
func (m *Machine) autoCommit() {
	if !m.c.AutoCommit || m.now < m.autoCommitAt || m.state != Stable {
		return
	}
	m.autoCommitAt = m.now + m.c.AutoCommitInterval
	if len(m.positions) > 0 {
		m.startCommit(&commitOp{offsets: slices.Clone(m.positions), auto: true, by: never})
	}
}

func (m *Machine) startCommit(op *commitOp) OpID {
	m.nextOp++
	op.id = m.nextOp
	op.retryAt = m.now
	m.commits = append(m.commits, op)
	m.sendCommit(op)
	return op.id
}

func (m *Machine) findCommit(id OpID) *commitOp {
	for _, op := range m.commits {
		if op.id == id {
			return op
		}
	}
	return nil
}

// sendCommit sends a commit, if the member is in a state to. While it joins,
// its partitions may be about to move: that is refused here already.
func (m *Machine) sendCommit(op *commitOp) {
	c := Commit{MemberID: m.gen.MemberID, InstanceID: m.c.InstanceID, Generation: m.gen.ID, Offsets: op.offsets}
	switch {
	case m.closed:
		m.endCommit(op, ErrClosed)
		return
	case !m.wants(): // partitions of its own choosing
		c.MemberID, c.InstanceID, c.Generation = "", nil, -1
	case m.state == Preparing, m.state == Completing:
		m.endCommit(op, ErrRebalanceInProgress)
		return
	case m.state != Stable:
		m.endCommit(op, ErrCommitFailed)
		return
	}
	if m.lookUp() {
		op.sent = true
		m.send(c, m.c.RequestTimeout, op.id)
	}
}

func (m *Machine) endCommit(op *commitOp, err error) {
	m.commits = slices.DeleteFunc(m.commits, func(o *commitOp) bool { return o == op })
	if !op.auto {
		m.out.Commits = append(m.out.Commits, CommitResult{ID: op.id, Err: err, Unknown: op.unknown && err != nil})
		return
	}
	if err == nil {
		m.positions = slices.DeleteFunc(m.positions, func(o Offset) bool { return slices.Contains(op.offsets, o) })
	}
}

// retryCommit puts a commit off, or ends it if it is not to be repeated.
func (m *Machine) retryCommit(op *commitOp, why error) {
	if !op.sync {
		m.endCommit(op, why)
		return
	}
	op.sent = false
	op.retryAt = m.now + m.backoff(op.failures)
	op.failures++
}

// commitAnswered reacts to an OffsetCommit's answer: the first partition that
// failed decides.
func (m *Machine) commitAnswered(r *inFlight, codes []int16) {
	op := m.findCommit(r.op)
	if op == nil {
		return
	}
	code, unauthorized := int16(codeNone), false
	for _, c := range codes {
		if c == codeTopicAuthorizationFailed {
			unauthorized = true
		} else if c != codeNone {
			code = c
			break
		}
	}
	unchanged, inRound := r.gen == m.gen, m.round == joining || m.round == syncing
	switch code {
	case codeNone:
		var err error
		if unauthorized {
			err = &CodeError{"OffsetCommit", codeTopicAuthorizationFailed}
		}
		m.endCommit(op, err)
	case codeCoordinatorLoadInProgress, codeUnknownTopicOrPartition:
		m.retryCommit(op, &CodeError{"OffsetCommit", code})
	case codeCoordinatorNotAvailable, codeNotCoordinator, codeRequestTimedOut:
		op.unknown = true
		m.retryCommit(op, &CodeError{"OffsetCommit", code})
		m.forgetCoordinator(true)
	case codeRebalanceInProgress:
		m.requestRejoin("commit: group is rebalancing")
		m.endCommit(op, ErrRebalanceInProgress)
	case codeUnknownMemberID, codeIllegalGeneration:
		if !unchanged && inRound {
			m.endCommit(op, ErrRebalanceInProgress)
			return
		}
		m.endCommit(op, ErrCommitFailed)
		m.reset(code == codeIllegalGeneration, "commit: member or generation is not known")
	case codeFencedInstanceID:
		err := ErrCommitFailed
		switch {
		case unchanged:
			err = &CodeError{"OffsetCommit", code}
		case inRound:
			err = ErrRebalanceInProgress
		}
		m.endCommit(op, err)
	default:
		m.endCommit(op, &CodeError{"OffsetCommit", code})
	}
}

// commitFailed is a commit whose answer will not come.
func (m *Machine) commitFailed(r *inFlight) {
	if op := m.findCommit(r.op); op != nil {
		op.unknown = true
		m.retryCommit(op, ErrTimeout)
	}
}

// retryOps sends what has waited, and ends what has waited too long.
func (m *Machine) retryOps() {
	for _, op := range slices.Clone(m.commits) {
		if m.now >= op.by {
			op.unknown = op.unknown || op.sent
			m.endCommit(op, ErrTimeout)
		} else if !op.sent && m.now >= op.retryAt {
			m.sendCommit(op)
		}
	}
	for _, op := range slices.Clone(m.fetches) {
		if !op.sent && m.now >= op.retryAt {
			m.sendFetch(op)
		}
	}
}

// opDeadline is when retryOps has work.
func (m *Machine) opDeadline() time.Duration {
	at := never
	note := func(sent bool, retryAt time.Duration) {
		if sent || m.finding {
			return
		}
		if !m.coordinator {
			retryAt = max(retryAt, m.findAt)
		}
		at = min(at, retryAt)
	}
	for _, op := range m.commits {
		note(op.sent, op.retryAt)
		at = min(at, op.by)
	}
	for _, op := range m.fetches {
		note(op.sent, op.retryAt)
	}
	return at
}
