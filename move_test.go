package rota_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
)

// An embedded broker moves the coordinator of a group: what was committed is
// there afterwards, and a closed broker says that it cannot.
func TestMoveCoordinator(t *testing.T) {
	b, err := rota.Start(t.Context(), rota.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	create.Topics = append(create.Topics, topic)
	created, err := create.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	id := created.Topics[0].TopicID
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.Generation = "g", -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = 42
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	if resp, err := commit.RequestWith(t.Context(), cl); err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("commit: %v, %+v", err, resp)
	}
	for range 3 {
		if err := b.MoveCoordinator(t.Context(), "g"); err != nil {
			t.Fatal(err)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: id, Partitions: []int32{0}}}}}
		resp, err := fetch.RequestWith(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Groups[0].Topics[0].Partitions[0].Offset; got != 42 {
			t.Errorf("the committed offset is %d after a move", got)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.MoveCoordinator(ended, "g"); !errors.Is(err, context.Canceled) {
		t.Errorf("a move with an ended context: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.MoveCoordinator(late, "g"); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a closed broker moves groups: %v", err)
	}
}
