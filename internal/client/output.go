package client

import (
	"slices"
	"time"
)

// RequestID names one request between Send and Answer.
type RequestID uint64

// OpID names a commit or a fetch between its call and its result.
type OpID uint64

// Outputs is what the driver must do, in this order: drop the connection,
// send, run the callback, hand over the results, throw.
type Outputs struct {
	// Drop: close the connection to the coordinator. Requests that were sent on
	// it are over; the machine has noted it.
	Drop  bool
	Sends []Send
	// Call is a callback to run; Done tells when it has returned. There is one
	// at a time.
	Call    *Call
	Commits []CommitResult
	Fetches []FetchResult
	Notices []Notice
	// Throw is an error that the application's poll returns.
	Throw error
}

// Send is a request to send.
type Send struct {
	ID      RequestID
	Request Request
	// Anywhere: to any broker rather than to the coordinator. Requests to the
	// coordinator go out on one connection, in order, which is not shared
	// with anything else: a parked JoinGroup blocks it.
	Anywhere bool
}

// CallKind is which callback.
type CallKind uint8

const (
	// Revoked: these partitions are given up in good order. Commits are taken.
	Revoked CallKind = iota + 1
	// Lost: these may have been given to others already.
	Lost
	// Assigned: these are new. It comes after every rebalance, also empty.
	Assigned
)

// String returns the callback's name.
func (k CallKind) String() string {
	return [...]string{"none", "revoked", "lost", "assigned"}[k]
}

// Call is a callback of the application.
type Call struct {
	Kind       CallKind
	Partitions []Partition
}

// CommitResult is how a commit ended; Err is nil if it is durable.
type CommitResult struct {
	ID  OpID
	Err error
	// Unknown: the commit may have been taken though Err is set.
	Unknown bool
}

// FetchResult is what a fetch found.
type FetchResult struct {
	ID      OpID
	Offsets []Offset
	Err     error
}

// Notice is a step of a rebalance, for whoever watches.
type Notice uint8

const (
	// NoticePrepare: a rebalance begins; comes once however many rounds fail.
	NoticePrepare Notice = iota + 1
	// NoticeComplete: it has ended and the callbacks have run.
	NoticeComplete
	// NoticeReset: the generation is lost.
	NoticeReset
	// NoticeLeft: a LeaveGroup was sent, or need not be.
	NoticeLeft
)

// Take returns what is to be done, and forgets it.
func (m *Machine) Take() Outputs {
	out := m.out
	m.out = Outputs{}
	return out
}

// Idle reports whether Take would return nothing.
func (m *Machine) Idle() bool {
	o := &m.out
	return !o.Drop && o.Call == nil && o.Throw == nil && len(o.Sends)+len(o.Commits)+len(o.Fetches)+len(o.Notices) == 0
}

func (m *Machine) note(n Notice) { m.out.Notices = append(m.out.Notices, n) }

func (m *Machine) throw(err error) { m.out.Throw = err }

// inFlight is a request that has no answer yet.
type inFlight struct {
	id       RequestID
	req      Request
	gen      Generation // when it was sent
	by       time.Duration
	op       OpID // of a commit or fetch
	anywhere bool
}

// send sends to the coordinator.
func (m *Machine) send(req Request, timeout time.Duration, op OpID) {
	m.nextRequest++
	r := inFlight{id: m.nextRequest, req: req, gen: m.gen, by: m.now + timeout, op: op}
	_, r.anywhere = req.(FindCoordinator)
	m.requests = append(m.requests, r)
	m.out.Sends = append(m.out.Sends, Send{ID: r.id, Request: req, Anywhere: r.anywhere})
}

// Answer is the response to a request. One that comes too late is ignored.
func (m *Machine) Answer(now time.Duration, id RequestID, resp Response) {
	m.now = now
	i := slices.IndexFunc(m.requests, func(r inFlight) bool { return r.id == id })
	if i < 0 {
		return
	}
	r := m.requests[i]
	m.requests = slices.Delete(m.requests, i, i+1)
	switch resp := resp.(type) {
	case Found:
		m.found(resp)
	case Joined:
		m.joinAnswered(&r, resp)
	case Synced:
		m.syncAnswered(&r, resp)
	case Beat:
		m.beatAnswered(&r, resp.Code)
	case Left:
	case Committed:
		m.commitAnswered(&r, resp.Codes)
	case Fetched:
		m.fetchAnswered(&r, resp)
	}
	m.goOnLeaving()
}

// Disconnected says that a connection has ended: to the coordinator, or
// anywhere else.
func (m *Machine) Disconnected(now time.Duration, anywhere bool) {
	m.now = now
	if anywhere {
		m.failRequests(true)
	} else {
		m.forgetCoordinator(false)
	}
	m.goOnLeaving()
}

// failRequests ends the requests of a connection without an answer.
func (m *Machine) failRequests(anywhere bool) {
	var over []inFlight
	m.requests = slices.DeleteFunc(m.requests, func(r inFlight) bool {
		if r.anywhere == anywhere {
			over = append(over, r)
			return true
		}
		return false
	})
	for i := range over {
		m.failed(&over[i])
	}
}

// failed ends one request without an answer.
func (m *Machine) failed(r *inFlight) {
	switch r.req.(type) {
	case FindCoordinator:
		m.finding = false
		m.backOffFinding()
	case Join, Sync:
		m.failRound(nil, true)
	case Heartbeat, Leave:
	case Commit:
		m.commitFailed(r)
	case Fetch:
		m.fetchFailed(r)
	}
}

// expireRequests gives up on requests whose time is over: the connection is
// dropped, and all that was sent on it fails.
func (m *Machine) expireRequests() {
	for i := range m.requests {
		if r := &m.requests[i]; r.by <= m.now {
			if r.anywhere {
				m.failRequests(true)
			} else {
				m.forgetCoordinator(true)
			}
			m.expireRequests()
			return
		}
	}
}
