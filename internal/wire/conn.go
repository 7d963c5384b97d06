package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/api"
)

// inputSize is the buffer that each connection has for itself. Requests that
// fit in it, nearly all that groups send, need no other buffer and one read.
const inputSize = 512

// conn is one connection.
type conn struct {
	srv      *Server
	nc       net.Conn
	address  string // the peer's, without port
	host     string // the same as Kafka shows it
	listener api.Listener
	ctx      context.Context
	cancel   context.CancelFunc

	// What follows belongs to the goroutine that reads.

	in       [inputSize]byte
	r, w     int // in[r:w] has been read and not used
	clientID string
	largest  int           // the largest frame that has come in whole
	counted  bool          // this goroutine is one of handling
	heard    time.Duration // when the peer last sent something, by Server.clock

	// What follows may be used by any goroutine.

	socket socket

	active   atomic.Uint32 // the sweep before which there last was progress
	midFrame atomic.Bool   // a frame that memory is kept for is coming in

	mu      sync.Mutex
	changed sync.Cond // what await waits for; L is &mu
	// queue holds the calls whose replies have not been taken for writing, in
	// the order of their requests.
	queue callQueue
	// unanswered counts calls without answer, unwritten those whose reply has
	// not left: in the queue, or being written.
	unanswered, unwritten int
	handling              int  // goroutines that will look at the queue before they block
	writing               bool // someone takes replies from the queue
	draining              bool // no more requests are read
	closed                bool
}

func newConn(s *Server, nc net.Conn, advertised api.Listener) *conn {
	c := &conn{srv: s, nc: nc, address: peerAddress(nc), listener: advertised, socket: newSocket(nc)}
	c.host = "/" + c.address
	c.changed.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.progress()
	return c
}

func peerAddress(nc net.Conn) string {
	addr := nc.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// serve reads requests until the connection ends.
func (c *conn) serve() {
	defer c.guard()
	err := c.read()
	if errors.Is(err, os.ErrDeadlineExceeded) && c.isDraining() {
		err = c.await(func() bool { return c.unwritten == 0 })
		if err == nil {
			err = errServerClosed
		}
	}
	c.close(err)
}

// guard ends the connection, and nothing but the connection, when a goroutine
// that works for it panics.
func (c *conn) guard() {
	p := recover()
	if p == nil {
		return
	}
	c.srv.cfg.Log.Error("a request broke its handler; this is a bug",
		slog.String("peer", c.address),
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	c.close(fmt.Errorf("panic: %v", p))
}

// close ends the connection because of err; the first call counts. Calls that
// are still open may be answered later, to no effect.
func (c *conn) close(err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	ends := c.endsLocked()
	answered := c.queue.abandon()
	c.changed.Broadcast()
	c.mu.Unlock()

	c.cancel()
	c.complain(err)
	_ = c.nc.Close() // what a peer has not read by now is lost
	c.release(answered)
	for _, f := range ends {
		f()
	}
}

// complain logs why the connection ends, unless that is the peer's good right.
func (c *conn) complain(err error) {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, errServerClosed) {
		return
	}
	var op *net.OpError
	if errors.As(err, &op) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, errIdle) {
		c.srv.cfg.Log.Debug("connection ended", slog.String("peer", c.address), slog.Any("err", err))
		return
	}
	c.srv.grumble.say("connection closed", slog.String("peer", c.address), slog.Any("err", err))
}

// drain has the connection read no more requests, answers its calls that wait
// here, and has it end when the last reply has left.
func (c *conn) drain() {
	c.mu.Lock()
	c.draining = true
	ends := c.endsLocked()
	c.changed.Broadcast()
	c.mu.Unlock()
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection only
	for _, f := range ends {
		f()
	}
}

func (c *conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// endsLocked takes the OnEnd functions of the calls without answer.
func (c *conn) endsLocked() []func() {
	var ends []func()
	for cl := c.queue.head; cl != nil; cl = cl.next {
		if cl.onEnd != nil {
			ends = append(ends, cl.onEnd)
			cl.onEnd = nil
		}
	}
	return ends
}

// progress notes that the peer has sent or taken something.
func (c *conn) progress() { c.active.Store(c.srv.tick.Load()) }

var (
	errIdle    = errors.New("idle for too long")
	errStalled = errors.New("peer stopped in the middle of a request")
	errUnread  = errors.New("peer does not read its replies")
)

// overdue says why the connection must end in this sweep: it is idle and has
// no call open, it reads no reply, or it keeps memory for a frame that does
// not come. When memory is scarce, unread replies end it sooner.
func (c *conn) overdue(tick, idle, stall uint32, scarce bool) error {
	c.mu.Lock()
	writing, open := c.writing, c.unwritten > 0
	c.mu.Unlock()
	silent := tick - c.active.Load() // now: what is seen above was progress as well
	switch {
	case writing && (silent >= idle || scarce && silent >= stall):
		return errUnread
	case c.midFrame.Load() && silent >= stall:
		return errStalled
	case !open && silent >= idle:
		return errIdle
	}
	return nil
}
