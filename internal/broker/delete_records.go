package broker

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/storage"
)

// Deletion is the outcome of DeleteRecords.
type Deletion struct {
	// Start is the log start offset from now on.
	Start int64
	Err   error
}

// DeleteRecords raises the start of a partition to before, -1 for the high
// watermark. done hears of it once that is durable. An offset below the start
// changes nothing. Errors: a *RefusalError.
func (b *Broker) DeleteRecords(topic string, partition int32, before int64) (done <-chan Deletion, err error) {
	t, ok := b.Catalog.View().Topic(topic)
	if !ok || partition < 0 || partition >= t.Partitions {
		return nil, Refuse(kerr.UnknownTopicOrPartition, "There is no such partition.")
	}
	if t.Internal {
		return nil, Refuse(kerr.InvalidTopicException, "%s belongs to the broker: its records cannot be deleted.", t.Name)
	}
	log, ok := b.Store.Log(storage.Partition{Topic: t.ID, Index: partition})
	if !ok {
		return nil, Refuse(kerr.UnknownTopicOrPartition, "The partition is being made or deleted.")
	}
	if !log.Config().Delete {
		return nil, Refuse(kerr.PolicyViolation, "Records of %s cannot be deleted: its cleanup.policy has no delete.", t.Name)
	}
	if high := log.Bounds().HighWatermark; before < -1 || before > high {
		return nil, Refuse(kerr.OffsetOutOfRange, "The offset lies between 0 and the high watermark %d, or is -1 for that; %d is not.", high, before)
	}
	heard := make(chan Deletion, 1)
	log.DeleteRecords(before, func(start int64, err error) {
		switch {
		case errors.Is(err, storage.ErrClosed):
			err = Refuse(kerr.UnknownTopicOrPartition, "The partition is being deleted.")
		case errors.Is(err, storage.ErrOffsetOutOfRange):
			err = Refuse(kerr.OffsetOutOfRange, "The high watermark is below that offset.")
		case err != nil:
			err = fmt.Errorf("delete records of %s-%d: %w", topic, partition, err)
		}
		heard <- Deletion{Start: start, Err: err}
	})
	return heard, nil
}
