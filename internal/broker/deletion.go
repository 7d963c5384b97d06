package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// DeleteTopic begins to delete a topic: it cannot be seen any more when
// DeleteTopic returns. done hears nil when everything that belonged to it is
// gone, offsets that groups had committed included, and its name is free; that
// can take as long as the slowest shard of the coordinator. Errors: a *RefusalError.
func (b *Broker) DeleteTopic(ctx context.Context, id storage.TopicID) (done <-chan error, err error) {
	if err := b.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer b.endTurn()
	t, ok := b.Catalog.View().TopicByID(id)
	if !ok {
		return nil, Refuse(kerr.UnknownTopicID, "There is no topic of that id.")
	}
	if t.Internal {
		return nil, Refuse(kerr.InvalidTopicException, "%s belongs to the broker and cannot be deleted.", t.Name)
	}
	if !b.Settings().Bool("delete.topic.enable") {
		return nil, Refuse(kerr.TopicDeletionDisabled, "Topics cannot be deleted: delete.topic.enable is false.")
	}
	t, err = b.Catalog.BeginDelete(context.WithoutCancel(ctx), id)
	if errors.Is(err, catalog.ErrUnknownTopic) {
		return nil, Refuse(kerr.UnknownTopicID, "There is no topic of that id.")
	}
	if err != nil {
		return nil, fmt.Errorf("delete topic: %w", err)
	}
	return b.finishDelete(t), nil
}

// FinishDeletes goes on with the deletions that the last run of the broker
// did not get to the end of.
func (b *Broker) FinishDeletes() {
	for _, t := range b.Catalog.Deleting() {
		b.finishDelete(t)
	}
}

// forgetRetry is the pause after a shard could not write its tombstones.
const forgetRetry = time.Second

// finishDelete removes what is left of a topic that has left the View. It
// tries until it succeeds or the broker stops; a start tries again.
func (b *Broker) finishDelete(t *catalog.Topic) <-chan error {
	done := make(chan error, 1)
	b.background.Go(func() {
		err := b.forgetTopic(t)
		// The bytes go even if a shard could not write: a full disk may be why.
		removed := b.removeLogs(t)
		for err != nil {
			b.Config.Log.Error("offsets of a deleted topic remain, trying again", "topic", t.Name, "err", err)
			select {
			case <-time.After(forgetRetry):
				err = b.forgetTopic(t)
			case <-b.stopped:
				done <- fmt.Errorf("forget offsets of %s: %w", t.Name, err)
				return
			}
		}
		if removed != nil {
			done <- removed
			return
		}
		done <- b.Catalog.EndDelete(context.Background(), t.ID)
	})
	return done
}

// forgetTopic returns when the offsets of every group for that topic are gone,
// durably.
func (b *Broker) forgetTopic(t *catalog.Topic) error {
	heard := make(chan error, 1)
	b.Coordinator.ForgetTopic(t.Name, t.ID, func(err error) { heard <- err })
	return <-heard
}

// ForgetLate is called by whoever committed offsets for a topic that has left
// the View since: the commit may have come to its shard behind the tombstones.
func (b *Broker) ForgetLate(name string, id storage.TopicID) {
	b.Coordinator.ForgetTopic(name, id, func(err error) {
		if err != nil {
			b.Config.Log.Error("offsets of a deleted topic may remain", "topic", name, "err", err)
		}
	})
}

func (b *Broker) removeLogs(t *catalog.Topic) error {
	for i := range t.Partitions {
		if err := b.Store.Remove(storage.Partition{Topic: t.ID, Index: i}); err != nil {
			return fmt.Errorf("remove log of %s-%d: %w", t.Name, i, err)
		}
	}
	return nil
}
