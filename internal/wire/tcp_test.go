package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// scattered answers calls from goroutines of its own, in no order, and some in
// the handler.
type scattered struct {
	calls chan *api.Call
	wg    sync.WaitGroup
}

func newScattered() *scattered {
	s := &scattered{calls: make(chan *api.Call)}
	for i := range uint64(4) {
		s.wg.Go(func() { s.answer(rand.New(rand.NewPCG(i, 1))) })
	}
	return s
}

func (s *scattered) answer(random *rand.Rand) {
	var kept []*api.Call
	for {
		if len(kept) == 0 || len(kept) < 20 && random.IntN(3) > 0 {
			c, ok := s.next(len(kept) == 0)
			if !ok {
				return
			}
			if c != nil {
				kept = append(kept, c)
				continue
			}
		}
		i, last := random.IntN(len(kept)), len(kept)-1
		c := kept[i]
		kept[i], kept = kept[last], kept[:last]
		if random.IntN(2) == 0 {
			c.Answer.Run(func() { answer(c) })
		} else {
			answer(c)
		}
	}
}

// next returns a call, nil if there is none and none is to be waited for, and
// false when there will be none.
func (s *scattered) next(wait bool) (*api.Call, bool) {
	if wait {
		c, ok := <-s.calls
		return c, ok
	}
	select {
	case c, ok := <-s.calls:
		if ok {
			return c, true
		}
	default:
	}
	return nil, true
}

func (s *scattered) close() {
	close(s.calls)
	s.wg.Wait()
}

// Many clients pipeline requests over TCP while others send rubbish or go in
// the middle of something. Every reply comes, in order, and nothing is kept.
func TestManyClientsOverTCP(t *testing.T) {
	scatter := newScattered()
	table := testTable(&parked{})
	for i := range table {
		if table[i].Class != api.Alone && table[i].Key != kmsg.Heartbeat {
			table[i].Handle = func(_ *api.Server, c *api.Call) { scatter.calls <- c }
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(Config{Table: table, DataBudget: 1 << 20, MaxOpen: 16})
	served := make(chan error)
	go func() { served <- s.Serve(l, api.Listener{}) }()

	var clients sync.WaitGroup
	for i := range uint64(16) {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(i, 2))
			var err error
			switch i % 4 {
			case 0:
				err = sendRubbish(l.Addr().String(), random)
			default:
				err = pipeline(l.Addr().String(), random, i%4 == 1)
			}
			if err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	clients.Wait()
	scatter.close()
	s.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if st := s.Stats(); st.DataBytes != 0 || st.GroupBytes != 0 || st.ReplyBytes != 0 || st.BufferBytes != 0 {
		t.Errorf("something was not given back: %+v", st)
	}
}

// pipeline sends requests of all kinds and checks the order of the replies. A
// client that leaves does so without reading them all.
func pipeline(addr string, random *rand.Rand, leaves bool) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	const total = 300
	go func() {
		format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("tcp"))
		for id := int32(1); id <= total; id++ {
			frame := format.AppendRequest(nil, randomRequest(random), id)
			if _, err := c.Write(frame); err != nil {
				return // the reader has gone
			}
		}
	}()
	for want := int32(1); want <= total; want++ {
		if leaves && want == total/2 {
			return nil
		}
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return fmt.Errorf("reply %d: %w", want, err)
		}
		if got := int32(binary.BigEndian.Uint32(head[4:])); got != want {
			return fmt.Errorf("reply to %d, want to %d", got, want)
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:])-4)); err != nil {
			return err
		}
	}
	return nil
}

func randomRequest(random *rand.Rand) kmsg.Request {
	switch random.IntN(6) {
	case 0:
		return versioned(produceOf(random.IntN(100_000)), 9)
	case 1:
		return versioned(&kmsg.FetchRequest{}, 12)
	case 2:
		return versioned(&kmsg.MetadataRequest{}, 12)
	case 3:
		return versioned(&kmsg.JoinGroupRequest{Protocols: make([]kmsg.JoinGroupRequestProtocol, random.IntN(50))}, 9)
	default:
		return versioned(&kmsg.HeartbeatRequest{Group: "g"}, 4)
	}
}

// sendRubbish opens connections that make no sense, one after the other.
func sendRubbish(addr string, random *rand.Rand) error {
	for range 50 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		junk := make([]byte, random.IntN(2000))
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		if len(junk) > 8 && random.IntN(2) == 0 { // a frame, in its outward form
			binary.BigEndian.PutUint32(junk, uint32(len(junk)-4))
			junk[4], junk[5], junk[6], junk[7] = 0, byte(random.IntN(20)), 0, byte(random.IntN(10))
		}
		_, _ = c.Write(junk) // the broker may have closed it
		if random.IntN(2) == 0 {
			_ = c.Close()
			continue
		}
		if half, ok := c.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, c) // until the broker has closed it
		_ = c.Close()
	}
	return nil
}
