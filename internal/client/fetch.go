package client

import (
	"slices"
	"time"
)

// fetchOp is a fetch of committed offsets from its call to its result.
type fetchOp struct {
	id         OpID
	partitions []Partition
	sent       bool
	retryAt    time.Duration
	failures   int
}

// Fetch asks for committed offsets, until it gets them. Of a partition without
// one the offset is -1. Errors: CodeError, ErrClosed.
func (m *Machine) Fetch(now time.Duration, partitions []Partition) OpID {
	m.now = now
	m.nextOp++
	op := &fetchOp{id: m.nextOp, partitions: partitions, retryAt: now}
	m.fetches = append(m.fetches, op)
	m.sendFetch(op)
	return op.id
}

func (m *Machine) sendFetch(op *fetchOp) {
	if m.closed {
		m.endFetch(op, nil, ErrClosed)
	} else if m.lookUp() {
		op.sent = true
		m.send(Fetch{Partitions: op.partitions}, m.c.RequestTimeout, op.id)
	}
}

func (m *Machine) endFetch(op *fetchOp, offsets []Offset, err error) {
	m.fetches = slices.DeleteFunc(m.fetches, func(o *fetchOp) bool { return o == op })
	m.out.Fetches = append(m.out.Fetches, FetchResult{ID: op.id, Offsets: offsets, Err: err})
}

func (m *Machine) retryFetch(op *fetchOp) {
	op.sent = false
	op.retryAt = m.now + m.backoff(op.failures)
	op.failures++
}

func (m *Machine) findFetch(id OpID) *fetchOp {
	for _, op := range m.fetches {
		if op.id == id {
			return op
		}
	}
	return nil
}

// fetchAnswered reacts to an OffsetFetch's answer. One partition that is not
// stable (KIP-447) has the whole of it repeated.
func (m *Machine) fetchAnswered(r *inFlight, a Fetched) {
	op := m.findFetch(r.op)
	if op == nil {
		return
	}
	code := a.Code
	for _, c := range a.Codes {
		if code == codeNone || c == codeUnstableOffsetCommit && a.Code == codeNone {
			code = c
		}
	}
	switch {
	case code == codeNone:
		m.endFetch(op, a.Offsets, nil)
	case a.Code == codeCoordinatorNotAvailable, a.Code == codeNotCoordinator:
		m.retryFetch(op)
		m.forgetCoordinator(true)
	case a.Code != codeNone && retriable(a.Code), code == codeUnstableOffsetCommit:
		m.retryFetch(op)
	default:
		m.endFetch(op, nil, &CodeError{"OffsetFetch", code})
	}
}

// fetchFailed is a fetch whose answer will not come.
func (m *Machine) fetchFailed(r *inFlight) {
	if op := m.findFetch(r.op); op != nil {
		m.retryFetch(op)
	}
}
