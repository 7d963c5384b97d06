package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

const (
	// atOnce is how many replies are taken from the queue in one go.
	atOnce = 64
	// writeSize is how much a write hands over, so that a slow peer shows
	// progress in steps; replies are gathered up to it.
	writeSize = 256 << 10
	// largestReply bounds one deferred reply.
	largestReply = 16 << 20
)

// startWriting has the ready replies written when nobody else is about to take
// them. The caller has set c.writing; first is the reply that leaves first. What is
// put together only then may take its time, and gets a goroutine of its own.
func (c *conn) startWriting(first kmsg.Response) {
	_, deferred := first.(api.Deferred)
	if c.socket.raw != nil && !deferred {
		c.srv.writers.add(c)
	} else {
		go c.writeAt(nil)
	}
}

// settle is what the reader does before it blocks: it writes the replies that
// are ready, in one go, and leaves later ones to whoever answers.
func (c *conn) settle() {
	counted := c.counted
	c.counted = false
	c.leave(counted)
}

// leave writes the replies that are ready. counted says that the goroutine has
// counted itself as one that would.
func (c *conn) leave(counted bool) {
	c.mu.Lock()
	if counted {
		c.handling--
	}
	mine := !c.writing && c.queue.head != nil && c.queue.head.outcome != unanswered
	if mine {
		c.beginLocked()
	}
	c.mu.Unlock()
	if mine {
		c.flush(nil)
	}
}

// beginLocked claims the writing of replies. The peer has its time from now on,
// however long it had to wait for the first of them.
func (c *conn) beginLocked() {
	c.progress()
	c.writing = true
}

// flush takes replies from the queue and writes them until none is ready.
// The caller has set c.writing. While it holds p it waits for nobody.
func (c *conn) flush(p *place) {
	out := reply{conn: c, place: p, buf: c.srv.buffers.get(minReply)}
	var list *call
	defer func() {
		out.end()
		c.release(list) // not nil only if a response broke its encoder
	}()
	for round := 1; ; round++ {
		if round%inTurn == 0 {
			p.giveUp() // there may always be more, and others wait
		}
		c.mu.Lock()
		list = c.queue.ready(atOnce)
		if list == nil {
			c.writing = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()

		err := out.add(list)
		if err == nil {
			err = out.send()
		}
		c.wrote(list)
		list = nil
		if err != nil {
			c.close(err)
			return
		}
	}
}

const minReply = 1 << 10

// wrote lets go of the calls and lets the reader go on.
func (c *conn) wrote(list *call) {
	n, now := 0, c.srv.clock()
	for cl := list; cl != nil; cl = cl.next {
		cl.row.latency.Observe(now - cl.arrived)
		n++
	}
	c.mu.Lock()
	c.unwritten -= n
	c.changed.Signal()
	c.mu.Unlock()
	c.release(list)
}

// reply is bytes on their way out.
type reply struct {
	conn  *conn
	place *place // of the goroutine, nil if it may wait
	buf   *buffer
	held  int64 // of the reply budget, for deferred replies in buf
	// steps has what belongs between the bytes of buf; nil as long as no
	// deferred reply has been in it.
	steps *stepper
}

// add encodes the replies of a list of calls. What grows large is sent on the
// way. It returns the reason of a call that ends the connection.
func (o *reply) add(list *call) error {
	for cl := list; cl != nil; cl = cl.next {
		switch cl.outcome {
		case replied:
			o.encode(cl)
		case dropped:
			if err := o.send(); err != nil {
				return err
			}
			return cl.reason
		case silent, unanswered, broken:
		}
		if len(o.buf.b) >= writeSize || o.steps.waits() {
			if err := o.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *reply) encode(cl *call) {
	start := len(o.buf.b)
	deferred, ok := cl.resp.(api.Deferred)
	if !ok {
		o.buf.b = appendReplyHeader(o.buf.b, cl.correlation, cl.resp)
		o.buf.b = cl.resp.AppendTo(o.buf.b)
		endReply(o.buf.b, start, 0)
		return
	}
	o.place.giveUp()
	want := int64(min(deferred.Estimate(), largestReply))
	granted := o.conn.srv.replies.upTo(want)
	o.held += granted // now, in case the encoder panics
	o.conn.srv.buffers.grow(o.buf, int(granted)+minReply)
	o.buf.b = appendReplyHeader(o.buf.b, cl.correlation, cl.resp)
	if o.steps == nil {
		o.steps = o.conn.srv.newStepper(o.conn)
	}
	o.buf.b = deferred.AppendWithin(o.buf.b, int(granted), &o.steps.later)
	endReply(o.buf.b, start, o.steps.later.Bytes())

	used := int64(len(o.buf.b) - start)
	o.held += used - granted
	if used > granted {
		o.conn.srv.replies.force(used - granted)
	} else {
		o.conn.srv.replies.give(granted - used)
	}
}

// send writes what has been gathered.
func (o *reply) send() error {
	if o.steps.waits() {
		err := o.steps.send(o.buf.b)
		o.buf.b = o.buf.b[:0]
		o.giveBack()
		return err
	}
	b := o.buf.b
	for len(b) > 0 {
		n, err := o.write(b[:min(len(b), writeSize)])
		o.conn.srv.sent.Add(int64(n))
		if err != nil {
			return err
		}
		b = b[n:]
		o.conn.progress()
	}
	o.buf.b = o.buf.b[:0]
	o.giveBack()
	return nil
}

// write writes some of b, or fails.
func (o *reply) write(b []byte) (int, error) {
	if raw := o.conn.socket.raw; raw != nil && o.place != nil && o.place.held {
		if n, err := o.place.tryWrite(raw, b); n > 0 || err != nil {
			return n, err
		}
	}
	o.place.giveUp()
	return o.conn.nc.Write(b)
}

func (o *reply) giveBack() {
	if o.held > 0 {
		o.conn.srv.replies.give(o.held)
		o.held = 0
	}
}

func (o *reply) end() {
	o.giveBack()
	if o.steps != nil {
		o.steps.end()
	}
	o.conn.srv.buffers.put(o.buf)
}
