package broker

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// FindTopic returns a topic for Metadata and makes it if it does not exist,
// create is set, the name is good and auto.create.topics.enable says so. It
// waits until the new topic can be used, so that nobody needs to ask twice.
// Errors: those of a *RefusalError.
func (b *Broker) FindTopic(ctx context.Context, v *catalog.View, r TopicRef, create bool) (*catalog.Topic, *kerr.Error) {
	t, err := r.find(v)
	if err == nil || r.ByID {
		return t, err
	}
	if CheckTopicName(r.Name) != nil {
		return nil, kerr.InvalidTopicException
	}
	if !create || b.Config.DisableAutoCreate || reservedName(r.Name) {
		return nil, err
	}
	t, failed := b.CreateTopic(ctx, r.Name, 0, nil, false)
	if failed == nil {
		return t, nil
	}
	var refused *RefusalError
	switch {
	case !errors.As(failed, &refused):
		b.Config.Log.Error("cannot create a topic that a client asked for", "topic", r.Name, "err", failed)
		return nil, kerr.LeaderNotAvailable
	case errors.Is(refused, kerr.TopicAlreadyExists):
		// Somebody else made it in the meantime, or it is being deleted and
		// its name free again before long.
		if t, ok := b.Catalog.View().Topic(r.Name); ok {
			return t, nil
		}
		return nil, kerr.LeaderNotAvailable
	}
	return nil, refused.Kafka
}

// reservedName is true for the names of Kafka's own topics, which are never
// made because a client asked for them.
func reservedName(name string) bool {
	switch name {
	case OffsetsTopic, "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata", "__group_events":
		return true
	}
	return false
}

// LeaderEpoch is the leader epoch of a partition that this broker leads.
// Errors: LEADER_NOT_AVAILABLE while its log is being made.
func (b *Broker) LeaderEpoch(t *catalog.Topic, index int32) (int32, *kerr.Error) {
	log, ok := b.Store.Log(storage.Partition{Topic: t.ID, Index: index})
	if !ok {
		return -1, kerr.LeaderNotAvailable
	}
	return log.Bounds().Epoch, nil
}
