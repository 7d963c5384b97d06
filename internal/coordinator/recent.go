package coordinator

import "rota/internal/machine"

// recentLength is how many calls, and how many lots of events, a shard
// remembers for the report of a panic.
const recentLength = 32

// recent is what has happened last in a shard.
type recent[Q, E any] struct {
	calls  ring[recentCall[Q]]
	events ring[Published[E]]
}

// recentCall is a request or a tick.
type recentCall[Q any] struct {
	now  machine.Now
	id   string
	tick bool
	req  Q
}

func (r *recent[Q, E]) note(now machine.Now, id string, req Q) {
	r.calls.push(recentCall[Q]{now: now, id: id, req: req})
}

func (r *recent[Q, E]) noteTick(now machine.Now, id string) {
	r.calls.push(recentCall[Q]{now: now, id: id, tick: true})
}

// noteEvents keeps the events for long: without what refers to records and
// requests, if they have such.
func (r *recent[Q, E]) noteEvents(id string, events []E) {
	if _, ok := any(events[0]).(briefer[E]); ok {
		brief := make([]E, len(events))
		for i := range events {
			brief[i] = any(events[i]).(briefer[E]).Brief()
		}
		events = brief
	}
	r.events.push(Published[E]{id, events})
}

// briefer is an event that can be told in brief.
type briefer[E any] interface{ Brief() E }

// ring keeps the last recentLength values.
type ring[T any] struct {
	values []T
	oldest int
}

func (r *ring[T]) push(v T) {
	if len(r.values) < recentLength {
		r.values = append(r.values, v)
		return
	}
	r.values[r.oldest] = v
	r.oldest = (r.oldest + 1) % recentLength
}

// list returns the values, oldest first.
func (r *ring[T]) list() []T {
	return append(append([]T(nil), r.values[r.oldest:]...), r.values[:r.oldest]...)
}
