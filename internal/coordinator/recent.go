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

// noteEvents keeps copies of the events for long: without what refers to records
// and requests, if they have such.
func (r *recent[Q, E]) noteEvents(id string, events []E) {
	lot := r.events.next()
	lot.ID, lot.Events = id, append(lot.Events[:0], events...)
	for i := range lot.Events {
		if e, ok := any(&lot.Events[i]).(interface{ Shorten() }); ok {
			e.Shorten()
		}
	}
}

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

// next returns the place of the next value, which may still hold an old one.
func (r *ring[T]) next() *T {
	var none T
	if len(r.values) < recentLength {
		r.push(none)
		return &r.values[len(r.values)-1]
	}
	v := &r.values[r.oldest]
	r.oldest = (r.oldest + 1) % recentLength
	return v
}

// list returns the values, oldest first.
func (r *ring[T]) list() []T {
	return append(append([]T(nil), r.values[r.oldest:]...), r.values[:r.oldest]...)
}
