package group

import (
	"math"
	"time"
)

// never is the deadline of what has none.
const never = time.Duration(math.MaxInt64)

// lease is the time that a member, or an id that was handed out, has before
// it is given up.
type lease struct {
	due time.Duration // never while it does not run
	key time.Duration // where the heap believes it is; never after due
	seq uint64        // breaks ties by age
	at  int           // place in the heap
	// One of these owns the lease.
	member  *member
	pending *pendingJoin
}

// leases is a heap with the earliest lease first. A lease that is put off, as
// by every heartbeat, stays where it is until it comes to the top and is seen
// to be due later: heartbeats cost one store.
type leases []*lease

// add takes in a lease that is due at the given time.
func (h *leases) add(l *lease, due time.Duration) {
	l.due, l.key = due, due
	l.at = len(*h)
	*h = append(*h, l)
	h.up(l.at)
}

// drop takes a lease out.
func (h *leases) drop(l *lease) {
	i, last := l.at, len(*h)-1
	h.put(i, (*h)[last])
	(*h)[last] = nil
	*h = (*h)[:last]
	if i < last {
		h.up(i)
		h.down((*h)[i].at)
	}
}

// move makes the lease due at the given time.
func (h *leases) move(l *lease, due time.Duration) {
	l.due = due
	if due < l.key {
		l.key = due
		h.up(l.at)
	}
}

// first returns the lease that is due next, or nil if there is none.
func (h *leases) first() *lease {
	for len(*h) > 0 {
		l := (*h)[0]
		if l.key == l.due {
			return l
		}
		l.key = l.due
		h.down(0)
	}
	return nil
}

// rebuild puts the heap in order after many leases have changed their due
// time without a call of move.
func (h *leases) rebuild() {
	for i, l := range *h {
		l.key, l.at = l.due, i
	}
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *leases) put(i int, l *lease) {
	(*h)[i] = l
	l.at = i
}

func (h *leases) up(i int) {
	l := (*h)[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !l.before((*h)[parent]) {
			break
		}
		h.put(i, (*h)[parent])
		i = parent
	}
	h.put(i, l)
}

func (h *leases) down(i int) {
	l := (*h)[i]
	for {
		child := 2*i + 1
		if child >= len(*h) {
			break
		}
		if child+1 < len(*h) && (*h)[child+1].before((*h)[child]) {
			child++
		}
		if !(*h)[child].before(l) {
			break
		}
		h.put(i, (*h)[child])
		i = child
	}
	h.put(i, l)
}

func (l *lease) before(o *lease) bool {
	return l.key < o.key || l.key == o.key && l.seq < o.seq
}
