package api_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/record"
)

// newTopic is one topic of a CreateTopics request.
func newTopic(name string, partitions int32, factor int16, config ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i < len(config); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: config[i], Value: &config[i+1]})
	}
	return t
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = topics, 10_000
	return req
}

// created checks that topics were made.
func (c *client) created(topics ...kmsg.CreateTopicsRequestTopic) {
	c.Helper()
	for _, t := range ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(topics...)).Topics {
		if t.ErrorCode != 0 {
			c.Fatalf("create %s: error %d, %s", t.Topic, t.ErrorCode, *t.ErrorMessage)
		}
	}
}

// deleteTopic deletes one topic by name and returns the error.
func (c *client) deleteTopic(version int16, name string) int16 {
	c.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10_000
	req.TopicNames = []string{name}
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	return ask[*kmsg.DeleteTopicsResponse](c, version, req).Topics[0].ErrorCode
}

// produce appends one batch of records without keys.
func (c *client) produce(topic string, partition int32, values ...string) {
	c.Helper()
	var b record.Builder
	b.Reset(nil)
	for _, v := range values {
		b.Append(1, nil, []byte(v))
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, b.Finish()
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp := ask[*kmsg.ProduceResponse](c, 9, req)
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		c.Fatalf("produce to %s-%d: error %d", topic, partition, code)
	}
}

func TestCreateTopicsInEveryVersion(t *testing.T) {
	inBubble(t, map[string]string{"num.partitions": "3"}, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.CreateTopics, func(v int16) {
			name, other := fmt.Sprint("t", v), fmt.Sprint("d", v)
			resp := ask[*kmsg.CreateTopicsResponse](c, v, createRequest(
				newTopic(name, 2, 1, "retention.ms", "1000"), newTopic(other, -1, -1)))
			made, ok := r.cat.View().Topic(name)
			byDefault, ok2 := r.cat.View().Topic(other)
			if !ok || !ok2 || made.Partitions != 2 || byDefault.Partitions != 3 {
				t.Fatalf("v%d: made %+v and %+v", v, made, byDefault)
			}
			if diff := cmp.Diff(map[string]string{"retention.ms": "1000"}, made.Config); diff != "" {
				t.Errorf("v%d: config (-want +got):\n%s", v, diff)
			}
			for i := range resp.Topics {
				configs := resp.Topics[i].Configs
				if v >= 5 {
					checkReportedConfigs(t, configs, i == 0)
				}
				resp.Topics[i].Configs = nil
			}
			want := kmsg.NewPtrCreateTopicsResponse()
			want.Topics = []kmsg.CreateTopicsResponseTopic{
				{Topic: name, TopicID: made.ID, NumPartitions: 2, ReplicationFactor: 1},
				{Topic: other, TopicID: byDefault.ID, NumPartitions: 3, ReplicationFactor: 1},
			}
			equal(t, withoutConfigs(resp), withoutConfigs(want))

			again := ask[*kmsg.CreateTopicsResponse](c, v, createRequest(newTopic(name, 1, 1)))
			refused := kmsg.NewPtrCreateTopicsResponse()
			refused.Topics = []kmsg.CreateTopicsResponseTopic{{
				Topic: name, ErrorCode: 36, ErrorMessage: ptr("A topic " + name + " exists already."), NumPartitions: -1, ReplicationFactor: -1,
			}}
			equal(t, withoutConfigs(again), withoutConfigs(refused))
			c.produce(name, 1, "it can be used at once")
		})
	})
}

// withoutConfigs makes null and empty lists of configs the same.
func withoutConfigs(resp *kmsg.CreateTopicsResponse) *kmsg.CreateTopicsResponse {
	for i := range resp.Topics {
		resp.Topics[i].Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	}
	return resp
}

// checkReportedConfigs checks the configs in a response: all of them, with
// what was set marked as such.
func checkReportedConfigs(t *testing.T, configs []kmsg.CreateTopicsResponseTopicConfig, set bool) {
	t.Helper()
	if len(configs) != len(catalog.TopicKeys()) {
		t.Errorf("%d configs, want %d", len(configs), len(catalog.TopicKeys()))
	}
	for _, config := range configs {
		value, source := "604800000", int8(5)
		if set {
			value, source = "1000", 1
		}
		if config.Name == "retention.ms" && (*config.Value != value || config.Source != source) {
			t.Errorf("retention.ms is %s from source %d, want %s from %d", *config.Value, config.Source, value, source)
		}
	}
}

func TestCreateTopicsRefuses(t *testing.T) {
	assigned := func(name string, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
		topic := newTopic(name, -1, -1)
		for i, brokers := range replicas {
			topic.ReplicaAssignment = append(topic.ReplicaAssignment,
				kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: brokers})
		}
		return topic
	}
	gap := assigned("n", []int32{1}, []int32{1})
	gap.ReplicaAssignment[1].Partition = 2
	both := assigned("n", []int32{1})
	both.NumPartitions = 1
	null := newTopic("n", 1, 1, "retention.ms", "")
	null.Configs[0].Value = nil
	tests := []struct {
		name  string
		topic kmsg.CreateTopicsRequestTopic
		want  *kerr.Error
	}{
		{"an empty name", newTopic("", 1, 1), kerr.InvalidTopicException},
		{"a name with a slash", newTopic("a/b", 1, 1), kerr.InvalidTopicException},
		{"a long name", newTopic(strings.Repeat("n", 250), 1, 1), kerr.InvalidTopicException},
		{"a dot", newTopic(".", 1, 1), kerr.InvalidTopicException},
		{"a colliding name", newTopic("with_dots_here", 1, 1), kerr.InvalidTopicException},
		{"a name in use", newTopic("with.dots.here", 1, 1), kerr.TopicAlreadyExists},
		{"an internal topic", newTopic("__consumer_offsets", 1, 1), kerr.TopicAlreadyExists},
		{"no partitions", newTopic("n", 0, 1), kerr.InvalidPartitions},
		{"-2 partitions", newTopic("n", -2, 1), kerr.InvalidPartitions},
		{"too many partitions", newTopic("n", 10_001, 1), kerr.PolicyViolation},
		{"no replicas", newTopic("n", 1, 0), kerr.InvalidReplicationFactor},
		{"-2 replicas", newTopic("n", 1, -2), kerr.InvalidReplicationFactor},
		{"an unknown setting", newTopic("n", 1, 1, "retention.msec", "5"), kerr.InvalidConfig},
		{"a bad value", newTopic("n", 1, 1, "retention.ms", "long"), kerr.InvalidConfig},
		{"a setting that is not honoured", newTopic("n", 1, 1, "remote.storage.enable", "true"), kerr.InvalidConfig},
		{"a setting without value", null, kerr.InvalidConfig},
		{"an assignment and a count", both, kerr.InvalidRequest},
		{"an assignment with a gap", gap, kerr.InvalidReplicaAssignment},
		{"an assignment to nobody", assigned("n", []int32{}), kerr.InvalidReplicaAssignment},
		{"an assignment to a broker twice", assigned("n", []int32{1, 1}), kerr.InvalidReplicaAssignment},
		{"an assignment to broker -1", assigned("n", []int32{-1}), kerr.InvalidReplicaAssignment},
		{"assignments of two lengths", assigned("n", []int32{1, 2}, []int32{1}), kerr.InvalidReplicaAssignment},
	}
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		c.created(newTopic("with.dots.here", 1, 1))
		for _, test := range tests {
			for _, validateOnly := range []bool{true, false} {
				req := createRequest(test.topic)
				req.ValidateOnly = validateOnly
				resp := ask[*kmsg.CreateTopicsResponse](c, 7, req)
				if len(resp.Topics) != 1 {
					t.Fatalf("%s: %d answers", test.name, len(resp.Topics))
				}
				got := resp.Topics[0]
				if got.ErrorCode != test.want.Code || got.Topic != test.topic.Topic || got.TopicID != [16]byte{} ||
					got.NumPartitions != -1 || got.ReplicationFactor != -1 {
					t.Errorf("%s: %+v, want %s", test.name, got, test.want.Message)
				}
				if got.ErrorMessage == nil || !strings.HasSuffix(*got.ErrorMessage, ".") {
					t.Errorf("%s: the message is no sentence: %v", test.name, got.ErrorMessage)
				}
			}
			if _, ok := r.cat.View().Topic("n"); ok {
				t.Fatalf("%s: the topic was made", test.name)
			}
		}
		twice := ask[*kmsg.CreateTopicsResponse](c, 5, createRequest(newTopic("n", 1, 1), newTopic("ok", 1, 1), newTopic("n", 2, 1), newTopic("n", 3, 1)))
		if len(twice.Topics) != 2 || twice.Topics[0].Topic != "n" || twice.Topics[0].ErrorCode != 42 || twice.Topics[1].ErrorCode != 0 {
			t.Errorf("a topic named three times: %+v", twice.Topics)
		}
		if _, ok := r.cat.View().Topic("n"); ok {
			t.Error("a topic named three times was made")
		}
	})
}

// One request makes a bounded number of partitions, however many topics it
// spreads them over.
func TestPartitionsOfOneRequest(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		req := createRequest(newTopic("a", 6000, 1), newTopic("b", 5000, 1), newTopic("c", math.MaxInt32, 1), newTopic("d", 4000, 1), newTopic("e", 1, 1))
		req.ValidateOnly = true
		resp := ask[*kmsg.CreateTopicsResponse](c, 7, req)
		for i, want := range []int16{0, 44, 44, 0, 44} {
			if got := resp.Topics[i].ErrorCode; got != want {
				t.Errorf("create %s: error %d, want %d", resp.Topics[i].Topic, got, want)
			}
		}
		grow := kmsg.NewPtrCreatePartitionsRequest()
		grow.ValidateOnly = true
		for _, name := range []string{"x", "y", "z"} {
			r.topic(name, 1)
			grow.Topics = append(grow.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: 6000})
		}
		grow.Topics[2].Count = 4000
		for i, want := range []int16{0, 44, 0} {
			if got := ask[*kmsg.CreatePartitionsResponse](c, 3, grow).Topics[i].ErrorCode; got != want {
				t.Errorf("grow %s: error %d, want %d", grow.Topics[i].Topic, got, want)
			}
		}
	})
}

// Any replication factor is accepted and one replica reported; an assignment
// gives the partition count.
func TestReplicationFactorsAndAssignments(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		three := newTopic("assigned", -1, -1)
		for _, p := range []int32{2, 0, 1} {
			three.ReplicaAssignment = append(three.ReplicaAssignment,
				kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: p, Replicas: []int32{7, 8}})
		}
		resp := ask[*kmsg.CreateTopicsResponse](c, 5, createRequest(newTopic("three", 1, 3), three))
		for _, got := range resp.Topics {
			if got.ErrorCode != 0 || got.ReplicationFactor != 1 {
				t.Errorf("%+v, want no error and one replica", got)
			}
		}
		if n := resp.Topics[1].NumPartitions; n != 3 {
			t.Errorf("the assigned topic has %d partitions, want 3", n)
		}
	})
	inBubble(t, map[string]string{"replication.check": "true"}, func(r *rig) {
		c := r.client("c")
		elsewhere := newTopic("assigned", -1, -1)
		elsewhere.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{2}}}
		resp := ask[*kmsg.CreateTopicsResponse](c, 5, createRequest(newTopic("one", 1, 1), newTopic("three", 1, 3), elsewhere))
		for i, want := range []int16{0, 38, 39} {
			if got := resp.Topics[i].ErrorCode; got != want {
				t.Errorf("%s: error %d, want %d", resp.Topics[i].Topic, got, want)
			}
		}
	})
}

func TestValidateOnlyMakesNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		req := createRequest(newTopic("n", 4, 1, "cleanup.policy", "compact"))
		req.ValidateOnly = true
		got := ask[*kmsg.CreateTopicsResponse](r.client("c"), 7, req).Topics[0]
		if got.ErrorCode != 0 || got.NumPartitions != 4 || got.TopicID != [16]byte{} {
			t.Errorf("%+v, want no error, 4 partitions and no id", got)
		}
		if _, ok := r.cat.View().Topic("n"); ok {
			t.Error("the topic was made")
		}
	})
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
				{Topic: ptr("a"), TopicID: a.ID},
				{Topic: ptr("nosuch"), ErrorCode: 3, ErrorMessage: ptr("There is no topic of that name.")},
				{Topic: ptr("b"), TopicID: b.ID, ErrorCode: 42, ErrorMessage: ptr("The request names this topic more than once.")},
				{Topic: ptr("__consumer_offsets"), TopicID: offsets.ID, ErrorCode: 17, ErrorMessage: ptr("__consumer_offsets belongs to the broker and cannot be deleted.")},
			}
			if v >= 6 {
				req.Topics = []kmsg.DeleteTopicsRequestTopic{
					{TopicID: a.ID}, {Topic: ptr("nosuch")}, {Topic: ptr("b")}, {TopicID: b.ID}, {Topic: ptr("__consumer_offsets")},
					{TopicID: unknown}, {}, {Topic: ptr("b"), TopicID: b.ID}, {},
				}
				neither := kmsg.DeleteTopicsResponseTopic{ErrorCode: 42, ErrorMessage: ptr("An entry names a topic or gives its id; this one does neither.")}
				want.Topics = append(want.Topics,
					kmsg.DeleteTopicsResponseTopic{TopicID: unknown, ErrorCode: 100, ErrorMessage: ptr("There is no topic of that id.")},
					neither,
					kmsg.DeleteTopicsResponseTopic{Topic: ptr("b"), TopicID: b.ID, ErrorCode: 42, ErrorMessage: ptr("An entry names a topic or gives its id, not both.")},
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

func TestCreatePartitionsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		grow := func(name string, count int32, assignment ...[]int32) kmsg.CreatePartitionsRequestTopic {
			topic := kmsg.CreatePartitionsRequestTopic{Topic: name, Count: count}
			for _, brokers := range assignment {
				topic.Assignment = append(topic.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: brokers})
			}
			return topic
		}
		eachVersion(r, kmsg.CreatePartitions, func(v int16) {
			name := fmt.Sprint("t", v)
			r.topic(name, 2)
			c.produce(name, 1, "before")
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis = 1000
			req.Topics = []kmsg.CreatePartitionsRequestTopic{
				grow(name, 5), grow("nosuch", 3), grow("__consumer_offsets", 60), grow("twice", 3), grow("twice", 4),
			}
			want := []int16{0, 3, 17, 42}
			check := func(resp *kmsg.CreatePartitionsResponse) {
				t.Helper()
				if len(resp.Topics) != len(want) {
					t.Fatalf("v%d: %d answers, want %d", v, len(resp.Topics), len(want))
				}
				for i, topic := range resp.Topics {
					if topic.ErrorCode != want[i] || topic.Topic != req.Topics[i].Topic || (want[i] == 0) != (topic.ErrorMessage == nil) {
						t.Errorf("v%d: %+v, want error %d", v, topic, want[i])
					}
				}
			}
			req.ValidateOnly = true
			check(ask[*kmsg.CreatePartitionsResponse](c, v, req))
			if topic, _ := r.cat.View().Topic(name); topic.Partitions != 2 {
				t.Errorf("v%d: %d partitions after validation", v, topic.Partitions)
			}
			req.ValidateOnly = false
			check(ask[*kmsg.CreatePartitionsResponse](c, v, req))
			c.produce(name, 4, "it can be used at once")
			c.must(8, commitRequest("g", commit{topic: name, partition: 4, offset: 1}))

			for _, test := range []struct {
				topic kmsg.CreatePartitionsRequestTopic
				want  int16
			}{
				{grow(name, 5), 37}, {grow(name, 4), 37}, {grow(name, 10_001), 37},
				{grow(name, 7, []int32{1}), 39}, {grow(name, 6, []int32{}), 39}, {grow(name, 6, []int32{1}), 0},
			} {
				req.Topics = []kmsg.CreatePartitionsRequestTopic{test.topic}
				if got := ask[*kmsg.CreatePartitionsResponse](c, v, req).Topics[0].ErrorCode; got != test.want {
					t.Errorf("v%d: %+v: error %d, want %d", v, test.topic, got, test.want)
				}
			}
			r.restart()
			c = r.client("c")
			c.produce(name, 5, "after a restart")
		})
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
			req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic,
				Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: offset}}}}
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

func TestDescribeClusterInEveryVersion(t *testing.T) {
	inBubble(t, map[string]string{"node.id": "5"}, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.DescribeCluster, func(v int16) {
			req := kmsg.NewPtrDescribeClusterRequest()
			want := kmsg.NewPtrDescribeClusterResponse()
			want.ClusterID, want.ControllerID = r.cat.ClusterID(), 5
			want.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: 5, Host: "broker.test", Port: 9092}}
			equal(t, ask[*kmsg.DescribeClusterResponse](c, v, req), want)
			req.IncludeClusterAuthorizedOperations = true
			want.ClusterAuthorizedOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
			equal(t, ask[*kmsg.DescribeClusterResponse](c, v, req), want)
			if v == 0 {
				return
			}
			for kind, code := range map[int8]int16{2: 114, 3: 115, 0: 115} {
				req.EndpointType = kind
				got := ask[*kmsg.DescribeClusterResponse](c, v, req)
				if got.ErrorCode != code || got.ErrorMessage == nil || len(got.Brokers) != 0 || got.ControllerID != -1 {
					t.Errorf("v%d: endpoint type %d: %+v, want error %d", v, kind, got, code)
				}
			}
		})
	})
}

// Topics that two clients create at once are made once.
func TestConcurrentCreationOfOneTopic(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		outcomes := make(chan error, 10)
		for range cap(outcomes) {
			go func() {
				_, err := r.broker.CreateTopic(context.Background(), "t", 1, nil, false)
				outcomes <- err
			}()
		}
		made := 0
		for range cap(outcomes) {
			err := <-outcomes
			if err == nil {
				made++
			} else if !errors.Is(err, kerr.TopicAlreadyExists) {
				t.Errorf("unexpected error: %v", err)
			}
		}
		if made != 1 {
			t.Errorf("made %d times", made)
		}
	})
}
