package history

import "rota/internal/story"

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

// past is what has happened to a group: a list in pieces, all but the first and the
// last of pieceLength, so that events come and go and none is moved for it.
type past struct {
	id     string
	pieces [][]kept
	gone   int // events of the first piece that are forgotten
	events int // that are not
	size   int // of events, and of the room of those that are gone
	// early is how many events went before their turn in the queue came, and
	// forgotten the time of the newest of those.
	early     int
	forgotten int64
}

// kept is an event and what it takes in memory.
type kept struct {
	event story.Event
	bytes int
}

// pieceLength is short because the room of events that are gone is free only
// with the last of their piece, and counts until then.
const pieceLength = 8

// push adds an event.
func (p *past) push(e *story.Event, bytes int) {
	last := len(p.pieces) - 1
	switch {
	case last < 0:
		p.pieces = append(p.pieces, nil)
		last = 0
	case len(p.pieces[last]) == pieceLength:
		p.pieces = append(p.pieces, make([]kept, 0, pieceLength))
		last++
	}
	p.pieces[last] = append(p.pieces[last], kept{*e, bytes})
	p.events++
	p.size += bytes
}

// oldest is the event that pop takes out.
func (p *past) oldest() *story.Event { return &p.pieces[0][p.gone].event }

// pop forgets the oldest event and returns what is free of its memory.
func (p *past) pop() (freed int) {
	k := &p.pieces[0][p.gone]
	freed = k.bytes - eventOverhead
	*k = kept{}
	p.gone++
	p.events--
	if p.gone == len(p.pieces[0]) {
		freed += p.gone * eventOverhead
		p.pieces[0] = nil
		p.pieces, p.gone = p.pieces[1:], 0
	}
	p.size -= freed
	return freed
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
	p.push(e, bytes)
	x.size += bytes
	x.events++
	x.order.push(p)
	for p.events > 1 && (p.events > groupLimit || p.size > x.limit/4) {
		p.early++
		p.forgotten = max(p.forgotten, p.oldest().TimeMillis)
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
	x.forgotten = max(x.forgotten, p.oldest().TimeMillis)
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
	x.events--
	x.size -= p.pop()
	if p.events == 0 {
		delete(x.groups, p.id)
		x.size -= p.size + groupOverhead + len(p.id)
	}
}

// of returns the events of a group, the oldest first.
func (x *index) of(id string) []story.Event {
	p := x.groups[id]
	if p == nil {
		return nil
	}
	list := make([]story.Event, 0, p.events)
	gone := p.gone
	for _, piece := range p.pieces {
		for i := range piece[gone:] {
			list = append(list, piece[gone+i].event)
		}
		gone = 0
	}
	return list
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
		x.add(p.id, p.oldest())
		p.pop()
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
