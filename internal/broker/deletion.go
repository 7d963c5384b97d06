package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

// deleteRetry is the pause after a deletion could not be written down.
const deleteRetry = time.Second

// finishDelete removes what is left of a topic that has left the View. It
// tries until it succeeds or the broker stops; a start tries again.
func (b *Broker) finishDelete(t *catalog.Topic) <-chan error {
	done := make(chan error, 1)
	b.background.Go(func() {
		for {
			err := b.deleteRest(t)
			if err == nil {
				done <- nil
				return
			}
			select {
			case <-b.stopped:
				done <- err
				return
			case <-time.After(deleteRetry):
				b.Config.Log.Error("a topic is not deleted completely, trying again", "topic", t.Name, "err", err)
			}
		}
	})
	return done
}

// deleteRest removes the offsets and the logs of a topic, and frees its name.
func (b *Broker) deleteRest(t *catalog.Topic) error {
	// The bytes go even if a shard cannot write its tombstones: a full disk
	// may be why.
	if err := errors.Join(b.forgetTopic(t), b.removeLogs(t)); err != nil {
		return err
	}
	err := b.Catalog.EndDelete(context.Background(), t.ID)
	if err != nil && !errors.Is(err, catalog.ErrUnknownTopic) {
		return fmt.Errorf("end the deletion of %s: %w", t.Name, err)
	}
	return nil
}

// forgetTopic returns when the offsets of every group for that topic are gone,
// durably.
func (b *Broker) forgetTopic(t *catalog.Topic) error {
	heard := make(chan error, 1)
	b.Coordinator.ForgetTopic(t.Name, t.ID, func(err error) { heard <- err })
	if err := <-heard; err != nil {
		return fmt.Errorf("forget offsets of %s: %w", t.Name, err)
	}
	return nil
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

// removeTogether is how many logs are removed at a time: they share a flush.
const removeTogether = 64

// removeLogs removes the logs of a topic, those that are left.
func (b *Broker) removeLogs(t *catalog.Topic) error {
	errs := make([]error, removeTogether)
	for from := int32(0); from < t.Partitions; from += removeTogether {
		var round sync.WaitGroup
		for i := from; i < min(from+removeTogether, t.Partitions); i++ {
			round.Go(func() {
				if err := b.Store.Remove(storage.Partition{Topic: t.ID, Index: i}); err != nil {
					errs[i-from] = fmt.Errorf("remove log of %s-%d: %w", t.Name, i, err)
				}
			})
		}
		round.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}
