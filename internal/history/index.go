package history

import (
	"slices"

	"rota/internal/story"
)

// groupLimit is how many events of one group are kept.
const groupLimit = 2000

// index keeps the recent events of groups, up to a number of bytes: beyond it,
// the oldest events go first, whosever they are. One group may have a quarter
// of it, so that a group that never rests leaves room for the others.
type index struct {
	limit, size int
	events      int // in all groups
	groups      map[string]*past
	order       queue
	forgotten   int64 // time of the newest event that went in its turn, whosever it was; 0: none
}

// past is what has happened to a group. events is never changed in place, so
// that readers may keep it. The first gone of them are forgotten, and take
// memory until they are as many as a quarter of the rest.
type past struct {
	id     string
	events []story.Event
	sizes  []int32
	gone   int
	size   int // of events, those that are gone among them
	// early is how many events went before their turn in the queue came, and
	// forgotten the time of the newest of those.
	early     int
	forgotten int64
}

func newIndex(limit int) *index { return &index{limit: limit, groups: map[string]*past{}} }

// add notes an event.
func (x *index) add(id string, e *story.Event) {
	p := x.groups[id]
	if p == nil {
		p = &past{id: id}
		x.groups[id] = p
		x.size += groupOverhead + len(id)
	}
	bytes := sizeOf(e)
	p.events, p.sizes = append(p.events, *e), append(p.sizes, int32(bytes))
	p.size += bytes
	x.size += bytes
	x.events++
	x.order.push(p)
	for n := len(p.events) - p.gone; n > 1 && (n > groupLimit || p.size > x.limit/4); n-- {
		p.early++
		p.forgotten = max(p.forgotten, p.events[p.gone].TimeMillis)
		x.drop(p)
	}
	for x.size > x.limit && x.order.n > 1 {
		x.dropOldest()
	}
	if x.order.n > 2*x.events+minRing {
		x.tidyOrder()
	}
}

// dropOldest forgets the event that is next in the queue.
func (x *index) dropOldest() {
	p := x.order.pop()
	if p.early > 0 {
		p.early--
		return
	}
	x.forgotten = max(x.forgotten, p.events[p.gone].TimeMillis)
	x.drop(p)
}

// tidyOrder takes entries of events that are gone out of the queue. A group
// that never rests would fill it behind one event of a quiet group.
func (x *index) tidyOrder() {
	var tidy queue
	for x.order.n > 0 {
		if p := x.order.pop(); p.early > 0 {
			p.early--
		} else {
			tidy.push(p)
		}
	}
	x.order = tidy
}

// drop forgets the oldest event of a group, and the group with its last one.
func (x *index) drop(p *past) {
	p.gone++
	x.events--
	left := len(p.events) - p.gone
	if left == 0 {
		delete(x.groups, p.id)
		x.size -= p.size + groupOverhead + len(p.id)
		return
	}
	if p.gone <= left/4 {
		return
	}
	for _, bytes := range p.sizes[:p.gone] {
		p.size -= int(bytes)
		x.size -= int(bytes)
	}
	p.events, p.sizes, p.gone = slices.Clone(p.events[p.gone:]), slices.Clone(p.sizes[p.gone:]), 0
}

// of returns the events of a group, the oldest first.
func (x *index) of(id string) []story.Event {
	if p := x.groups[id]; p != nil {
		return slices.Clip(p.events[p.gone:])
	}
	return nil
}

// forgottenOf is the time of the newest event of the group that may have been
// forgotten, 0 if none has been.
func (x *index) forgottenOf(id string) int64 {
	if p := x.groups[id]; p != nil {
		return max(x.forgotten, p.forgotten)
	}
	return x.forgotten
}

// addAll adds what another index has, in the order in which that was told. The
// other one is of no use afterwards.
func (x *index) addAll(o *index) {
	x.forgotten = max(x.forgotten, o.forgotten)
	for o.order.n > 0 {
		p := o.order.pop()
		if p.early > 0 {
			p.early--
			continue
		}
		x.add(p.id, &p.events[p.gone])
		p.gone++
		to := x.groups[p.id]
		to.forgotten = max(to.forgotten, p.forgotten)
	}
}

// minRing is the smallest capacity of a queue that is not empty.
const minRing = 64

// queue has an entry for each event that was told, the oldest first: whose it is.
type queue struct {
	ring    []*past
	head, n int
}

func (q *queue) push(p *past) {
	if q.n == len(q.ring) {
		grown := make([]*past, max(minRing, 2*len(q.ring)))
		copy(grown[copy(grown, q.ring[q.head:]):], q.ring[:q.head])
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = p
	q.n++
}

func (q *queue) pop() *past {
	p := q.ring[q.head]
	q.ring[q.head] = nil
	q.head, q.n = (q.head+1)%len(q.ring), q.n-1
	return p
}
