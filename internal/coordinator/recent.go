package coordinator

import "rota/internal/group"

// recentLength is how many calls, and how many lots of events, a shard
// remembers for the report of a panic.
const recentLength = 32

// recent is what has happened last in a shard.
type recent struct {
	calls  ring[recentCall]
	events ring[GroupEvents]
}

// recentCall is a request, or a tick if there is none.
type recentCall struct {
	now   group.Now
	group string
	req   group.Request
}

func (r *recent) note(now group.Now, id string, req group.Request) {
	r.calls.push(recentCall{now, id, req})
}

func (r *recent) noteEvents(id string, events []group.Event) {
	r.events.push(GroupEvents{id, events})
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

// list returns the values, oldest first.
func (r *ring[T]) list() []T {
	return append(append([]T(nil), r.values[r.oldest:]...), r.values[:r.oldest]...)
}
