package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// The timestamps of ListOffsets that are none.
const (
	LatestOffset        = -1
	EarliestOffset      = -2
	MaxTimestampOffset  = -3 // of the record with the largest timestamp
	EarliestLocal       = -4 // all is local
	LatestTiered        = -5 // nothing is tiered
	EarliestPendingTier = -6 // nothing waits to be tiered
)

const noTimestamp = -1

// FindOffset answers ListOffsets for one partition: the offset that ts asks
// for, -1 with timestamp -1 if there is none. known is the leader epoch that
// the client knows, -1 for none. Errors: those of Partition, CheckEpoch and
// the log.
func (b *Broker) FindOffset(v *catalog.View, r TopicRef, index int32, ts int64, known int32, committed bool) (storage.Found, error) {
	none := storage.Found{Offset: -1, Timestamp: noTimestamp, Epoch: -1}
	_, log, unknown := b.Partition(v, r, index)
	if unknown != nil {
		return none, unknown
	}
	bounds := log.Bounds()
	if err := CheckEpoch(known, bounds.Epoch); err != nil {
		return none, err
	}
	at := func(offset int64) storage.Found {
		epoch := log.EpochAt(offset)
		if epoch < 0 {
			epoch = bounds.Epoch // of the record that will get the offset
		}
		return storage.Found{Offset: offset, Timestamp: noTimestamp, Epoch: epoch}
	}
	var found storage.Found
	var ok bool
	var err error
	switch ts {
	case LatestOffset:
		if committed {
			return at(bounds.LastStable), nil
		}
		return at(bounds.HighWatermark), nil
	case EarliestOffset, EarliestLocal:
		return at(bounds.Start), nil
	case LatestTiered, EarliestPendingTier:
		return none, nil
	case MaxTimestampOffset:
		found, ok, err = log.MaxTimestamp()
		ok = ok && (!committed || found.Offset < bounds.LastStable) // as in Kafka: none, and not the newest below
	default:
		found, ok, err = log.FirstSince(ts, committed)
	}
	if err != nil || !ok {
		return none, err
	}
	return found, nil
}

// EpochEnd answers OffsetForLeaderEpoch for one partition: the largest leader
// epoch not above the one asked for and its end offset, -1 and -1 if there is
// none. known is the leader epoch that the client knows, -1 for none.
func (b *Broker) EpochEnd(v *catalog.View, r TopicRef, index, epoch, known int32) (int32, int64, *kerr.Error) {
	_, log, err := b.Partition(v, r, index)
	if err != nil {
		return -1, -1, err
	}
	if err := CheckEpoch(known, log.Bounds().Epoch); err != nil {
		return -1, -1, err
	}
	if epoch < 0 {
		return -1, -1, nil
	}
	found, end := log.EndOfEpoch(epoch)
	return found, end, nil
}
