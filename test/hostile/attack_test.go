package hostile

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/test/rig"
)

// bound is how much memory the broker may have: its budgets for requests and
// replies, which may lie in buffers twice their size, its tail and what it keeps
// of segments, and once more as much, for a collector lets as much lie about as
// is in use.
const bound = 768 << 20

// Each attack has a hundred connections. While it goes on others are served,
// what the broker takes is bounded, and when it is over no connection is left.
func TestAttacks(t *testing.T) {
	attacks := map[string]func(t *testing.T, b *rig.Broker, p *peer){
		"a frame that never ends":              neverEnds,
		"half closed in the middle of a frame": halfClosed,
		"cut in the middle of a frame":         cutMidFrame,
		"a reader that takes a byte at a time": slowReader,
		"pipelining produces without reading":  produceBlindly,
		"pipelining questions without reading": askBlindly,
		"pipelining fetches without reading":   fetchBlindly,
		"sizes that nothing follows":           emptyPromises,
	}
	b := rig.Start(t, "socket.request.max.bytes=104857600")
	fillTopic(t, b)
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			before, files := resident(t, b), openFiles(t, b)
			attackers := make([]*peer, 100)
			for i := range attackers {
				attackers[i] = dial(t, b, "")
			}
			watch := startWatch(t, b)
			var attacking sync.WaitGroup
			for _, p := range attackers {
				attacking.Go(func() {
					attack(t, b, p)
					p.reset()
				})
			}
			attacking.Wait()
			peak, slowest, lag := watch()
			t.Logf("%.1f MiB at most, %.1f MiB before; the slowest answer to others took %v; this machine was late by %v",
				mib(peak), mib(before), slowest.Round(time.Millisecond), lag.Round(time.Millisecond))
			if peak > bound {
				t.Errorf("the broker takes %.1f MiB, more than %d", mib(peak), bound>>20)
			}
			// A machine that is late itself makes each of the few turns of a question late.
			if slowest > 5*time.Second+20*lag {
				t.Errorf("others waited %v for an answer", slowest)
			}
			gone(t, b, files)
		})
	}
}

// fillTopic makes topic t with 32 MiB in one partition.
func fillTopic(t *testing.T, b *rig.Broker) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.AllowAutoTopicCreation(), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for range 64 {
		r := &kgo.Record{Topic: "t", Value: make([]byte, 512<<10)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// startWatch asks simple questions on a connection of its own until the
// function that it returns is called, which tells the most memory that the
// broker had, the longest time that an answer took, and by how much a short
// sleep was too long at most.
func startWatch(t *testing.T, b *rig.Broker) (stop func() (peak int, slowest, lag time.Duration)) {
	t.Helper()
	good := dial(t, b, "")
	end, ended := make(chan struct{}), make(chan struct{})
	var peak int
	var slowest time.Duration
	go func() {
		defer close(ended)
		for {
			start := time.Now()
			if _, err := good.ask(4, &kmsg.HeartbeatRequest{Group: "nobody"}); err != nil {
				t.Errorf("a good connection is not served: %v", err)
				return
			}
			slowest = max(slowest, time.Since(start))
			peak = max(peak, resident(t, b))
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	late := make(chan time.Duration)
	go func() {
		const pause = 5 * time.Millisecond
		for most := time.Duration(0); ; {
			start := time.Now()
			time.Sleep(pause)
			most = max(most, time.Since(start)-pause)
			select {
			case late <- most:
				return
			default:
			}
		}
	}()
	return func() (int, time.Duration, time.Duration) {
		close(end)
		<-ended
		return peak, slowest, <-late
	}
}

// attackTime is how long an attack goes on that could go on for ever.
const attackTime = 2 * time.Second

// produceFrame is a Produce of about n bytes.
func produceFrame(p *peer, n int) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, n)}}}}
	return p.frame(8, req)
}

func neverEnds(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := produceFrame(p, 1<<20)
	_, _ = p.Write(frame[:len(frame)/2])
	_ = p.SetReadDeadline(time.Now().Add(attackTime))
	_, _ = io.Copy(io.Discard, p)
}

func halfClosed(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := produceFrame(p, 64<<10)
	_, _ = p.Write(frame[:len(frame)-1])
	_ = p.CloseWrite()
	p.refused()
}

func cutMidFrame(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := produceFrame(p, 1<<20)
	_, _ = p.Write(frame[:len(frame)*3/4])
}

func slowReader(t *testing.T, _ *rig.Broker, p *peer) {
	for range 64 {
		if _, err := p.Write(p.frame(11, fetchAll())); err != nil {
			t.Errorf("a slow reader cannot ask: %v", err)
			return
		}
	}
	var b [1]byte
	for end := time.Now().Add(attackTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_ = p.SetReadDeadline(time.Now().Add(patience))
		if _, err := p.Read(b[:]); err != nil {
			t.Errorf("a slow reader was cut off: %v", err)
			return
		}
	}
}

func produceBlindly(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := produceFrame(p, 100<<10) // of zeroes, which are refused
	p.pipeline(attackTime, func() []byte { return frame })
}

func askBlindly(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := p.frame(12, kmsg.NewPtrMetadataRequest())
	p.pipeline(attackTime, func() []byte { return frame })
}

func fetchBlindly(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := p.frame(11, fetchAll())
	p.pipeline(attackTime, func() []byte { return frame })
}

func emptyPromises(_ *testing.T, _ *rig.Broker, p *peer) {
	frame := produceFrame(p, 10)
	binary.BigEndian.PutUint32(frame, 100<<20)
	_, _ = p.Write(frame)
	_ = p.SetReadDeadline(time.Now().Add(attackTime))
	_, _ = io.Copy(io.Discard, p)
}

// pipeline writes frames, and reads nothing, for as long as the broker takes
// them, or d.
func (p *peer) pipeline(d time.Duration, frame func() []byte) {
	_ = p.SetWriteDeadline(time.Now().Add(d))
	for {
		if _, err := p.Write(frame()); err != nil {
			return
		}
	}
}

// fetchAll asks for as much as there is.
func fetchAll() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.SessionEpoch = -1, 50<<20, -1
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = 50 << 20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{part}}}
	return req
}

// Members that go while their join is parked are waited for no longer than
// their session lasts, and then nothing is left of them. In each group somebody
// who has not joined again holds the round open until they are all in and gone.
func TestParkedJoinsBehindClosedConnections(t *testing.T) {
	const members, groups = 300, 10
	b := rig.Start(t, "group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=0")
	good := dial(t, b, "")
	ids := make([]string, groups)
	for g := range ids {
		ids[g] = holdOpen(t, good, fmt.Sprint("g", g))
	}
	files := openFiles(t, b)
	peers := make([]*peer, members)
	for i := range peers {
		peers[i] = dial(t, b, "")
		if _, err := peers[i].Write(peers[i].frame(3, joinRequest(fmt.Sprint("g", i%groups), time.Second))); err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
	eventually(t, good, "every join is parked", func(g *kmsg.DescribeGroupsResponseGroup) bool {
		return g.State == "PreparingRebalance" && len(g.Members) == members/groups+1
	})
	for i, p := range peers {
		if i%2 == 0 {
			p.reset()
		} else {
			_ = p.Close()
		}
	}
	gone(t, b, files)
	for g, id := range ids {
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group, leave.MemberID = fmt.Sprint("g", g), id
		if _, err := good.ask(1, leave); err != nil {
			t.Fatal(err)
		}
	}
	// The round ends without them knowing; nobody hands in an assignment, and
	// their sessions run out.
	eventually(t, good, "nobody is left", func(g *kmsg.DescribeGroupsResponseGroup) bool {
		return len(g.Members) == 0
	})
}

// holdOpen makes a group with one member, which has all the time there is, and
// returns its id.
func holdOpen(t *testing.T, p *peer, group string) string {
	t.Helper()
	var joined *kmsg.JoinGroupResponse
	for limit := time.Now().Add(patience); joined == nil; {
		resp, err := p.ask(3, joinRequest(group, 10*time.Minute))
		j, ok := resp.(*kmsg.JoinGroupResponse)
		switch {
		case err == nil && ok && j.ErrorCode == 0:
			joined = j
		case err != nil || !ok || j.ErrorCode != kerr.CoordinatorLoadInProgress.Code || time.Now().After(limit):
			t.Fatalf("the first member of %s: %+v, %v", group, resp, err)
		}
	}
	plan := kmsg.NewPtrSyncGroupRequest()
	plan.Group, plan.MemberID, plan.Generation = group, joined.MemberID, joined.Generation
	if resp, err := p.ask(2, plan); err != nil {
		t.Fatalf("the assignment of %s: %+v, %v", group, resp, err)
	}
	return joined.MemberID
}

func joinRequest(group string, session time.Duration) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType = group, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(session.Milliseconds()), int32(max(session, 5*time.Second).Milliseconds())
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	req.Protocols = append(req.Protocols, p)
	return req
}

// eventually asks until all groups of the test are as they must be.
func eventually(t *testing.T, p *peer, what string, ok func(*kmsg.DescribeGroupsResponseGroup) bool) {
	t.Helper()
	limit := time.Now().Add(3 * patience)
	for {
		req := kmsg.NewPtrDescribeGroupsRequest()
		for g := range 10 {
			req.Groups = append(req.Groups, fmt.Sprint("g", g))
		}
		resp, err := p.ask(5, req)
		if err != nil {
			t.Fatal(err)
		}
		described, _ := resp.(*kmsg.DescribeGroupsResponse)
		all := true
		for i := range described.Groups {
			all = all && ok(&described.Groups[i])
		}
		if all {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("never: %s; the first group is %s with %d members", what, described.Groups[0].State, len(described.Groups[0].Members))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
