package sim

import (
	"slices"
	"time"

	"rota/internal/client"
	"rota/internal/coordinator"
	"rota/internal/group"
)

// call is one request on its way through a connection, a shard and back.
type call struct {
	w     *World
	actor *actor
	conn  *conn
	req   group.Request
	group int
	// rid is the machine's name for it, 0 if no machine has sent it.
	rid  client.RequestID
	sent time.Duration

	taken   bool // the broker has read it
	life    *life
	ticket  group.Ticket
	answers int
	body    group.Response

	// What the probe has found out.
	member  string       // the member that it speaks for
	replied bool         // the group has replied, the shard may hold it back
	good    bool         // with no error
	needs   group.Offset // end of what must be durable before the reply leaves
	parked  bool         // the group did not reply at once
	barrier bool         // the end of a join phase is the reply
	gen     *generation  // that the reply is about
	passOf  bool         // a pass over all groups rather than a request
	op      int          // of the history, -1 if it is in none

	// takes is how long the answer is on its way; readAfter and deliverAfter are
	// when the broker can have the request and the actor the answer.
	takes                   time.Duration
	readAfter, deliverAfter time.Duration
}

// delay is what holds up one of the next requests over a connection.
type delay struct {
	after  int // requests that get through before it
	takes  time.Duration
	answer bool // it is the answer that takes its time
}

// lanes is how many connections an actor may have. In worlds of owners JoinGroup
// and SyncGroup have one of their own, as with franz-go: heartbeats overtake
// them. Elsewhere all goes over the first.
const lanes = 2

// groupLane is the connection for JoinGroup and SyncGroup.
const groupLane = 1

// lanes is how many connections each actor has.
func (w *World) lanes() int {
	if w.o.owners {
		return lanes
	}
	return 1
}

// lane says over which of its connections an actor sends a request.
func (w *World) lane(req group.Request) int {
	if w.o.owners {
		switch req.(type) {
		case group.Join, group.Sync:
			return groupLane
		}
	}
	return 0
}

// conn is one connection between an actor and the broker. The broker answers
// in the order of the requests.
type conn struct {
	actor *actor
	lane  int
	calls []*call // sent and not answered, oldest first
	// lost: nothing comes through any more, and nobody knows.
	lost bool
	over bool
}

// delay holds up one of the actor's next requests, or its answer.
func (w *World) delay(a *actor, n uint64) bool {
	r := random(n)
	a.delays[r.below(w.lanes())] = delay{
		after: r.below(2), answer: r.oneIn(2),
		takes: millis(uint64(r.below(pick(&r, 3000, 12_000, 40_000)))),
	}
	return true
}

// late has the broker read what was sent over a connection that has ended. In
// worlds of owners that does not happen: a JoinGroup from before the last one
// has the others share out what its member owns, and no clock tells it.
func (w *World) late(a *actor, _ uint64) bool {
	if len(a.late) == 0 {
		return false
	}
	c := a.late[0]
	a.late = a.late[1:]
	w.count("read late")
	w.read(c)
	return true
}

// push sends a request.
func (w *World) push(a *actor, req group.Request, rid client.RequestID) *call {
	lane := w.lane(req)
	if a.conns[lane] == nil {
		a.conns[lane] = &conn{actor: a, lane: lane}
	}
	to := a.conns[lane]
	c := &call{w: w, actor: a, conn: to, req: req, group: a.group, rid: rid, sent: w.mono, op: -1}
	to.calls = append(to.calls, c)
	if d := &a.delays[lane]; d.after > 0 {
		d.after--
	} else if d.answer {
		c.takes, *d = d.takes, delay{}
	} else {
		c.readAfter, *d = w.mono+d.takes, delay{}
	}
	w.historyCall(c)
	return c
}

// freed is the earlier of a time, if there is one, and of when something gets
// through again.
func (c *conn) freed(now, at time.Duration, ok bool) (time.Duration, bool) {
	for _, x := range c.calls {
		for _, free := range []time.Duration{x.readAfter, x.deliverAfter} {
			if free > now && (!ok || free < at) {
				at, ok = free, true
			}
		}
	}
	return at, ok
}

// waits reports whether the actor has asked what has no answer yet.
func (a *actor) waits() bool {
	return slices.ContainsFunc(a.conns[:], func(c *conn) bool { return c != nil && len(c.calls) > 0 })
}

// readable returns the next request that the broker may read from the
// connection, or nil.
func (w *World) readable(c *conn) *call {
	if c == nil || c.lost || c.over {
		return nil
	}
	open := 0
	for _, x := range c.calls {
		if !x.taken {
			if w.mono < x.readAfter || open > 0 && open >= w.o.pipeline {
				return nil
			}
			return x
		}
		if x.body == nil {
			open++
		}
	}
	return nil
}

// deliverable returns the answer that the actor gets next, or nil.
func (w *World) deliverable(c *conn) *call {
	if c == nil || c.lost || c.over || len(c.calls) == 0 || c.calls[0].body == nil || w.mono < c.calls[0].deliverAfter {
		return nil
	}
	return c.calls[0]
}

// maxLate is how many requests of an actor may come late.
const maxLate = 8

// cut ends a connection. What the broker has read goes on; its answers go
// nowhere. So do those to what it reads later.
func (w *World) cut(c *conn) {
	c.over = true
	for _, x := range c.calls {
		if !x.taken && !w.o.owners && !w.o.history && !w.calmed && len(c.actor.late) < maxLate {
			c.actor.late = append(c.actor.late, x)
		}
	}
	for _, x := range c.calls {
		if !x.taken || x.body != nil {
			w.historyLost(x)
		}
	}
	c.calls = nil
	if at := &c.actor.conns[c.lane]; *at == c {
		*at = nil
	}
}

// deliver hands an answer to its actor.
func (w *World) deliver(c *call) {
	c.conn.calls = slices.Delete(c.conn.calls, 0, 1)
	w.historyReturn(c)
	w.hash(uint64(c.actor.number)<<8 | 2)
	c.actor.receive(w, c)
}

// life is one incarnation of a shard.
type life struct {
	shard *shard
	s     *coordinator.GroupShard
	calls []*call // open ones, by the place that their ticket names
	open  int
	began time.Duration // when it was activated
	// forgets are the passes over the groups that somebody waits for, and how
	// far the log must be durable for each.
	forgets map[group.Ticket]*call
	pending []*call // passes that have been asked for
	// probes are the newest of each group.
	probes map[string]*probe
}

// put notes which request a ticket is for.
func (l *life) put(t group.Ticket, c *call) {
	place := int(uint32(t))
	for len(l.calls) <= place {
		l.calls = append(l.calls, nil)
	}
	l.calls[place] = c
	c.ticket = t
}

// get returns the request that a ticket is for, or nil if it is not open.
func (l *life) get(t group.Ticket) *call {
	if place := int(uint32(t)); place < len(l.calls) && l.calls[place] != nil && l.calls[place].ticket == t {
		return l.calls[place]
	}
	return nil
}

// drop forgets a ticket.
func (l *life) drop(t group.Ticket) {
	if l.get(t) != nil {
		l.calls[int(uint32(t))] = nil
	}
}

// forgetOf is the pass that a ticket is for. Passes run one after the other.
func (l *life) forgetOf(t group.Ticket) *call {
	c := l.forgets[t]
	if c == nil {
		c = l.pending[0]
		l.pending = l.pending[1:]
		l.forgets[t] = c
	}
	return c
}
