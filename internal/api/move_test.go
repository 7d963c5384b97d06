package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// electRequest asks for a preferred election of partitions of a topic.
func electRequest(topic string, partitions ...int32) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: partitions}}
	return req
}

// move moves the coordinator of a group over the wire.
func (c *client) move(group string) {
	c.Helper()
	c.send(2, electRequest(broker.OffsetsTopic, c.co.PartitionOf(group)))
	c.moved(group)
}

// moved checks the answer to a move.
func (c *client) moved(group string) {
	c.Helper()
	want := &kmsg.ElectLeadersResponse{Topics: []kmsg.ElectLeadersResponseTopic{{
		Topic: broker.OffsetsTopic, Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: c.co.PartitionOf(group)}},
	}}}
	equal(c.T, received[*kmsg.ElectLeadersResponse](c), want)
}

func TestElectLeadersInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 2)
		c := r.client("c")
		eachVersion(r, kmsg.ElectLeaders, func(v int16) {
			req := electRequest("t", 0, 1, 2)
			req.Topics = append(req.Topics, kmsg.ElectLeadersRequestTopic{Topic: "nosuch", Partitions: []int32{0}})
			none := new("There is no such topic or partition.")
			want := &kmsg.ElectLeadersResponse{Topics: []kmsg.ElectLeadersResponseTopic{
				{Topic: "t", Partitions: []kmsg.ElectLeadersResponseTopicPartition{
					{Partition: 0, ErrorCode: 84}, {Partition: 1, ErrorCode: 84}, {Partition: 2, ErrorCode: 3, ErrorMessage: none},
				}},
				{Topic: "nosuch", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{ErrorCode: 3, ErrorMessage: none}}},
			}}
			equal(t, ask[*kmsg.ElectLeadersResponse](c, v, req), want)

			all := electRequest("")
			all.Topics = nil
			equal(t, ask[*kmsg.ElectLeadersResponse](c, v, all), &kmsg.ElectLeadersResponse{})
			if v == 0 {
				return
			}
			req = electRequest("t", 0)
			req.ElectionType = 7
			resp := ask[*kmsg.ElectLeadersResponse](c, v, req)
			if resp.ErrorCode != 42 || resp.Topics[0].Partitions[0].ErrorCode != 42 {
				t.Errorf("v%d: an election of type 7 is answered with %+v, want 42", v, resp)
			}
			req = electRequest(broker.OffsetsTopic, 0)
			req.ElectionType = 1
			before := r.epochOf(0)
			if resp := ask[*kmsg.ElectLeadersResponse](c, v, req); resp.Topics[0].Partitions[0].ErrorCode != 84 || r.epochOf(0) != before {
				t.Errorf("v%d: an unclean election is answered with %+v", v, resp)
			}
		})
	})
}

// epochOf is the leader epoch of a partition of __consumer_offsets.
func (r *rig) epochOf(p int32) int32 {
	r.Helper()
	topic, _ := r.cat.View().Topic(broker.OffsetsTopic)
	epoch, err := r.broker.LeaderEpoch(topic, p)
	if err != nil {
		r.Fatal(err)
	}
	return epoch
}

// A member keeps its generation, its assignment and its offsets when the
// coordinator moves.
func TestMembersKeepTheirPlaceInAMove(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		a, b := pair(r.client("a"), r.client("b"), "g")
		a.must(8, by(a, commitRequest("g", commit{topic: "t", offset: 5})))
		before := r.epochOf(r.co.PartitionOf("g"))
		for range 3 {
			r.client("admin").move("g")
			for m, want := range map[member]string{a: "part a", b: "part b"} {
				if code := m.heartbeat(); code != 0 {
					t.Errorf("heartbeat after a move: error %d", code)
				}
				resp := ask[*kmsg.SyncGroupResponse](m.client, 4, syncRequest("g", m.id, m.generation))
				if resp.ErrorCode != 0 || string(resp.MemberAssignment) != want {
					t.Errorf("sync after a move: error %d, %q, want %q", resp.ErrorCode, resp.MemberAssignment, want)
				}
			}
		}
		if got := a.offset("g", "t", 0); got != 5 {
			t.Errorf("the committed offset is %d after a move, want 5", got)
		}
		a.must(8, by(a, commitRequest("g", commit{topic: "t", offset: 6})))
		if after := r.epochOf(r.co.PartitionOf("g")); after <= before {
			t.Errorf("the leader epoch was %d and is %d", before, after)
		}
	})
}

// A join that is parked is answered with NOT_COORDINATOR, and the round that
// it began is forgotten: those who were members are members still.
func TestAMoveAnswersParkedJoins(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := alone(r.client("a"), "g", "t")
		b, c := r.client("b"), r.client("c")
		b.enter(joinRequest("g", "", subscription("t")))
		c.enter(joinRequest("g", "", subscription("t")))
		b.parked()
		c.parked()
		if code := a.heartbeat(); code != 27 {
			t.Fatalf("heartbeat while others join: error %d, want 27", code)
		}
		r.client("admin").move("g")
		for _, waiting := range []*client{b, c} {
			if resp := received[*kmsg.JoinGroupResponse](waiting); resp.ErrorCode != 16 {
				t.Errorf("a parked join is answered with %d, want 16", resp.ErrorCode)
			}
		}
		if code := a.heartbeat(); code != 0 {
			t.Errorf("heartbeat after the move: error %d", code)
		}
		// Who wanted to join asks again, and it goes on as ever.
		b.enter(joinRequest("g", "", subscription("t")))
		b.parked()
		a.send(5, joinRequest("g", a.id, subscription("t")))
		lead, follow := a.joined(), b.joined()
		if lead.Generation != follow.Generation || lead.Generation <= a.generation || len(lead.Members) != 2 {
			t.Errorf("after the move the two are in %+v and %+v", lead, follow)
		}
	})
}

// A sync that is parked is answered with NOT_COORDINATOR. Nothing of its
// generation was written, so that the member that was there before is in the
// generation that it had and is told to join again, and none is told that
// number again for another set of members.
func TestAMoveAnswersParkedSyncs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := alone(r.client("a"), "g", "t")
		b := r.client("b")
		b.enter(joinRequest("g", "", subscription("t")))
		b.parked()
		a.send(5, joinRequest("g", a.id, subscription("t")))
		lead, follow := a.joined(), b.joined()
		b.send(4, syncRequest("g", follow.MemberID, follow.Generation))
		b.parked()
		r.client("admin").move("g")
		if resp := received[*kmsg.SyncGroupResponse](b); resp.ErrorCode != 16 {
			t.Errorf("a parked sync is answered with %d, want 16", resp.ErrorCode)
		}
		sync := syncRequest("g", a.id, lead.Generation)
		assign(sync, a.id, []byte("x"))
		if resp := ask[*kmsg.SyncGroupResponse](a.client, 4, sync); resp.ErrorCode != 27 {
			t.Errorf("the sync of a generation that was never written is answered with %d, want 27", resp.ErrorCode)
		}
		if code := a.heartbeat(); code != 0 {
			t.Errorf("heartbeat in the generation before: error %d", code)
		}
		b.enter(joinRequest("g", "", subscription("t")))
		b.parked()
		a.send(5, joinRequest("g", a.id, subscription("t")))
		if again := a.joined(); again.Generation <= lead.Generation {
			t.Errorf("generation %d was told before the move, and %d after it", lead.Generation, again.Generation)
		}
		b.joined()
	})
}

// Commits are under way all the time while the coordinator moves again and
// again: none that was answered is lost, and the member never hears that it
// does not belong.
func TestAMoveLosesNoAnsweredCommit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := alone(r.client("a"), "g", "t")
		r.flaky.delay(3 * time.Millisecond)
		defer r.flaky.delay(0)
		moves := make(chan struct{})
		go func() {
			defer close(moves)
			for range 20 {
				if err := r.broker.MoveCoordinator(context.Background(), r.co.PartitionOf("g")); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Millisecond)
			}
		}()
		times, last, sent := map[int16]int{}, int64(-1), int64(0)
		for moving := true; moving; {
			const open = 5
			for i := range int64(open) {
				m.send(8, by(m, commitRequest("g", commit{topic: "t", offset: sent + i})))
			}
			for range open {
				code := received[*kmsg.OffsetCommitResponse](m.client).Topics[0].Partitions[0].ErrorCode
				if times[code]++; code == 0 {
					last = sent
				}
				sent++
			}
			select {
			case <-moves:
				moving = false
			default:
				time.Sleep(100 * time.Microsecond)
			}
		}
		for code := range times {
			if code != 0 && code != 14 && code != 16 {
				t.Errorf("commits were answered with error %d", code)
			}
		}
		if times[0] == 0 || times[16] == 0 {
			t.Errorf("the moves met no commit: answers %v", times)
		}
		if got := m.offset("g", "t", 0); got < last {
			t.Errorf("offset %d was committed and %d is known", last, got)
		}
	})
}

// The client's patience ends the answer and not the move.
func TestAMoveOutlastsItsRequest(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		m := alone(r.client("a"), "g", "t")
		p := r.co.PartitionOf("g")
		req := electRequest(broker.OffsetsTopic, p, p, r.topicPartitions())
		req.TimeoutMillis = 50
		r.flaky.delay(80 * time.Millisecond)
		admin := r.client("admin")
		var resp *kmsg.ElectLeadersResponse
		if took := take(func() { resp = ask[*kmsg.ElectLeadersResponse](admin, 2, req) }); took != 50*time.Millisecond {
			t.Errorf("answered after %v, want the timeout of 50ms", took)
		}
		var codes []int16
		for _, part := range resp.Topics[0].Partitions {
			codes = append(codes, part.ErrorCode)
		}
		if diff := cmp.Diff([]int16{7, 7, 3}, codes); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		r.passes(1000)
		if code := m.heartbeat(); code != 0 {
			t.Errorf("heartbeat after the move: error %d", code)
		}
		r.flaky.delay(0)
	})
}

// topicPartitions is the number of partitions of __consumer_offsets.
func (r *rig) topicPartitions() int32 {
	topic, _ := r.cat.View().Topic(broker.OffsetsTopic)
	return topic.Partitions
}
