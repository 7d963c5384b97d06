package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// TopicRef names a topic as a request does: by name, or by id.
type TopicRef struct {
	Name string
	ID   storage.TopicID
	// ByID says that ID counts and Name does not.
	ByID bool
}

// find returns the topic. Errors: UNKNOWN_TOPIC_OR_PARTITION, or for an id
// UNKNOWN_TOPIC_ID.
func (r TopicRef) find(v *catalog.View) (*catalog.Topic, *kerr.Error) {
	if r.ByID {
		if t, ok := v.TopicByID(r.ID); ok {
			return t, nil
		}
		return nil, kerr.UnknownTopicID
	}
	if t, ok := v.Topic(r.Name); ok {
		return t, nil
	}
	return nil, kerr.UnknownTopicOrPartition
}

// Partition returns the topic and the log of one of its partitions. Errors:
// UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, and NOT_LEADER_OR_FOLLOWER while
// the log of a new partition is being made.
func (b *Broker) Partition(v *catalog.View, r TopicRef, index int32) (*catalog.Topic, *storage.Log, *kerr.Error) {
	t, err := r.find(v)
	if err != nil {
		return nil, nil, err
	}
	if index < 0 || index >= t.Partitions {
		return t, nil, kerr.UnknownTopicOrPartition
	}
	log, ok := b.Store.Log(storage.Partition{Topic: t.ID, Index: index})
	if !ok {
		return t, nil, kerr.NotLeaderForPartition
	}
	return t, log, nil
}

// CheckEpoch compares the leader epoch that a client knows, -1 for none, with
// that of the log (KIP-320). Errors: FENCED_LEADER_EPOCH,
// UNKNOWN_LEADER_EPOCH.
func CheckEpoch(known, current int32) *kerr.Error {
	switch {
	case known < 0 || known == current:
		return nil
	case known < current:
		return kerr.FencedLeaderEpoch
	default:
		return kerr.UnknownLeaderEpoch
	}
}
