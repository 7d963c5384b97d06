package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

func TestWhatIsNotServedClosesTheConnection(t *testing.T) {
	unknown := func(p *peer) []byte {
		f := p.frame(0, &kmsg.HeartbeatRequest{})
		binary.BigEndian.PutUint16(f[4:], 500)
		return f
	}
	size := func(n uint32) func(*peer) []byte {
		return func(*peer) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	}
	for name, frame := range map[string]func(p *peer) []byte{
		"unknown key":         unknown,
		"negative key":        func(p *peer) []byte { f := unknown(p); f[4] = 0xff; return f },
		"version too low":     func(p *peer) []byte { return p.frame(2, &kmsg.ProduceRequest{}) },
		"version too high":    func(p *peer) []byte { return p.frame(10, &kmsg.JoinGroupRequest{}) },
		"size -1":             size(0xffffffff),
		"size 0":              size(0),
		"size 2147483647":     size(1<<31 - 1),
		"size below a header": func(*peer) []byte { return append([]byte{0, 0, 0, 9}, make([]byte, 9)...) },
		"size above limit":    size(100<<20 + 1),
		"HTTP":                func(*peer) []byte { return []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n") },
		"client id too long": func(p *peer) []byte {
			f := p.frame(0, &kmsg.HeartbeatRequest{})
			binary.BigEndian.PutUint16(f[12:], 0x7fff)
			return f
		},
		"client id shorter than null": func(p *peer) []byte {
			f := p.frame(0, &kmsg.HeartbeatRequest{})
			binary.BigEndian.PutUint16(f[12:], 0xfffe)
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, Config{Table: testTable(&parked{})}, func(r *rig) {
				bad, good := r.dial(), r.dial()
				// What was asked in good order is answered before. Some frames
				// are not read to their end, so the write may fail.
				go func() {
					_, _ = bad.Write(append(bad.frame(0, &kmsg.HeartbeatRequest{}), frame(bad)...))
				}()
				bad.expect(1)
				bad.closed()
				good.send(good.frame(0, &kmsg.HeartbeatRequest{}))
				good.expect(1)
			})
		})
	}
}

// Bytes that claim more than they are (B60): each body is small and names a
// length or a count that is not backed by what follows.
func TestClaimsThatAreNotBackedCloseTheConnection(t *testing.T) {
	join0 := func(p *peer) []byte {
		f := p.frame(0, &kmsg.JoinGroupRequest{Group: "g", ProtocolType: "consumer"})
		return f[:len(f)-4] // without the count of protocols
	}
	join6 := func(p *peer) []byte {
		f := p.frame(6, &kmsg.JoinGroupRequest{Group: "g", ProtocolType: "consumer"})
		return f[:len(f)-2] // without the count of protocols and the tags
	}
	for name, frame := range map[string]func(p *peer) []byte{
		"array of 2147483647":               func(p *peer) []byte { return append(join0(p), 0x7f, 0xff, 0xff, 0xff) },
		"array of -5 that may not be null":  func(p *peer) []byte { return append(join0(p), 0xff, 0xff, 0xff, 0xfb) },
		"array that is null and may not be": func(p *peer) []byte { return append(join0(p), 0xff, 0xff, 0xff, 0xff) },
		"compact array of 4294967294":       func(p *peer) []byte { return append(join6(p), 0xff, 0xff, 0xff, 0xff, 0x0f, 0) },
		"compact array, varint of 10 bytes": func(p *peer) []byte { return append(join6(p), 255, 255, 255, 255, 255, 255, 255, 255, 255, 1) },
		"compact array that is null":        func(p *peer) []byte { return append(join6(p), 0, 0) },
		"tags: 2147483647 of them":          func(p *peer) []byte { return append(join6(p), 1, 0xff, 0xff, 0xff, 0xff, 0x07) },
		"tag of 2147483647 bytes":           func(p *peer) []byte { return append(join6(p), 1, 1, 9, 0xff, 0xff, 0xff, 0xff, 0x07) },
		"bytes of 2 GB":                     func(p *peer) []byte { return append(join0(p), 0, 0, 0, 1, 0, 1, 'r', 0x7f, 0xff, 0xff, 0xff) },
		"bytes of -2":                       func(p *peer) []byte { return append(join0(p), 0, 0, 0, 1, 0, 1, 'r', 0xff, 0xff, 0xff, 0xfe) },
		"string that is null and may not be": func(p *peer) []byte {
			return append(p.frame(0, &kmsg.MetadataRequest{})[:4+8+6], 0, 0, 0, 1, 0xff, 0xff)
		},
		"compact string of 32768": func(p *peer) []byte {
			return p.frame(4, &kmsg.HeartbeatRequest{Group: strings.Repeat("g", 32768)})
		},
		"nothing where a body should be": func(p *peer) []byte { return join0(p)[:4+8+6] },
	} {
		t.Run(name, func(t *testing.T) {
			var p parked
			serve(t, Config{Table: testTable(&p)}, func(r *rig) {
				bad, good := r.dial(), r.dial()
				bad.send(withSize(frame(bad)))
				bad.closed()
				if len(p.seen) != 0 {
					t.Error("the request came to its handler")
				}
				good.send(good.frame(0, &kmsg.HeartbeatRequest{}))
				good.expect(1)
				if peak := r.Stats().GroupPeak; peak > 1<<20 {
					t.Errorf("%d bytes were set aside", peak)
				}
			})
		})
	}
}

func TestNothingIsReservedForWhatHasNotArrived(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p), DataBudget: 1 << 30}, func(r *rig) {
		for range 20 {
			c := r.dial()
			frame := c.frame(9, produceOf(100<<10))
			binary.BigEndian.PutUint32(frame, 30<<20)
			c.send(frame)
		}
		synctest.Wait()
		if got := r.Stats().BufferBytes; got > 20*256<<10 {
			t.Errorf("%d bytes of buffers for 2 MB that have arrived", got)
		}
	})
}

// produceOf makes a request of about n bytes.
func produceOf(n int) *kmsg.ProduceRequest {
	return &kmsg.ProduceRequest{Acks: 1, Topics: []kmsg.ProduceRequestTopic{{
		Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, n)}},
	}}}
}

func TestLargeFramesComeInWhole(t *testing.T) {
	var got []byte
	table := testTable(&parked{})
	table[0].Handle = func(_ *api.Server, c *api.Call) {
		r, _ := c.Request.(*kmsg.ProduceRequest)
		got = append(got[:0], r.Topics[0].Partitions[0].Records...)
		answer(c)
	}
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		for _, n := range []int{100, 400, 600, 5000, 1 << 16, 1<<16 + 1, 3 << 20, 100} {
			req := produceOf(n)
			want := req.Topics[0].Partitions[0].Records
			for i := range want {
				want[i] = byte(i * 7)
			}
			frame := c.frame(9, req)
			go func() { // in two pieces, at an odd place
				_, _ = c.Write(frame[:len(frame)/3])
				_, _ = c.Write(frame[len(frame)/3:])
			}()
			c.next()
			if !bytes.Equal(got, want) {
				t.Errorf("records of %d bytes did not come in as they were sent", n)
			}
		}
	})
}

func TestAPipeliningClientIsNotReadBeyondItsOpenCalls(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p), MaxOpen: 8}, func(r *rig) {
		c := r.dial()
		const total = 50
		go func() {
			for range total {
				_, _ = c.Write(c.frame(9, &kmsg.JoinGroupRequest{}))
			}
		}()
		synctest.Wait()
		if n := p.count(); n != 8 {
			t.Fatalf("%d calls are open, want 8", n)
		}
		for id := int32(1); id <= total; id++ {
			answer(p.take(t))
			c.expect(id)
			synctest.Wait()
		}
	})
}

func TestAClientThatDoesNotReadIsNotReadEither(t *testing.T) {
	handled := 0
	table := testTable(&parked{})
	table[4].Handle = func(_ *api.Server, c *api.Call) { handled++; answer(c) }
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		const total = 2000
		go func() {
			for range total {
				_, _ = c.Write(c.frame(4, &kmsg.HeartbeatRequest{}))
			}
		}()
		synctest.Wait()
		if handled > unread+atOnce {
			t.Errorf("%d calls were handled with no reply read", handled)
		}
		for id := int32(1); id <= total; id++ {
			c.expect(id)
		}
	})
}

func TestProducersWaitForTheBudgetAndHeartbeatsDoNot(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p), DataBudget: 100 << 10, GroupBudget: 4 << 10}, func(r *rig) {
		first, second, member := r.dial(), r.dial(), r.dial()
		stop := fill(first, 100<<10)
		defer stop()
		// The first request has half the budget and more, and does not come.
		synctest.Wait()
		frame := second.frame(9, produceOf(80<<10))
		go func() { _, _ = second.Write(frame) }()
		synctest.Wait()
		if st := r.Stats(); st.DataWaiting != 1 || st.BufferBytes > 200<<10 {
			t.Fatalf("the second producer does not wait: %+v", st)
		}
		for range 3 {
			member.send(member.frame(4, &kmsg.HeartbeatRequest{}))
			member.next()
		}
		// It is the second one's turn when the first one gives up.
		stop()
		synctest.Wait()
		answer(p.take(t))
		second.expect(1)
	})
}

// fill begins a Produce of n bytes and does not end it. The function that is
// returned closes the connection.
func fill(c *peer, n int) func() {
	frame := c.frame(9, produceOf(n))
	c.send(frame[:len(frame)-10])
	return func() { _ = c.Close() }
}

func TestHeartbeatsAreHeardWhenTheGroupBudgetIsUsedUp(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p), GroupBudget: 64 << 10}, func(r *rig) {
		for range 40 { // every one parked, and more than the budget together
			c := r.dial()
			c.send(c.frame(9, &kmsg.JoinGroupRequest{Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: make([]byte, 1<<10)}}}))
		}
		synctest.Wait()
		big := r.dial()
		bigFrame := big.frame(9, &kmsg.JoinGroupRequest{Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: make([]byte, 30<<10)}}})
		go func() { _, _ = big.Write(bigFrame) }()
		synctest.Wait()
		if st := r.Stats(); st.GroupWaiting != 1 {
			t.Fatalf("the large join does not wait: %+v", st)
		}
		member := r.dial()
		member.send(member.frame(4, &kmsg.HeartbeatRequest{}))
		member.expect(1)
		p.answerAll()
		_ = big.Close()
	})
}

func TestOnlyProducersWaitForThePressedStore(t *testing.T) {
	var p parked
	var now chan struct{}
	serve(t, Config{Table: testTable(&p), Pressed: func() <-chan struct{} { return now }}, func(r *rig) {
		pressed := make(chan struct{})
		now = pressed
		producer, consumer := r.dial(), r.dial()
		producer.send(producer.frame(4, &kmsg.HeartbeatRequest{}), producer.frame(9, produceOf(100)))
		producer.expect(1)
		consumer.send(consumer.frame(4, &kmsg.FetchRequest{}), consumer.frame(4, &kmsg.HeartbeatRequest{}))
		synctest.Wait()
		answer(p.take(t))
		consumer.expect(1, 2)
		if p.count() != 1 {
			t.Fatal("the producer was read")
		}
		now = nil
		close(pressed)
		synctest.Wait()
		answer(p.take(t))
		producer.expect(2)
	})
}

func TestIdleConnectionsAreClosedUnlessACallIsOpen(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p), IdleTimeout: time.Minute}, func(r *rig) {
		idle, waiting, busy := r.dial(), r.dial(), r.dial()
		waiting.send(waiting.frame(9, &kmsg.JoinGroupRequest{}))
		start := time.Now()
		closedAfter := make(chan time.Duration)
		go func() {
			idle.closed()
			closedAfter <- time.Since(start)
		}()
		for range 9 {
			time.Sleep(20 * time.Second)
			busy.send(busy.frame(0, &kmsg.HeartbeatRequest{}))
			busy.next()
		}
		if after := <-closedAfter; after < time.Minute || after > 90*time.Second {
			t.Errorf("the idle connection was closed after %v", after)
		}
		answer(p.take(t))
		waiting.expect(1)
	})
}

// A call may wait for longer than a connection may be idle. That its reply is
// being written when the sweep comes is not the peer's fault.
func TestALateReplyIsNotOverdue(t *testing.T) {
	serve(t, Config{Table: testTable(&parked{}), IdleTimeout: time.Minute}, func(r *rig) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		c := newConn(r.Server, near, api.Listener{})
		defer c.cancel()
		c.unwritten = 1
		tick := r.tick.Add(1000)
		if err := c.overdue(tick, 13, 13, true); err != nil {
			t.Errorf("waiting: %v", err)
		}
		c.mu.Lock()
		c.beginLocked()
		c.mu.Unlock()
		if err := c.overdue(tick, 13, 13, true); err != nil {
			t.Errorf("while the reply is being written: %v", err)
		}
		if err := c.overdue(r.tick.Add(13), 13, 13, true); !errors.Is(err, errUnread) {
			t.Errorf("unread: %v", err)
		}
	})
}

func TestAStalledFrameIsGivenUp(t *testing.T) {
	serve(t, Config{Table: testTable(&parked{}), IdleTimeout: time.Hour, StallTimeout: 10 * time.Second}, func(r *rig) {
		c := r.dial()
		defer fill(c, 1<<20)()
		start := time.Now()
		c.closed()
		if after := time.Since(start); after < 10*time.Second || after > 20*time.Second {
			t.Errorf("closed after %v", after)
		}
	})
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"in total":    {MaxConnections: 2},
		"per address": {MaxConnectionsPerAddress: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c.Table = testTable(&parked{})
			serve(t, c, func(r *rig) {
				first, second, third := r.dial(), r.dial(), r.dial()
				third.closed()
				_ = first.Close()
				synctest.Wait()
				fourth := r.dial()
				for _, p := range []*peer{second, fourth} {
					p.send(p.frame(0, &kmsg.HeartbeatRequest{}))
					p.expect(1)
				}
				if st := r.Stats(); st.Refused != 1 || st.Connections != 2 {
					t.Errorf("stats are %+v", st)
				}
			})
		})
	}
}

func TestStatsCountWhatIsParked(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		for n := range 3 {
			c := r.dial()
			for range n {
				c.send(c.frame(9, &kmsg.JoinGroupRequest{}))
			}
		}
		synctest.Wait()
		if st := r.Stats(); st.Unanswered != 3 || st.Connections != 3 {
			t.Errorf("%d calls of %d connections are open, want 3 of 3", st.Unanswered, st.Connections)
		}
		answer(p.take(t))
		if got := r.Stats().Unanswered; got != 2 {
			t.Errorf("%d calls are open after an answer, want 2", got)
		}
		p.answerAll()
	})
}

func TestAPanicEndsItsConnectionOnly(t *testing.T) {
	table := testTable(&parked{})
	table[3].Handle = func(*api.Server, *api.Call) { panic("a bug") }
	table[0].Handle = func(_ *api.Server, c *api.Call) { c.Answer.Reply(badResponse{&kmsg.ProduceResponse{}}) }
	table[1].Handle = func(_ *api.Server, c *api.Call) { c.Answer.Run(func() { panic("another") }) }
	serve(t, Config{Table: table}, func(r *rig) {
		for _, req := range []kmsg.Request{&kmsg.JoinGroupRequest{}, &kmsg.ProduceRequest{}, &kmsg.FetchRequest{}} {
			c := r.dial()
			c.send(c.frame(9, req))
			c.closed()
		}
		good := r.dial()
		good.send(good.frame(0, &kmsg.HeartbeatRequest{}))
		good.expect(1)
		if n := strings.Count(r.log.String(), "this is a bug"); n != 3 {
			t.Errorf("%d panics were logged, want 3:\n%s", n, r.log)
		}
	})
}

type badResponse struct{ *kmsg.ProduceResponse }

func (badResponse) AppendTo([]byte) []byte { panic("cannot be encoded") }

func TestComplaintsAreLimited(t *testing.T) {
	serve(t, Config{Table: testTable(&parked{})}, func(r *rig) {
		for range 100 {
			c := r.dial()
			c.send([]byte{0, 0, 0, 0})
			c.closed()
		}
		synctest.Wait()
		if n := strings.Count(r.log.String(), "connection closed"); n != mostGrumbles {
			t.Errorf("%d complaints", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(r.log.String(), "count=90") {
			t.Errorf("the suppressed ones are not counted:\n%s", r.log)
		}
	})
}
