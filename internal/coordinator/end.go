package coordinator

import (
	"errors"
	"fmt"

	"rota/internal/group"
)

var (
	// errMoved: the shard was told to go.
	errMoved = errors.New("shard has moved")
	// errCrashed: the shard's own code has panicked.
	errCrashed = errors.New("panic in the shard")
)

// AppendError says that a batch could not be appended or made durable.
type AppendError struct {
	Offset group.Offset // of the batch's first record
	Err    error
}

func (e *AppendError) Error() string { return fmt.Sprintf("append at offset %d: %v", e.Offset, e.Err) }
func (e *AppendError) Unwrap() error { return e.Err }

// OffsetError says that a batch went elsewhere than the shard expected.
type OffsetError struct{ Want, Got group.Offset }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("append went to offset %d instead of %d", e.Got, e.Want)
}

// Unload ends the shard because another one takes over: what is parked or
// waits for the log is answered with NOT_COORDINATOR.
func (s *Shard) Unload() {
	if s.ended == nil {
		s.end(errMoved)
	}
}

// Crash is what a shard was doing when it panicked.
type Crash struct {
	// Group is the group whose machine was called, "" if none was.
	Group string
	// InGroup says that a machine was called.
	InGroup bool
	// What names the call: "step", "tick", "apply", ...
	What string
	// Machine is the group's; it may be in any state.
	Machine Machine
	Calls   []recentCall
	Events  []GroupEvents
}

// Running describes the call that is being made on a machine.
func (s *Shard) Running() Crash {
	e := s.running.entry
	if e == nil {
		return Crash{What: "nothing"}
	}
	c := Crash{Group: e.id, InGroup: true, What: s.running.what, Machine: e.m}
	for _, call := range s.recent.calls.list() {
		if call.group == e.id {
			c.Calls = append(c.Calls, call)
		}
	}
	for _, ev := range s.recent.events.list() {
		if ev.Group == e.id {
			c.Events = append(c.Events, ev)
		}
	}
	return c
}

// Crashed ends the shard after a panic in the middle of a turn: the request
// that was being run is answered with UNKNOWN_SERVER_ERROR, its group is left
// alone, and all else ends as usual. If that panics too, calling it again goes
// on without the group that did.
func (s *Shard) Crashed() {
	was := s.running
	s.running = running{}
	if p := s.tickets.get(was.ticket); was.req != nil && p != nil {
		if _, ok := was.req.(group.ForgetTopic); !ok {
			s.answer(was.ticket, group.Refuse(was.req, codeUnknownServerError))
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
// records are in the log; then every group unloads, except broken ones, and
// what is open after that is answered the same. There is no undo: the successor
// reads the log.
func (s *Shard) end(why error) {
	s.ended = why
	s.refuseFlight()
	for len(s.order) > 0 {
		e := s.order[0]
		s.order = s.order[1:]
		if e.broken {
			continue
		}
		s.running = running{entry: e, what: "unload"}
		effects := e.m.Unload(s.now)
		for _, r := range effects.Replies {
			s.answer(r.Ticket, r.Body)
		}
		if len(effects.Events) > 0 {
			s.publish(nil, GroupEvents{e.id, effects.Events})
		}
	}
	s.running = running{}
	for _, t := range s.tickets.all() {
		s.refuse(t)
	}
	s.groups, s.order, s.due, s.passes = nil, nil, dueHeap{}, nil
}

// refuseFlight refuses what waits for batches, and puts one event for each
// group in the place of those that are dropped.
func (s *Shard) refuseFlight() {
	at := make(map[string]int)
	var lost []GroupEvents
	for s.flight.len() > 0 {
		b := s.flight.pop()
		for _, h := range b.replies {
			s.refuse(h.reply.Ticket)
		}
		for _, ev := range b.events {
			i, ok := at[ev.Group]
			if !ok {
				i, at[ev.Group] = len(lost), len(lost)
				lost = append(lost, GroupEvents{ev.Group, []group.Event{{Kind: group.EventsLost}}})
			}
			lost[i].Events[0].Count += len(ev.Events)
		}
	}
	s.flight.abandon()
	s.out.Events = append(s.out.Events, lost...)
}

// refuse answers an open request with NOT_COORDINATOR. A pass over the groups
// is not answered: whoever asked for it asks the successor.
func (s *Shard) refuse(t group.Ticket) {
	p := s.tickets.get(t)
	if p == nil {
		return
	}
	req, done := p.req, p.done
	s.tickets.giveBack(t) // first, so that a panic below does not come again for ever
	if _, ok := req.(group.ForgetTopic); !ok {
		s.out.Releases = append(s.out.Releases, Release{Ticket: t, Done: done, Body: group.Refuse(req, codeNotCoordinator)})
	}
}
