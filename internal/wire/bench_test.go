package wire

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// benchServer serves a table over TCP.
func benchServer(b *testing.B, table []api.API) (addr string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := Start(Config{Table: table})
	go func() {
		if err := s.Serve(l, api.Listener{}); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(s.Close)
	return l.Addr().String()
}

// roundTrips has conns connections send the frame and read replies of size
// bytes, one at a time each.
func roundTrips(b *testing.B, addr string, conns int, frame []byte, size int) {
	b.Helper()
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range conns {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			reply := make([]byte, size)
			for n := i; n < b.N; n += conns {
				if _, err := c.Write(frame); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, reply); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func heartbeatFrame() []byte {
	req := &kmsg.HeartbeatRequest{Version: 4, Group: "group", MemberID: "consumer-group-1-7f3d1a2e-7c1f-4d0c-9e6f-1b2c3d4e5f60", Generation: 3}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("consumer-1")).AppendRequest(nil, req, 1)
}

const heartbeatReplySize = 4 + 4 + 1 + 4 + 2 + 1

func BenchmarkHeartbeatAnsweredAtOnce(b *testing.B) {
	addr := benchServer(b, testTable(&parked{}))
	roundTrips(b, addr, 64, heartbeatFrame(), heartbeatReplySize)
}

// The answer comes from another goroutine, as that of a group's shard does.
func BenchmarkHeartbeatAnsweredElsewhere(b *testing.B) {
	calls := make(chan *api.Call, 1024)
	table := testTable(&parked{})
	table[4].Handle = func(_ *api.Server, c *api.Call) { calls <- c }
	addr := benchServer(b, table)
	go func() {
		for c := range calls {
			answer(c)
		}
	}()
	defer close(calls)
	roundTrips(b, addr, 64, heartbeatFrame(), heartbeatReplySize)
}

func BenchmarkProduce(b *testing.B) {
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, versioned(produceOf(128<<10), 9), 1)
	table := testTable(&parked{})
	table[0].Handle = func(_ *api.Server, c *api.Call) { c.Answer.Reply(&kmsg.ProduceResponse{}) }
	addr := benchServer(b, table)
	b.SetBytes(int64(len(frame)))
	roundTrips(b, addr, 4, frame, 4+4+1+1+4+1)
}

func versioned[R kmsg.Request](r R, version int16) R {
	r.SetVersion(version)
	return r
}
