package coordinator

import (
	"errors"
	"fmt"

	"rota/internal/machine"
)

var (
	// errMoved: the shard was told to go.
	errMoved = errors.New("shard has moved")
	// errCrashed: the shard's own code has panicked.
	errCrashed = errors.New("panic in the shard")
)

// AppendError says that a batch could not be appended or made durable.
type AppendError struct {
	Offset machine.Offset // of the batch's first record
	Err    error
}

func (e *AppendError) Error() string { return fmt.Sprintf("append at offset %d: %v", e.Offset, e.Err) }
func (e *AppendError) Unwrap() error { return e.Err }

// OffsetError says that a batch went elsewhere than the shard expected.
type OffsetError struct{ Want, Got machine.Offset }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("append went to offset %d instead of %d", e.Got, e.Want)
}

// Unload ends the shard because another one takes over: what is parked or
// waits for the log is answered with NOT_COORDINATOR.
func (s *Shard[Q, R, E]) Unload() {
	if s.ended == nil {
		s.end(errMoved)
	}
}

// Crash is what a shard was doing when it panicked.
type Crash[Q, R, E any] struct {
	// ID is that of the machine that was called, "" if none was.
	ID string
	// InMachine says that a machine was called.
	InMachine bool
	// What names the call: "step", "tick", "apply", ...
	What string
	// Machine may be in any state.
	Machine Machine[Q, R, E]
	Calls   []recentCall[Q]
	Events  []Published[E]
}

// Running describes the call that is being made on a machine.
func (s *Shard[Q, R, E]) Running() Crash[Q, R, E] {
	e := s.running.entry
	if e == nil {
		return Crash[Q, R, E]{What: "nothing"}
	}
	c := Crash[Q, R, E]{ID: e.id, InMachine: true, What: s.running.what, Machine: e.m}
	for _, call := range s.recent.calls.list() {
		if call.id == e.id {
			c.Calls = append(c.Calls, call)
		}
	}
	for _, ev := range s.recent.events.list() {
		if ev.ID == e.id {
			c.Events = append(c.Events, ev)
		}
	}
	return c
}

// Crashed ends the shard after a panic in the middle of a turn: the request
// that was being run is answered with UNKNOWN_SERVER_ERROR, its machine is left
// alone, and all else ends as usual. If that panics too, calling it again goes
// on without the machine that did.
func (s *Shard[Q, R, E]) Crashed() {
	was := s.running
	s.running = running[Q, R, E]{}
	if p := s.tickets.get(was.ticket); was.asked && p != nil {
		if !p.pass {
			s.answer(was.ticket, s.kind.Refuse(was.req, codeUnknownServerError))
		}
	}
	if was.entry != nil {
		was.entry.broken = true
	}
	why := s.ended
	if why == nil {
		why = errCrashed
	}
	s.end(why)
}

// end ends the shard. Answers that wait for a batch are replaced by
// NOT_COORDINATOR, in log order, for nobody can say any more whether their
// records are in the log; then every machine unloads, except broken ones, and
// what is open after that is answered the same. There is no undo: the successor
// reads the log.
func (s *Shard[Q, R, E]) end(why error) {
	s.ended = why
	s.refuseFlight()
	for len(s.order) > 0 {
		e := s.order[0]
		s.order = s.order[1:]
		if e.broken {
			continue
		}
		s.running = running[Q, R, E]{entry: e, what: "unload"}
		effects := e.m.Unload(s.now)
		for _, r := range effects.Replies {
			s.answer(r.Ticket, r.Body)
		}
		if len(effects.Events) > 0 {
			s.publish(nil, Published[E]{e.id, effects.Events})
		}
	}
	s.running = running[Q, R, E]{}
	for _, t := range s.tickets.all() {
		s.refuse(t)
	}
	s.machines, s.order, s.due, s.passes = nil, nil, dueHeap[Q, R, E]{}, nil
}

// refuseFlight refuses what waits for batches, and puts one event for each
// machine in the place of those that are dropped.
func (s *Shard[Q, R, E]) refuseFlight() {
	at := make(map[string]int)
	var lost []Published[E]
	var dropped []int
	for s.flight.len() > 0 {
		b := s.flight.pop()
		for _, h := range b.replies {
			s.refuse(h.reply.Ticket)
		}
		for _, done := range b.marks {
			s.tell(done, s.ended)
		}
		for _, ev := range b.events {
			i, ok := at[ev.ID]
			if !ok {
				i, at[ev.ID] = len(lost), len(lost)
				lost = append(lost, Published[E]{ev.ID, nil})
				dropped = append(dropped, 0)
			}
			dropped[i] += len(ev.Events)
		}
	}
	s.flight.abandon()
	for i := range lost {
		lost[i].Events = []E{s.kind.Lost(dropped[i])}
	}
	s.out.Events = append(s.out.Events, lost...)
}

// refuse answers an open request with NOT_COORDINATOR. A pass over the machines
// is not answered: whoever asked for it asks the successor.
func (s *Shard[Q, R, E]) refuse(t machine.Ticket) {
	p := s.tickets.get(t)
	if p == nil {
		return
	}
	req, done, pass := p.req, p.done, p.pass
	s.tickets.giveBack(t) // first, so that a panic below does not come again for ever
	if !pass {
		s.out.Releases = append(s.out.Releases, Release[R]{Ticket: t, Done: done, Body: s.kind.Refuse(req, codeNotCoordinator)})
	}
}
