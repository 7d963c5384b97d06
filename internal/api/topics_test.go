package api_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

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
				Topic: name, ErrorCode: 36, ErrorMessage: new("A topic " + name + " exists already."), NumPartitions: -1, ReplicationFactor: -1,
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
		{"a name that is kept", newTopic("__transaction_state", 1, 1), kerr.InvalidTopicException},
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
				{grow(name, 5), 37},
				{grow(name, 4), 37},
				{grow(name, 10_001), 37},
				{grow(name, 7, []int32{1}), 39},
				{grow(name, 6, []int32{}), 39},
				{grow(name, 6, []int32{1}), 0},
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
