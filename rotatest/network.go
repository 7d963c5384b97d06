package rotatest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// network is a network in memory with one broker on it.
type network struct {
	addr string

	mu       sync.Mutex
	listener *listener // nil while nobody listens
}

// networks counts networks, so that each has an address of its own.
var networks atomic.Int64

func newNetwork() *network {
	return &network{addr: fmt.Sprintf("rotatest-%d:9092", networks.Add(1))}
}

func (n *network) listen() net.Listener {
	l := &listener{network: n, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = l
	return l
}

func (n *network) dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listener
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "memory", Addr: address(addr), Err: errRefused}
	if l == nil || addr != n.addr {
		return nil, refused
	}
	client, server := net.Pipe()
	select {
	case l.conns <- conn{server}:
		return conn{client}, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type refusedError struct{}

func (refusedError) Error() string { return "connection refused" }

var errRefused = refusedError{}

// listener takes connections until it is closed.
type listener struct {
	network *network
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		if l.network.listener == l {
			l.network.listener = nil
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.network.addr) }

// address is an address on a network in memory.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

// conn is a pipe whose ends have an address that looks like one.
type conn struct{ net.Conn }

func (conn) LocalAddr() net.Addr  { return address("127.0.0.1:0") }
func (conn) RemoteAddr() net.Addr { return address("127.0.0.1:0") }
