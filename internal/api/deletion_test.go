package api_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTopic deletes one topic by name and returns the error.
func (c *client) deleteTopic(version int16, name string) int16 {
	c.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10_000
	req.TopicNames = []string{name}
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	return ask[*kmsg.DeleteTopicsResponse](c, version, req).Topics[0].ErrorCode
}

func TestDeleteTopicsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.DeleteTopics, func(v int16) {
			a, b := r.topic("a", 2), r.topic("b", 1)
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TimeoutMillis = 1000
			req.TopicNames = []string{"a", "nosuch", "b", "b", "__consumer_offsets"}
			unknown := [16]byte{9}
			offsets, _ := r.cat.View().Topic("__consumer_offsets")
			want := kmsg.NewPtrDeleteTopicsResponse()
			want.Topics = []kmsg.DeleteTopicsResponseTopic{
				{Topic: new("a"), TopicID: a.ID},
				{Topic: new("nosuch"), ErrorCode: 3, ErrorMessage: new("There is no topic of that name.")},
				{Topic: new("b"), TopicID: b.ID, ErrorCode: 42, ErrorMessage: new("The request names this topic more than once.")},
				{Topic: new("__consumer_offsets"), TopicID: offsets.ID, ErrorCode: 17, ErrorMessage: new("__consumer_offsets belongs to the broker and cannot be deleted.")},
			}
			if v >= 6 {
				req.Topics = []kmsg.DeleteTopicsRequestTopic{
					{TopicID: a.ID},
					{Topic: new("nosuch")},
					{Topic: new("b")},
					{TopicID: b.ID},
					{Topic: new("__consumer_offsets")},
					{TopicID: unknown},
					{},
					{Topic: new("b"), TopicID: b.ID},
					{},
				}
				neither := kmsg.DeleteTopicsResponseTopic{ErrorCode: 42, ErrorMessage: new("An entry names a topic or gives its id; this one does neither.")}
				want.Topics = append(want.Topics,
					kmsg.DeleteTopicsResponseTopic{TopicID: unknown, ErrorCode: 100, ErrorMessage: new("There is no topic of that id.")},
					neither,
					kmsg.DeleteTopicsResponseTopic{Topic: new("b"), TopicID: b.ID, ErrorCode: 42, ErrorMessage: new("An entry names a topic or gives its id, not both.")},
					neither,
				)
			}
			equal(t, ask[*kmsg.DeleteTopicsResponse](c, v, req), want)
			if _, ok := r.cat.View().Topic("a"); ok {
				t.Errorf("v%d: topic a is still there", v)
			}
			if got := c.deleteTopic(v, "b"); got != 0 {
				t.Errorf("v%d: delete b: error %d", v, got)
			}
		})
	})
}

func TestTopicDeletionCanBeDisabled(t *testing.T) {
	inBubble(t, map[string]string{"delete.topic.enable": "false"}, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		for v, want := range map[int16]int16{1: 42, 2: 42, 3: 73, 6: 73} {
			if got := c.deleteTopic(v, "t"); got != want {
				t.Errorf("v%d: error %d, want %d", v, got, want)
			}
		}
	})
}

// B22, O32: a topic that is deleted takes the offsets of every group with it,
// and one of the same name starts anew.
func TestDeletedTopicTakesItsOffsetsAlong(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		first := r.topic("t", 1)
		r.topic("u", 1)
		c := r.client("c")
		c.produce("t", 0, "a", "b")
		m := alone(r.client("m"), "live", "t")
		m.must(8, by(m, commitRequest("live", commit{topic: "t", offset: 2})))
		groups := []string{"live"}
		for i := range 20 { // over many shards
			groups = append(groups, fmt.Sprint("g", i))
			c.must(8, commitRequest(groups[i+1], commit{topic: "t", offset: 100}, commit{topic: "u", offset: 7}))
		}
		if got := c.deleteTopic(6, "t"); got != 0 {
			t.Fatalf("delete: error %d", got)
		}
		gone := func(when string) {
			t.Helper()
			x := r.client("x")
			for _, g := range groups {
				if got := x.offset(g, "t", 0); got != -1 {
					t.Errorf("%s: offset of group %s is %d, want -1", when, g, got)
				}
			}
			if got := x.offset("g3", "u", 0); got != 7 {
				t.Errorf("%s: the offset of the other topic is %d, want 7", when, got)
			}
		}
		gone("after the deletion")
		second := r.topic("t", 1)
		if second.ID == first.ID {
			t.Error("the new topic has the id of the old one")
		}
		gone("after the new topic was made")
		r.restart()
		gone("after a restart")
		x := r.client("x")
		x.must(8, commitRequest("g0", commit{topic: "t", offset: 1}))
		r.restart()
		if got := r.client("y").offset("g0", "t", 0); got != 1 {
			t.Errorf("the new topic's offset is %d, want 1", got)
		}
	})
}

// A start finishes the deletion that the last run had only begun.
func TestStartFinishesDeletion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		c := r.client("c")
		c.produce("t", 1, "a")
		c.must(8, commitRequest("g", commit{topic: "t", offset: 100}))
		if _, err := r.cat.BeginDelete(context.Background(), topic.ID); err != nil {
			t.Fatal(err)
		}
		if got := ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(newTopic("t", 1, 1))).Topics[0].ErrorCode; got != 36 {
			t.Errorf("create while the old one is being deleted: error %d, want 36", got)
		}
		r.restart()
		synctest.Wait()
		if left := r.cat.Deleting(); len(left) != 0 {
			t.Fatalf("still being deleted: %+v", left)
		}
		for _, p := range r.store.Partitions() {
			if p.Topic == topic.ID {
				t.Errorf("the log of partition %d is still there", p.Index)
			}
		}
		c = r.client("c")
		if got := c.offset("g", "t", 0); got != -1 {
			t.Errorf("the offset is %d, want -1", got)
		}
		c.created(newTopic("t", 1, 1))
	})
}

// A deletion that takes longer than the client waits goes on without it.
func TestDeletionOutlastsItsRequest(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		r.stop()
		r.hold = make(chan struct{})
		r.start()
		c := r.client("c")
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = []string{"t"}, 500
		got := ask[*kmsg.DeleteTopicsResponse](c, 5, req).Topics[0]
		if got.ErrorCode != 7 || got.ErrorMessage == nil {
			t.Errorf("%+v, want error 7 and a message", got)
		}
		if got := ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(newTopic("t", 1, 1))).Topics[0].ErrorCode; got != 36 {
			t.Errorf("create: error %d, want 36", got)
		}
		close(r.hold)
		r.hold = nil
		synctest.Wait()
		c.created(newTopic("t", 1, 1))
	})
}

// A commit that comes to its shard behind the tombstones of its topic is
// taken back.
func TestLateCommitOfDeletedTopic(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		c := r.client("c")
		c.must(8, commitRequest("g", commit{topic: "t", offset: 5}))
		if _, err := r.cat.BeginDelete(context.Background(), topic.ID); err != nil {
			t.Fatal(err)
		}
		r.broker.ForgetLate("t", topic.ID)
		synctest.Wait()
		if got := c.offset("g", "t", 0); got != -1 {
			t.Errorf("the offset is %d, want -1", got)
		}
	})
}

func TestDeleteRecordsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		c.created(newTopic("compacted", 1, 1, "cleanup.policy", "compact"), newTopic("both", 1, 1, "cleanup.policy", "compact,delete"))
		remove := func(v int16, topic string, partition int32, offset int64) (int64, int16) {
			t.Helper()
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.TimeoutMillis = 1000
			req.Topics = []kmsg.DeleteRecordsRequestTopic{{
				Topic:      topic,
				Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: offset}},
			}}
			p := ask[*kmsg.DeleteRecordsResponse](c, v, req).Topics[0].Partitions[0]
			if p.Partition != partition {
				t.Errorf("partition %d was answered", p.Partition)
			}
			return p.LowWatermark, p.ErrorCode
		}
		eachVersion(r, kmsg.DeleteRecords, func(v int16) {
			name := fmt.Sprint("t", v)
			r.topic(name, 2)
			c.produce(name, 1, "a", "b", "c", "d")
			for _, test := range []struct {
				topic     string
				partition int32
				offset    int64
				low       int64
				code      int16
			}{
				{name, 1, 2, 2, 0},
				{name, 1, 1, 2, 0}, // nothing to do
				{name, 1, 5, -1, 1},
				{name, 1, -2, -1, 1},
				{name, 1, -1, 4, 0},
				{name, 0, -1, 0, 0},
				{name, 2, 0, -1, 3},
				{"nosuch", 0, 0, -1, 3},
				{"compacted", 0, 0, -1, 44},
				{"both", 0, 0, 0, 0},
				{"__consumer_offsets", 0, 0, -1, 17},
			} {
				if low, code := remove(v, test.topic, test.partition, test.offset); low != test.low || code != test.code {
					t.Errorf("v%d: %s-%d before %d: low watermark %d, error %d, want %d, %d",
						v, test.topic, test.partition, test.offset, low, code, test.low, test.code)
				}
			}
			r.restart()
			c = r.client("c")
			if low, code := remove(v, name, 1, 0); low != 4 || code != 0 {
				t.Errorf("v%d: after a restart the start is %d, error %d, want 4", v, low, code)
			}
		})
	})
}
