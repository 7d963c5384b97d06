package scenario

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// client is one connection to a broker, with requests of one client on it.
type client struct {
	nc net.Conn
	// sent are requests whose answers the reader has not read yet, in order.
	sent chan sentRequest
	// came takes answers that the play has not looked at yet.
	came chan<- answer
	done sync.WaitGroup
	next int32
}

type sentRequest struct {
	call        *call
	correlation int32
	response    kmsg.Response
}

// answer is a response and when it arrived; err says that the connection has
// ended or that the bytes make no sense.
type answer struct {
	call     *call
	response kmsg.Response
	at       time.Time
	err      error
}

// maxOpen bounds the requests that a file can have open on one connection.
const maxOpen = 1000

// newClient speaks over a connection. came must have room for every answer.
func newClient(nc net.Conn, came chan<- answer) *client {
	c := &client{nc: nc, sent: make(chan sentRequest, maxOpen), came: came}
	c.done.Go(c.read)
	return c
}

// send writes a request; its answer will come on came.
func (c *client) send(q *call, r kmsg.Request, clientID string) error {
	c.next++
	select {
	case c.sent <- sentRequest{q, c.next, r.ResponseKind()}:
	default:
		return errors.New("too many open requests on one connection")
	}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	_, err := c.nc.Write(format.AppendRequest(nil, r, c.next))
	return err
}

// read takes in answers until the connection ends.
func (c *client) read() {
	for s := range c.sent {
		body, err := readFrame(c.nc)
		if err == nil {
			err = decode(body, s)
		}
		c.came <- answer{call: s.call, response: s.response, at: time.Now(), err: err}
		if err != nil {
			return
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	const limit = 64 << 20
	n := binary.BigEndian.Uint32(size[:])
	if n > limit {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

func decode(body []byte, s sentRequest) error {
	if len(body) < 4 {
		return errors.New("a frame without a header")
	}
	if n := int32(binary.BigEndian.Uint32(body)); n != s.correlation {
		return fmt.Errorf("an answer to request %d instead of %d", n, s.correlation)
	}
	body = body[4:]
	if s.response.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return errors.New("a header with tags")
		}
		body = body[1:]
	}
	return s.response.ReadFrom(body)
}

// close ends the connection and its reader.
func (c *client) close() {
	c.nc.Close()
	close(c.sent)
	c.done.Wait()
}

// clientID is what a client calls itself: its letter, or what a join says.
func clientID(q *call) string {
	if j, ok := q.request.(group.Join); ok {
		return j.ClientID
	}
	return strings.ToLower(q.client)
}
