package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// call is one request from its arrival until its reply has left.
type call struct {
	api.Call
	conn        *conn
	row         *row
	correlation int32
	arrived     time.Duration // by Server.clock

	// What follows is guarded by conn.mu.

	outcome outcome
	resp    kmsg.Response
	reason  error // of a drop
	onEnd   func()
	cost    int64 // taken from the row's budget
	// holders are those that still need the call: its handler, and the queue
	// until the reply has left. The last one recycles it.
	holders int8
	next    *call
}

type outcome uint8

const (
	unanswered outcome = iota
	replied
	silent  // there is no reply
	dropped // the connection ends when it is this call's turn
	broken  // its handler panicked: whatever it says later is not heard
)

// Reply implements api.Answerer. A request of a version that is not served,
// which only ApiVersions may have, is answered at version 0.
func (cl *call) Reply(r kmsg.Response) {
	version := cl.Version
	if !cl.row.serves(version) {
		version = 0
	}
	r.SetVersion(version)
	cl.conn.answer(cl, replied, r, nil)
}

// NoReply implements api.Answerer.
func (cl *call) NoReply() { cl.conn.answer(cl, silent, nil, nil) }

// Drop implements api.Answerer.
func (cl *call) Drop(reason error) { cl.conn.answer(cl, dropped, nil, reason) }

// Run implements api.Answerer.
func (cl *call) Run(f func()) { go cl.conn.run(cl, f) }

func (c *conn) run(cl *call, f func()) {
	defer c.guard()
	c.mu.Lock()
	c.handling++
	c.mu.Unlock()
	c.orBreakOff(cl, f)
	c.leave(true)
}

// orBreakOff calls f, and gives the call up if f panics.
func (c *conn) orBreakOff(cl *call, f func()) {
	returned := false
	defer func() {
		if !returned {
			c.breakOff(cl)
		}
	}()
	f()
	returned = true
}

// OnEnd implements api.Answerer.
func (cl *call) OnEnd(f func()) {
	c := cl.conn
	c.mu.Lock()
	ended := c.closed || c.draining
	if !ended && cl.outcome == unanswered {
		cl.onEnd = f
	}
	c.mu.Unlock()
	if ended {
		f()
	}
}

// answer settles the outcome of a call. If the reply can leave and nobody is
// about to take it, somebody is found who does.
func (c *conn) answer(cl *call, o outcome, r kmsg.Response, reason error) {
	c.mu.Lock()
	if cl.outcome == broken {
		c.mu.Unlock()
		return
	}
	if cl.outcome != unanswered {
		c.mu.Unlock()
		panic("wire: " + cl.row.Key.Name() + " was answered twice")
	}
	cl.outcome, cl.resp, cl.reason, cl.onEnd = o, r, reason, nil
	c.unanswered--
	if c.closed {
		c.unwritten--
		cl.next = nil
		c.mu.Unlock()
		c.release(cl)
		return
	}
	if o == dropped {
		c.draining = true // what comes behind it is not answered, so it must have no effect
	}
	start := c.queue.head == cl && c.handling == 0 && !c.writing
	if start {
		c.beginLocked()
	}
	c.changed.Signal()
	c.mu.Unlock()
	if start {
		c.startWriting(r)
	}
}

// enter puts a call in the queue before its handler runs. The reader will take
// the replies that are ready before it blocks again; until then nobody else
// needs to.
func (c *conn) enter(cl *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl.holders = 2
	c.unanswered++
	c.unwritten++
	if !c.counted {
		c.counted = true
		c.handling++
	}
	if c.closed {
		return // its answer will be thrown away
	}
	c.queue.push(cl)
}

// breakOff gives up a call whose handler panicked. It is not recycled, as the
// handler may have left something behind that will answer it.
func (c *conn) breakOff(cl *call) {
	c.mu.Lock()
	if cl.outcome != unanswered {
		c.mu.Unlock()
		return
	}
	cl.outcome, cl.onEnd = broken, nil
	cl.holders++
	c.unanswered--
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.release(cl)
	}
}

// release lets go of a list of calls whose replies have left, or never will,
// and gives back what was taken for them.
func (c *conn) release(list *call) {
	var data, group int64
	for cl := list; cl != nil; {
		next := cl.next
		cl.next = nil
		if cl.row.Class == api.OverlapsData {
			data += c.letGo(cl, 0)
		} else {
			group += c.letGo(cl, 0)
		}
		cl = next
	}
	if data > 0 {
		c.srv.data.give(data)
	}
	if group > 0 {
		c.srv.group.give(group)
	}
}

// letGo ends one of the two holds of a call and recycles it with the last. The
// handler's hold gives back what was taken for the frame, frame bytes; the
// queue's (frame is 0) all that is left. The amount is returned.
func (c *conn) letGo(cl *call, frame int64) int64 {
	c.mu.Lock()
	freed := cl.cost
	if frame > 0 {
		freed = min(freed, frame)
	}
	cl.cost -= freed
	cl.holders--
	last := cl.holders == 0
	c.mu.Unlock()
	if last {
		cl.row.recycle(cl.Request)
		*cl = call{}
		c.srv.calls.Put(cl)
	}
	return freed
}

func (s *Server) newCall() *call {
	if cl, ok := s.calls.Get().(*call); ok {
		return cl
	}
	return &call{}
}

// callQueue is a list of calls in the order of their requests.
type callQueue struct{ head, tail *call }

func (q *callQueue) push(cl *call) {
	if q.head == nil {
		q.head = cl
	} else {
		q.tail.next = cl
	}
	q.tail = cl
}

// ready takes the answered calls off the front, at most n of them.
func (q *callQueue) ready(n int) *call {
	first := q.head
	var last *call
	for cl := first; cl != nil && cl.outcome != unanswered && n > 0; cl = cl.next {
		last = cl
		n--
	}
	if last == nil {
		return nil
	}
	q.head, last.next = last.next, nil
	return first
}

// abandon empties the queue and returns the calls that have been answered.
// The others are on their own.
func (q *callQueue) abandon() *call {
	var answered callQueue
	for cl := q.head; cl != nil; {
		next := cl.next
		cl.next = nil
		if cl.outcome != unanswered {
			answered.push(cl)
		}
		cl = next
	}
	*q = callQueue{}
	return answered.head
}
