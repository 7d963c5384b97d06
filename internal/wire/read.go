package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"rota/internal/api"
)

const (
	// trusted is the size up to which memory for a frame is taken at once.
	// Beyond it the buffer grows with what arrives, unless the connection has
	// sent a frame as large before.
	trusted = 64 << 10
	// smallFrame is the size up to which a connection without open calls is
	// always read: a heartbeat must be heard when the budget is used up.
	smallFrame = 4 << 10
	// unread bounds the replies that are ready and do not leave, before the
	// connection is not read further.
	unread = 32

	// What a call costs in memory, beside its frame.
	callCost    = 1 << 10
	elementCost = 64
	// decodeFactor is about how much larger than its frame a request may be
	// once it is decoded.
	decodeFactor = 16
)

// read handles requests until the connection ends, and returns why.
func (c *conn) read() error {
	for {
		err := c.readRequest()
		if err == nil {
			continue
		}
		if _, misdeed := errors.AsType[*protocolError](err); misdeed {
			c.settle() // what was asked before in good order is answered
		}
		return err
	}
}

// protocolError is what a peer did wrong.
type protocolError struct{ err error }

func (e *protocolError) Error() string { return e.err.Error() }
func (e *protocolError) Unwrap() error { return e.err }

// readRequest reads one request and calls its handler.
func (c *conn) readRequest() error {
	if err := c.fill(sizeLen); err != nil {
		return err
	}
	size := int(int32(binary.BigEndian.Uint32(c.in[c.r:])))
	if size < headerLen+2 || size > c.srv.cfg.MaxRequestBytes {
		return &protocolError{fmt.Errorf("%w: %d", errFrameSize, size)}
	}
	if err := c.fill(sizeLen + headerLen); err != nil {
		return err
	}
	h := parseHeader(c.in[c.r:])
	r, err := c.srv.check(h)
	if err != nil {
		return &protocolError{err}
	}
	taken, err := c.admit(r, h)
	if err != nil {
		return err
	}
	frame, buf, err := c.frame(h)
	if err == nil {
		err = c.dispatch(r, h, frame, &taken)
	}
	if buf != nil {
		c.srv.buffers.put(buf)
	}
	if taken > 0 {
		r.budget(c.srv).give(taken)
	}
	return err
}

// admit waits until the next request may be read, and takes what it costs.
// Waiting here holds up the connection and nobody else.
func (c *conn) admit(r *row, h header) (taken int64, err error) {
	if err := c.await(func() bool { return c.mayEnter(r) || c.draining }); err != nil {
		return 0, err
	}
	if c.isDraining() {
		return 0, os.ErrDeadlineExceeded
	}
	for r.produce {
		pressed := c.srv.cfg.Pressed()
		if pressed == nil {
			break
		}
		c.settle()
		select {
		case <-pressed:
		case <-c.ctx.Done():
			return 0, errServerClosed
		}
	}
	b := r.budget(c.srv)
	n := claimFor(r, h.size, b.limit)
	if b == &c.srv.group && h.size <= smallFrame && c.isQuiet() {
		b.force(n)
		return n, nil
	}
	if b.tryTake(n) {
		return n, nil
	}
	c.settle()
	if !b.take(n, c.ctx.Done()) {
		return 0, errServerClosed
	}
	return n, nil
}

// claimFor is what is taken for a frame before it is read: its size, and what
// decoding it may make of it. One request never claims more than half a
// budget, so that a large one is not kept out by small ones that stay.
func claimFor(r *row, size int, limit int64) int64 {
	n := int64(size)
	if !r.produce {
		n *= decodeFactor
	}
	return min(n, max(limit/2, 1)) + callCost
}

// mayEnter says whether the connection's open calls let another one in.
// conn.mu is held.
func (c *conn) mayEnter(r *row) bool {
	if r.Class == api.Alone {
		return c.unwritten == 0
	}
	return c.unwritten < c.srv.cfg.MaxOpen && c.unwritten-c.unanswered < unread
}

// isQuiet says whether the connection has no call open.
func (c *conn) isQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unwritten == 0
}

// await blocks until ok, which is called with conn.mu held, or the connection
// is closed.
func (c *conn) await(ok func() bool) error {
	c.mu.Lock()
	if ok() && !c.closed {
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	c.settle()

	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && !ok() {
		c.changed.Wait()
	}
	if c.closed {
		return errServerClosed
	}
	return nil
}

// dispatch decodes a request and calls its handler. taken is what the budget
// gave for it; dispatch moves it to the call, or leaves it there.
func (c *conn) dispatch(r *row, h header, frame []byte, taken *int64) error {
	cl := c.srv.newCall()
	cl.conn, cl.row, cl.correlation, cl.arrived = c, r, h.correlation, c.heard
	elements := 0
	if r.serves(h.version) {
		body, err := c.header(r, h, frame)
		if err == nil {
			elements, err = c.decode(cl, h, body)
		}
		if err != nil {
			return &protocolError{fmt.Errorf("%w: %s v%d", err, r.Key.Name(), h.version)}
		}
	} else {
		cl.Request = r.Key.Request()
	}
	cost := callCost + int64(len(frame)) + elementCost*int64(elements)
	if b := r.budget(c.srv); cost > *taken {
		b.force(cost - *taken)
	} else if cost < *taken {
		b.give(*taken - cost)
	}
	*taken = 0

	cl.cost = cost
	cl.Call = api.Call{
		Context: c.ctx, Version: h.version, ClientID: c.clientID, Host: c.host,
		Listener: c.listener, Request: cl.Request, Answer: cl,
	}
	c.enter(cl)
	c.orBreakOff(cl, func() { r.Handle(c.srv.cfg.API, &cl.Call) })
	if freed := c.letGo(cl, int64(len(frame))); freed > 0 {
		r.budget(c.srv).give(freed)
	}
	return nil
}

// header takes the rest of the header off a frame and returns the body.
func (c *conn) header(r *row, h header, frame []byte) ([]byte, error) {
	clientID, body, err := splitHeader(frame, r.layout(h.version).flexible)
	if err != nil {
		return nil, err
	}
	if string(clientID) != c.clientID {
		c.clientID = string(clientID)
	}
	return body, nil
}

// decode checks the layout of a body before it decodes it into cl.
func (c *conn) decode(cl *call, h header, body []byte) (elements int, err error) {
	l := cl.row.layout(h.version)
	if elements, err = walk(l.parts, body, l.flexible); err != nil {
		return 0, err
	}
	cl.Request = cl.row.request(h.version)
	if err := cl.Request.ReadFrom(body); err != nil {
		return 0, errUndecodable
	}
	return elements, nil
}

// fill reads until n bytes lie in the connection's own buffer.
func (c *conn) fill(n int) error {
	if c.w-c.r >= n {
		return nil
	}
	c.w = copy(c.in[:], c.in[c.r:c.w])
	c.r = 0
	for c.w < n {
		m, err := c.input(c.in[c.w:])
		c.w += m
		if err != nil && c.w < n {
			if errors.Is(err, io.EOF) && c.w > 0 {
				return errMidFrame
			}
			return err
		}
	}
	return nil
}

// input reads what the peer sends. Replies that are ready leave first: the
// peer may be waiting for them.
func (c *conn) input(p []byte) (int, error) {
	c.settle()
	n, err := c.nc.Read(p)
	c.progress()
	c.heard = c.srv.clock()
	c.srv.received.Add(int64(n))
	return n, err
}

// frame reads the rest of a frame and returns it behind its first eight bytes.
// It lies in the connection's own buffer, or in buf, which goes back to the
// pool when the frame is not used any more.
func (c *conn) frame(h header) (frame []byte, buf *buffer, err error) {
	if sizeLen+h.size <= inputSize {
		if err := c.fill(sizeLen + h.size); err != nil {
			return nil, nil, err
		}
		start, end := c.r+sizeLen+headerLen, c.r+sizeLen+h.size
		c.r = end
		return c.in[start:end], nil, nil
	}
	size := h.size - headerLen
	buf = c.srv.buffers.get(min(size, max(trusted, c.largest)))
	c.r += sizeLen + headerLen
	n := min(size, c.w-c.r)
	buf.b = append(buf.b, c.in[c.r:c.r+n]...)
	c.r += n

	c.midFrame.Store(size > trusted)
	defer c.midFrame.Store(false)
	for len(buf.b) < size {
		if len(buf.b) == cap(buf.b) {
			c.srv.buffers.grow(buf, min(3*len(buf.b), size-len(buf.b)))
		}
		n, err := c.input(buf.b[len(buf.b):min(cap(buf.b), size)])
		buf.b = buf.b[:len(buf.b)+n]
		if err != nil && len(buf.b) < size {
			if errors.Is(err, io.EOF) {
				err = errMidFrame
			}
			return nil, buf, err
		}
	}
	c.largest = max(c.largest, size)
	return buf.b, buf, nil
}
