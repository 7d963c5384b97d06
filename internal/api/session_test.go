package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
)

// inSession makes a Fetch part of a session.
func inSession(req *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
	req.SessionID, req.SessionEpoch = id, epoch
	return req
}

func forgetting(req *kmsg.FetchRequest, t *catalog.Topic, partitions ...int32) *kmsg.FetchRequest {
	req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Topic: t.Name, TopicID: t.ID, Partitions: partitions})
	return req
}

const pollTime = 500 * time.Millisecond

// Check 7 and B53.
func TestFetchSessions(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c, producer := r.client("c"), r.client("p")
		topic := r.topic("t", 3)
		poll := func(parts ...from) *kmsg.FetchRequest { return patient(fetchOf(parts...), 1, pollTime) }
		var resp *kmsg.FetchResponse
		waits := func(what string, want time.Duration, req *kmsg.FetchRequest) {
			t.Helper()
			if took := take(func() { resp = ask[*kmsg.FetchResponse](c, 12, req) }); took != want {
				t.Errorf("%s: answered after %v, want %v", what, took, want)
			}
			if resp.ErrorCode != 0 {
				t.Fatalf("%s: error %d", what, resp.ErrorCode)
			}
		}
		names := func(what string, want ...fetchedPart) {
			t.Helper()
			if diff := cmp.Diff(want, partsOf(resp)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		waits("a new session", pollTime, inSession(poll(from{topic: topic}, from{topic: topic, partition: 1}), 0, 0))
		id := resp.SessionID
		if id == 0 {
			t.Fatal("no session was made")
		}
		names("a new session", fetchedPart{"t", 0, 0, 0, 0, 0}, fetchedPart{"t", 1, 0, 0, 0, 0})

		waits("nothing new", pollTime, inSession(poll(), id, 1))
		names("nothing new")
		if resp.SessionID != id {
			t.Errorf("session %d, want %d", resp.SessionID, id)
		}

		c.send(12, inSession(poll(), id, 2))
		c.parked()
		producer.produced(9, topic, 1, batchOf("x"))
		resp = received[*kmsg.FetchResponse](c)
		names("a record came", fetchedPart{"t", 1, 0, 1, 0, len(batchOf("x"))})

		waits("asked again at the same offset", 0, inSession(poll(), id, 3))
		names("asked again at the same offset", fetchedPart{"t", 1, 0, 1, 0, len(batchOf("x"))})

		waits("went on", pollTime, inSession(poll(from{topic: topic, partition: 1, offset: 1}), id, 4))
		names("went on")

		waits("a partition more", 0, inSession(poll(from{topic: topic, partition: 2, offset: 7}), id, 5))
		names("a partition more", fetchedPart{"t", 2, 1, -1, -1, 0})

		waits("all forgotten", 0, inSession(forgetting(poll(), topic, 0, 1, 2), id, 6))
		names("all forgotten")

		waits("without session", pollTime, inSession(poll(from{topic: topic}), 0, -1))
		if resp.SessionID != 0 {
			t.Errorf("session %d", resp.SessionID)
		}
		waits("session id -1", pollTime, inSession(poll(from{topic: topic}), -1, -1))

		for _, s := range []struct {
			name      string
			id, epoch int32
			v, code   int16
		}{
			{"wrong epoch", id, 9, 12, 71},
			{"unknown session", id + 1, 1, 12, 70},
			{"names and ids", id, 7, 13, 106},
		} {
			bad := ask[*kmsg.FetchResponse](c, s.v, inSession(poll(from{topic: topic}), s.id, s.epoch))
			if bad.ErrorCode != s.code || bad.SessionID != 0 || len(bad.Topics) != 0 {
				t.Errorf("%s: %+v, want error %d", s.name, bad, s.code)
			}
		}
		waits("goes on after those", pollTime, inSession(poll(from{topic: topic}), id, 7))

		// A full request closes the session that it names.
		waits("another session", pollTime, inSession(poll(from{topic: topic}), id, 0))
		if resp.SessionID == 0 || resp.SessionID == id {
			t.Errorf("session %d after %d", resp.SessionID, id)
		}
		if gone := ask[*kmsg.FetchResponse](c, 12, inSession(poll(), id, 8)); gone.ErrorCode != 70 {
			t.Errorf("the old session: error %d", gone.ErrorCode)
		}
		waits("closed", pollTime, inSession(poll(from{topic: topic}), resp.SessionID, -1))
	})
}

func TestSessionsByTopicID(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		c.produced(9, topic, 0, batchOf("x"))
		first := ask[*kmsg.FetchResponse](c, 13, inSession(fetchOf(from{topic: topic, offset: 1}), 0, 0))
		if first.SessionID == 0 || first.Topics[0].TopicID != topic.ID {
			t.Fatalf("%+v", first)
		}
		c.produced(9, topic, 0, batchOf("y"))
		second := ask[*kmsg.FetchResponse](c, 17, inSession(fetchOf(), first.SessionID, 1))
		if len(second.Topics) != 1 || second.Topics[0].TopicID != topic.ID || len(second.Topics[0].Partitions[0].RecordBatches) == 0 {
			t.Fatalf("%+v", second)
		}
		// The topic goes, and comes again under another id.
		c.deleteTopic(5, "t")
		r.topic("t", 1)
		third := ask[*kmsg.FetchResponse](c, 13, inSession(patient(fetchOf(), 1, time.Hour), first.SessionID, 2))
		if p := third.Topics[0].Partitions[0]; p.ErrorCode != 100 || third.Topics[0].TopicID != topic.ID {
			t.Errorf("%+v", third)
		}
	})
}

// A session outlives its connection, and a partition that gave records goes
// behind those that did not get their turn.
func TestSessionsTakeTurns(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 3)
		first := r.client("c")
		for p := range int32(3) {
			for range 3 {
				first.produced(9, topic, p, batchOf("x"))
			}
		}
		one := func(req *kmsg.FetchRequest) *kmsg.FetchRequest { // answers of one batch
			req.MaxBytes = 1
			return req
		}
		resp := ask[*kmsg.FetchResponse](first, 12, inSession(one(fetchOf(from{topic: topic}, from{topic: topic, partition: 1}, from{topic: topic, partition: 2})), 0, 0))
		id := resp.SessionID
		var turns []int32
		for epoch := int32(1); ; epoch++ {
			for _, p := range partsOf(resp) {
				if p.Bytes > 0 {
					turns = append(turns, p.Partition)
				}
			}
			if epoch == 7 {
				break
			}
			c := r.client("c")
			resp = ask[*kmsg.FetchResponse](c, 12, inSession(one(fetchOf()), id, epoch))
		}
		if diff := cmp.Diff([]int32{0, 1, 2, 0, 1, 2, 0}, turns); diff != "" {
			t.Errorf("partitions with records (-want +got):\n%s", diff)
		}
	})
}

func TestSessionSlots(t *testing.T) {
	inBubble(t, map[string]string{"max.incremental.fetch.session.cache.slots": "2"}, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		open := func() int32 {
			return ask[*kmsg.FetchResponse](c, 12, inSession(fetchOf(from{topic: topic}), 0, 0)).SessionID
		}
		code := func(id, epoch int32) int16 {
			return ask[*kmsg.FetchResponse](c, 12, inSession(fetchOf(), id, epoch)).ErrorCode
		}
		a, b := open(), open()
		if a == 0 || b == 0 || a == b {
			t.Fatalf("sessions %d and %d", a, b)
		}
		if id := open(); id != 0 {
			t.Errorf("a third one: session %d", id)
		}
		time.Sleep(time.Minute)
		if code := code(a, 1); code != 0 {
			t.Errorf("a: error %d", code)
		}
		time.Sleep(time.Minute) // b has not been used for two
		if id := open(); id == 0 {
			t.Error("no session though one has rested")
		}
		if x, y := code(a, 2), code(b, 1); x != 0 || y != 70 {
			t.Errorf("errors %d and %d, want 0 and 70", x, y)
		}
	})
	inBubble(t, map[string]string{"max.incremental.fetch.session.cache.slots": "0"}, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		if id := ask[*kmsg.FetchResponse](c, 12, inSession(fetchOf(from{topic: topic}), 0, 0)).SessionID; id != 0 {
			t.Errorf("session %d without slots", id)
		}
	})
}
