package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// rig is a server with handlers of the test's own, in a bubble.
type rig struct {
	*testing.T
	*Server
	accept pipes
	log    *logBuffer
}

// serve runs f in a bubble with a server over the table.
func serve(t *testing.T, c Config, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, accept: newPipes(), log: &logBuffer{}}
		c.Log = slog.New(slog.NewTextHandler(r.log, nil))
		r.Server = Start(c)
		go func() {
			if err := r.Serve(r.accept, api.Listener{Host: "broker.test", Port: 9092}); err != nil {
				t.Errorf("serve: %v", err)
			}
		}()
		f(r)
		r.Close()
		synctest.Wait()
		if st := r.Stats(); st.DataBytes != 0 || st.GroupBytes != 0 || st.ReplyBytes != 0 || st.Connections != 0 {
			t.Errorf("something was not given back: %+v", st)
		}
	})
}

// logBuffer holds what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// peer is the other end of a connection.
type peer struct {
	*rig
	net.Conn
	format *kmsg.RequestFormatter
	last   int32
	writes *atomic.Int32 // by the server
}

func (r *rig) dial() *peer {
	p := &peer{rig: r, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")), writes: new(atomic.Int32)}
	p.Conn = r.accept.dial(p.writes)
	return p
}

func (p *peer) frame(version int16, req kmsg.Request) []byte {
	req.SetVersion(version)
	p.last++
	return p.format.AppendRequest(nil, req, p.last)
}

// send writes frames with one Write.
func (p *peer) send(frames ...[]byte) {
	p.Helper()
	if _, err := p.Write(bytes.Join(frames, nil)); err != nil {
		p.Fatalf("send: %v", err)
	}
}

// next reads a reply and returns its correlation id and what is behind it.
func (p *peer) next() (int32, []byte) {
	p.Helper()
	frame, err := p.read()
	if err != nil {
		p.Fatalf("receive: %v", err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:]
}

func (p *peer) read() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(p, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(p, frame)
	return frame, err
}

// expect reads replies with the given correlation ids.
func (p *peer) expect(ids ...int32) {
	p.Helper()
	for _, want := range ids {
		if got, _ := p.next(); got != want {
			p.Fatalf("reply to %d, want to %d", got, want)
		}
	}
}

// closed checks that the server ends the connection without another reply.
func (p *peer) closed() {
	p.Helper()
	if frame, err := p.read(); err == nil {
		p.Fatalf("a reply came: %x", frame)
	}
}

// parked is where handlers of a test leave their calls.
type parked struct {
	mu    sync.Mutex
	calls []*api.Call
	seen  []int16 // API keys in the order of the calls
}

func (p *parked) handle(_ *api.Server, c *api.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	p.seen = append(p.seen, c.Request.Key())
}

// count returns how many calls have come in.
func (p *parked) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen)
}

// take removes the oldest call.
func (p *parked) take(t testing.TB) *api.Call {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) == 0 {
		t.Fatal("no call is parked")
	}
	c := p.calls[0]
	p.calls = p.calls[1:]
	return c
}

// answer gives the plain response to a call.
func answer(c *api.Call) { c.Answer.Reply(c.Request.ResponseKind()) }

// answerAll answers the parked calls in the order in which they came.
func (p *parked) answerAll() {
	p.mu.Lock()
	calls := p.calls
	p.calls = nil
	p.mu.Unlock()
	for _, c := range calls {
		answer(c)
	}
}

func atOnceHandler(_ *api.Server, c *api.Call) { answer(c) }

// testTable has a long poll, a heartbeat, and an API that runs alone.
func testTable(p *parked) []api.API {
	return []api.API{
		{Key: kmsg.Produce, Min: 3, Max: 13, Class: api.OverlapsData, Handle: p.handle},
		{Key: kmsg.Fetch, Min: 4, Max: 18, Class: api.OverlapsData, Handle: p.handle},
		{Key: kmsg.Metadata, Min: 0, Max: 13, Class: api.Alone, Handle: atOnceHandler},
		{Key: kmsg.JoinGroup, Min: 0, Max: 9, Class: api.Overlaps, Handle: p.handle},
		{Key: kmsg.Heartbeat, Min: 0, Max: 4, Class: api.Overlaps, Handle: atOnceHandler},
		{Key: kmsg.ApiVersions, Min: 0, Max: 5, Class: api.Alone, Handle: atOnceHandler},
	}
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  *sync.Once
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{}), &sync.Once{}} }

func (p pipes) dial(writes *atomic.Int32) net.Conn {
	near, far := net.Pipe()
	p.conns <- &countedConn{far, writes}
	return near
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	err := errors.New("closed twice")
	p.once.Do(func() { close(p.done); err = nil })
	return err
}

func (p pipes) Addr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50000}

// countedConn counts the writes, and says that it comes from this machine.
type countedConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c *countedConn) RemoteAddr() net.Addr { return loopback }

func (c *countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// shutdown ends the server in order within a minute.
func (r *rig) shutdown(drain func(context.Context)) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return r.Shutdown(ctx, drain)
}

// withSize sets the size of a frame.
func withSize(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}
