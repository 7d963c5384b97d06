package wire

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// tcpClient is the other end of a connection over TCP.
type tcpClient struct {
	testing.TB
	net.Conn
}

func (c tcpClient) send(req kmsg.Request) {
	c.Helper()
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		c.Fatal(err)
	}
}

// receive reads a reply and returns its size.
func (c tcpClient) receive() int {
	c.Helper()
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		c.Fatal(err)
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		c.Fatal(err)
	}
	return n
}

// answered is a server whose JoinGroups and Heartbeats, at most that many, the
// test answers itself. writers is how many goroutines write replies, 0 for as
// many as usual. It is closed at the end.
func answered(t *testing.T, most, writers int) (dial func() tcpClient, calls chan *api.Call) {
	t.Helper()
	calls = make(chan *api.Call, most)
	table := testTable(&parked{})
	table[3].Handle = func(_ *api.Server, c *api.Call) { calls <- c }
	table[4].Handle = table[3].Handle
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(Config{Table: table})
	if writers > 0 {
		s.writers.most = writers
	}
	served := make(chan error)
	go func() { served <- s.Serve(l, api.Listener{}) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func() tcpClient {
		t.Helper()
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		return tcpClient{t, nc}
	}, calls
}

// Peers that do not read their replies, more of them than there are places for
// writers, do not keep replies from others, and get their own in whole once
// they read.
func TestNoWriterWaitsForAPeer(t *testing.T) {
	dial, calls := answered(t, 64, 0)
	asking := func() tcpClient {
		c := dial()
		c.send(&kmsg.JoinGroupRequest{Version: 5, Group: "g"})
		return c
	}

	// More than the system keeps for a connection.
	large := &kmsg.JoinGroupResponse{Members: []kmsg.JoinGroupResponseMember{{ProtocolMetadata: make([]byte, 16<<20)}}}
	var deaf []tcpClient
	for range runtime.GOMAXPROCS(0) + 2 {
		deaf = append(deaf, asking())
		reply := *large
		c := <-calls
		go c.Answer.Reply(&reply)
	}
	for range 100 {
		hears := asking()
		c := <-calls
		go c.Answer.Reply(&kmsg.JoinGroupResponse{})
		hears.receive()
	}
	for _, c := range deaf {
		if n := c.receive(); n < 16<<20 {
			t.Errorf("a reply of %d bytes came", n)
		}
	}
}

// relay is a reply whose encoder answers the next call of its connection, so that
// there is always one more to be written.
type relay struct {
	kmsg.HeartbeatResponse
	next func()
}

func (r *relay) AppendTo(dst []byte) []byte {
	r.next()
	return r.HeartbeatResponse.AppendTo(dst)
}

// untilRead waits until the reader of the connection has left ready replies to
// others.
func (c *conn) untilRead() {
	for {
		c.mu.Lock()
		n := c.handling
		c.mu.Unlock()
		if n == 0 {
			return
		}
		runtime.Gosched()
	}
}

// A connection that always has one more reply does not keep those of others from
// leaving.
func TestNoConnectionKeepsAPlace(t *testing.T) {
	const rounds = 4 * inTurn
	dial, calls := answered(t, rounds, 1)
	// taken is a call whose reply its reader does not wait to write.
	taken := func() *api.Call {
		c := <-calls
		if cl, ok := c.Answer.(*call); ok {
			cl.conn.untilRead()
		}
		return c
	}
	quiet, busy := dial(), dial()
	quiet.send(&kmsg.JoinGroupRequest{Version: 5, Group: "g"})
	join := taken()
	busy.send(&kmsg.HeartbeatRequest{Group: "g"})
	first := taken()

	heard := make(chan struct{})
	round := 0
	var next func()
	next = func() {
		switch round++; round {
		case 1:
			join.Answer.Reply(&kmsg.JoinGroupResponse{})
		case rounds:
			select {
			case <-heard:
			case <-time.After(10 * time.Second):
				t.Error("one connection waits while another is written to")
			}
			return
		}
		busy.send(&kmsg.HeartbeatRequest{Group: "g"})
		c := <-calls
		c.Answer.Reply(&relay{next: next})
	}
	go first.Answer.Reply(&relay{next: next})
	quiet.receive()
	close(heard)
	for range rounds {
		busy.receive()
	}
}

// The list of those that wait does not grow for as long as it is never empty.
func TestWritersKeepALineShort(t *testing.T) {
	w := &writers{most: 1}
	p := w.placeLocked()
	for n := range 100 * keepWaiting {
		w.add(&conn{})
		if n < 10 {
			continue // so that there is always somebody
		}
		if w.take(p) == nil {
			t.Fatal("nobody waits")
		}
	}
	if n := len(w.waiting) - w.next; n != 10 {
		t.Errorf("%d wait, not 10", n)
	}
	if n := cap(w.waiting); n > 4*keepWaiting {
		t.Errorf("there is room for %d of them, and 10 wait", n)
	}
}
