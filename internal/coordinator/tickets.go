package coordinator

import "rota/internal/machine"

// open is one request between its arrival and its answer.
type open[Q, R any] struct {
	generation uint32
	taken      bool
	pass       bool // it goes to every machine
	req        Q
	done       func(R)
}

// tickets numbers the open requests of a shard. A number is never given twice
// in the life of a shard: its low half is a place, its high half counts the
// uses of the place.
type tickets[Q, R any] struct {
	places []open[Q, R]
	free   []uint32
	taken  int
}

func (ts *tickets[Q, R]) take(req Q, done func(R)) machine.Ticket {
	var i uint32
	if n := len(ts.free); n > 0 {
		i, ts.free = ts.free[n-1], ts.free[:n-1]
	} else {
		i = uint32(len(ts.places))
		ts.places = append(ts.places, open[Q, R]{})
	}
	p := &ts.places[i]
	*p = open[Q, R]{generation: p.generation + 1, taken: true, req: req, done: done}
	ts.taken++
	return machine.Ticket(uint64(p.generation)<<32 | uint64(i))
}

// get returns the open request, or nil if the ticket has been given back.
func (ts *tickets[Q, R]) get(t machine.Ticket) *open[Q, R] {
	i := uint32(t)
	if int(i) >= len(ts.places) {
		return nil
	}
	if p := &ts.places[i]; p.taken && p.generation == uint32(t>>32) {
		return p
	}
	return nil
}

// giveBack ends the request.
func (ts *tickets[Q, R]) giveBack(t machine.Ticket) {
	i := uint32(t)
	ts.places[i] = open[Q, R]{generation: ts.places[i].generation}
	ts.free = append(ts.free, i)
	ts.taken--
}

// all lists the open tickets by place.
func (ts *tickets[Q, R]) all() []machine.Ticket {
	var list []machine.Ticket
	for i, p := range ts.places {
		if p.taken {
			list = append(list, machine.Ticket(uint64(p.generation)<<32|uint64(i)))
		}
	}
	return list
}
