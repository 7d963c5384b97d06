package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/api"
)

// Server serves connections. Start makes one.
type Server struct {
	cfg  Config
	rows []*row // by API key; nil where nothing is served

	buffers  buffers
	writers  *writers
	calls    sync.Pool
	steppers sync.Pool // of *stepper
	data     budget    // Produce and Fetch requests
	group    budget    // all other requests
	replies  budget    // Fetch answers

	ctx    context.Context // ends when the connections are closed
	cancel context.CancelFunc
	// tick counts sweeps: a clock that costs nothing to read.
	tick    atomic.Uint32
	refused atomic.Int64
	// received and sent count the bytes of all connections, began is the origin
	// of clock, accepted counts connections.
	received, sent, accepted atomic.Int64
	began                    time.Time
	grumble                  grumble
	running                  sync.WaitGroup // connections and the sweeper

	mu         sync.Mutex
	listeners  map[net.Listener]struct{}
	conns      map[*conn]struct{}
	perAddress map[string]int
	stopped    bool // no new connections
	// gone is closed when the server has stopped and has no connection left.
	gone chan struct{}
}

// Start returns a server that is ready to Serve. Close or Shutdown ends it.
func Start(c Config) *Server {
	c = c.withDefaults()
	s := &Server{
		cfg:        c,
		rows:       newRows(c.Table),
		writers:    newWriters(),
		data:       budget{limit: c.DataBudget},
		group:      budget{limit: c.GroupBudget},
		replies:    budget{limit: c.ReplyBudget},
		listeners:  map[net.Listener]struct{}{},
		conns:      map[*conn]struct{}{},
		perAddress: map[string]int{},
		gone:       make(chan struct{}),
		began:      time.Now(),
		grumble:    grumble{log: c.Log},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(s.sweep)
	return s
}

// Serve accepts connections from l until the server ends, and tells their
// clients that they reach this broker at advertised. It returns nil when the
// server ended, or why l cannot accept any more.
func (s *Server) Serve(l net.Listener, advertised api.Listener) error {
	if !s.addListener(l) {
		return l.Close()
	}
	defer s.removeListener(l)
	pause := acceptPause
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = acceptPause
			s.accept(nc, advertised)
			continue
		}
		if s.isStopped() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
			return err
		}
		// Out of file descriptors, mostly: it passes when connections end.
		s.cfg.Log.Warn("cannot accept a connection", slog.Any("err", err))
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
		pause = min(2*pause, time.Second)
	}
}

const acceptPause = 5 * time.Millisecond

// accept starts a connection, or closes it if there are too many.
func (s *Server) accept(nc net.Conn, advertised api.Listener) {
	c := newConn(s, nc, advertised)
	s.mu.Lock()
	full := s.stopped ||
		s.cfg.MaxConnections > 0 && len(s.conns) >= s.cfg.MaxConnections ||
		s.cfg.MaxConnectionsPerAddress > 0 && s.perAddress[c.address] >= s.cfg.MaxConnectionsPerAddress
	if !full {
		s.conns[c] = struct{}{}
		s.perAddress[c.address]++
		s.running.Add(1)
	}
	s.mu.Unlock()
	if full {
		s.refused.Add(1)
		c.cancel()
		s.grumble.say("connection refused: there are too many", slog.String("peer", c.address))
		_ = nc.Close() // nothing was written to it
		return
	}
	s.accepted.Add(1)
	go func() {
		defer s.running.Done()
		defer s.forget(c)
		c.serve()
	}()
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.perAddress[c.address]--
	if s.perAddress[c.address] == 0 {
		delete(s.perAddress, c.address)
	}
	s.checkGoneLocked()
}

// checkGoneLocked closes gone when its time has come. stopped never goes back
// to false and no connection is added after it, so that happens once.
func (s *Server) checkGoneLocked() {
	if s.stopped && len(s.conns) == 0 {
		close(s.gone)
	}
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// connections lists the connections in no order.
func (s *Server) connections(into []*conn) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		into = append(into, c)
	}
	return into
}

// stop ends accepting.
func (s *Server) stop() {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return
	}
	s.stopped = true
	s.checkGoneLocked()
	var open []net.Listener
	for l := range s.listeners {
		open = append(open, l)
	}
	s.mu.Unlock()
	for _, l := range open {
		_ = l.Close() // Serve returns, whatever Close says
	}
}

// Shutdown ends the server in order: it stops accepting and reading, calls
// drain, which must see to it that calls parked elsewhere are answered (nil if
// there is nothing to do), lets the replies leave, and closes. Calls that wait
// here, long polls, are answered at once. When ctx ends first the remaining
// connections are closed as they are, and the context's error is returned.
func (s *Server) Shutdown(ctx context.Context, drain func(context.Context)) error {
	s.stop()
	for _, c := range s.connections(nil) {
		c.drain()
	}
	if drain != nil {
		drain(ctx)
	}
	var err error
	select {
	case <-s.gone:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.Close()
	return err
}

// Close closes every listener and connection and waits for their goroutines.
func (s *Server) Close() {
	s.stop()
	s.cancel()
	for _, c := range s.connections(nil) {
		c.close(errServerClosed)
	}
	s.running.Wait()
}

var errServerClosed = errors.New("server closed")
