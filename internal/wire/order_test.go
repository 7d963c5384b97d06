package wire

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

func TestRepliesLeaveInTheOrderOfRequests(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(12, &kmsg.FetchRequest{}), c.frame(4, &kmsg.HeartbeatRequest{}), c.frame(9, &kmsg.JoinGroupRequest{}), c.frame(0, &kmsg.HeartbeatRequest{}))
		synctest.Wait()
		fetch, join := p.take(t), p.take(t)
		answer(join)
		synctest.Wait()
		if n := c.writes.Load(); n != 0 {
			t.Fatalf("%d writes before the first request was answered", n)
		}
		answer(fetch)
		c.expect(1, 2, 3, 4)
		if n := c.writes.Load(); n != 1 {
			t.Errorf("%d writes for replies that were ready together, want 1", n)
		}
	})
}

func TestPipelinedRequestsAreAnsweredWithOneWrite(t *testing.T) {
	serve(t, Config{Table: testTable(&parked{})}, func(r *rig) {
		c := r.dial()
		var frames [][]byte
		for range 5 {
			frames = append(frames, c.frame(4, &kmsg.HeartbeatRequest{Group: "g"}))
		}
		c.send(frames...)
		c.expect(1, 2, 3, 4, 5)
		if n := c.writes.Load(); n != 1 {
			t.Errorf("%d writes for requests that came together, want 1", n)
		}
	})
}

func TestAnAPIAloneWaitsForWhatCameBefore(t *testing.T) {
	var p parked
	table := testTable(&p)
	table[2].Handle = func(s *api.Server, c *api.Call) { p.handle(s, c); answer(p.calls[len(p.calls)-1]) }
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(4, &kmsg.FetchRequest{}), c.frame(9, &kmsg.JoinGroupRequest{}))
		c.send(c.frame(12, &kmsg.MetadataRequest{}))
		synctest.Wait()
		if diff := cmp.Diff([]int16{1, 11}, p.seen); diff != "" {
			t.Fatalf("calls before the first answers (-want +got):\n%s", diff)
		}
		p.answerAll()
		c.expect(1, 2, 3)
		if diff := cmp.Diff([]int16{1, 11, 3}, p.seen); diff != "" {
			t.Errorf("calls in the end (-want +got):\n%s", diff)
		}
	})
}

func TestNoReplyKeepsTheOrder(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(9, &kmsg.ProduceRequest{}), c.frame(9, &kmsg.ProduceRequest{}), c.frame(4, &kmsg.HeartbeatRequest{}))
		synctest.Wait()
		first, second := p.take(t), p.take(t)
		second.Answer.NoReply()
		answer(first)
		c.expect(1, 3)
	})
}

func TestDropLetsEarlierRepliesLeave(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(9, &kmsg.ProduceRequest{}), c.frame(9, &kmsg.ProduceRequest{}), c.frame(4, &kmsg.HeartbeatRequest{}))
		synctest.Wait()
		first, second := p.take(t), p.take(t)
		second.Answer.Drop(errors.New("cannot be answered"))
		late := c.frame(9, &kmsg.ProduceRequest{})
		go func() { _, _ = c.Write(late) }()
		synctest.Wait()
		if n := p.count(); n != 2 {
			t.Errorf("%d calls, though nothing behind the second will be answered", n)
		}
		answer(first)
		c.expect(1)
		c.closed()
	})
}

func TestRunAnswersOnAGoroutineOfTheConnection(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(4, &kmsg.FetchRequest{}), c.frame(4, &kmsg.FetchRequest{}))
		synctest.Wait()
		first, second := p.take(t), p.take(t)
		first.Answer.Run(func() { answer(second); answer(first) })
		c.expect(1, 2)
		if n := c.writes.Load(); n != 1 {
			t.Errorf("%d writes, want 1", n)
		}
	})
}

func TestHeadersOfRequestsAndReplies(t *testing.T) {
	type seen struct {
		client  string
		version int16
		host    string
	}
	var got []seen
	table := testTable(&parked{})
	table[4].Handle = func(_ *api.Server, c *api.Call) {
		got = append(got, seen{c.ClientID, c.Version, c.Host})
		answer(c)
	}
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		c.format = kmsg.NewRequestFormatter() // null client id
		c.send(c.frame(0, &kmsg.HeartbeatRequest{}))
		if _, body := c.next(); len(body) != 2 {
			t.Errorf("heartbeat v0: body is %x", body)
		}
		c.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID("kafka"))
		c.send(c.frame(4, &kmsg.HeartbeatRequest{}))
		if _, body := c.next(); !bytes.Equal(body, []byte{0, 0, 0, 0, 0, 0, 0, 0}) {
			t.Errorf("heartbeat v4: tags of the header, throttle, code and tags are %x", body)
		}
		// Unknown tags in header and body are stepped over.
		frame := c.frame(4, &kmsg.HeartbeatRequest{})
		frame = append(frame[:4+8+2+5], append([]byte{2, 0, 1, 'x', 200, 1, 0}, frame[4+8+2+5+1:]...)...)
		frame = append(frame[:len(frame)-1], 1, 5, 3, 'a', 'b', 'c')
		c.send(withSize(frame))
		c.expect(3)
		if diff := cmp.Diff([]seen{{"", 0, "/127.0.0.1"}, {"kafka", 4, "/127.0.0.1"}, {"kafka", 4, "/127.0.0.1"}}, got, cmp.AllowUnexported(seen{})); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestApiVersionsIsAnsweredAtAnyVersion(t *testing.T) {
	var got []int16
	table := testTable(&parked{})
	table[5].Handle = func(_ *api.Server, c *api.Call) {
		got = append(got, c.Version)
		answer(c)
	}
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		frame := c.frame(3, kmsg.NewPtrApiVersionsRequest())
		frame[7] = 99
		c.send(append(frame[:len(frame)-1], 0xff)) // a body that no version has
		if _, body := c.next(); !bytes.Equal(body, make([]byte, 6)) {
			t.Errorf("v99: body is %x, want an empty one of v0", body)
		}
		c.send(c.frame(3, kmsg.NewPtrApiVersionsRequest()))
		if _, body := c.next(); !bytes.Equal(body, []byte{0, 0, 1, 0, 0, 0, 0, 0}) {
			t.Errorf("v3: body is %x, want code, compact array, throttle and tags without tags of a header", body)
		}
		if diff := cmp.Diff([]int16{99, 3}, got); diff != "" {
			t.Errorf("versions (-want +got):\n%s", diff)
		}
	})
}

func TestShutdownAnswersWhatIsParked(t *testing.T) {
	var p parked
	table := testTable(&p)
	table[1].Handle = func(_ *api.Server, c *api.Call) { c.Answer.OnEnd(func() { answer(c) }) }
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(4, &kmsg.FetchRequest{}), c.frame(9, &kmsg.JoinGroupRequest{}))
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- r.shutdown(func(context.Context) { p.answerAll() }) }()
		c.expect(1, 2)
		c.closed()
		if err := <-ended; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	var p parked
	serve(t, Config{Table: testTable(&p)}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(9, &kmsg.JoinGroupRequest{}))
		synctest.Wait()
		if err := r.shutdown(nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown with a parked call: %v", err)
		}
		c.closed()
		p.answerAll() // too late, to no effect
	})
}
