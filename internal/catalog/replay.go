package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
)

// replayed is what the records of a log add up to.
type replayed struct {
	live, deleting map[storage.TopicID]*Topic
	broker         map[string]string
	clusterID      string
	nextProducerID int64
	unknown        map[int16]bool
}

func (r *replayed) view() *View { return newView(r.live, r.deleting, r.broker) }

const readSize = 1 << 20

// replay reads the whole log.
func replay(ctx context.Context, log *storage.Log, l *slog.Logger) (*replayed, error) {
	r := &replayed{
		live: map[storage.TopicID]*Topic{}, deleting: map[storage.TopicID]*Topic{},
		broker: map[string]string{}, unknown: map[int16]bool{},
	}
	defer log.Hold()() // no deleted topic may come back
	bounds := log.Bounds()
	var codec record.Codec
	var buf []byte
	for at := bounds.Start; at < bounds.HighWatermark; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		buf, _, err = log.Read(buf[:0], at, storage.ReadOptions{MaxBytes: readSize, Whole: true})
		if err != nil {
			return nil, err
		}
		if len(buf) == 0 {
			return nil, fmt.Errorf("nothing at offset %d, below the end at %d", at, bounds.HighWatermark)
		}
		from := at
		for batch, err := range record.Batches(buf) {
			if err != nil {
				return nil, fmt.Errorf("batch behind offset %d: %w", at, err)
			}
			if err := r.batch(batch, &codec); err != nil {
				return nil, err
			}
			at = record.NextOffset(batch)
		}
		if at == from {
			return nil, fmt.Errorf("no whole batch at offset %d", at)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.unknown)) {
		l.Warn("catalog has records of a type that this version does not know; they are kept and have no effect", "type", kind)
	}
	return r, nil
}

// batch folds the records of a batch in.
func (r *replayed) batch(batch []byte, codec *record.Codec) error {
	h, err := record.ParseHeader(batch)
	if err != nil {
		return err
	}
	if h.Attributes.Control() {
		return nil
	}
	for rec, err := range codec.Records(batch) {
		if err == nil {
			err = r.record(rec.Key, rec.Value)
		}
		if err != nil {
			return fmt.Errorf("record of the batch at offset %d: %w", h.BaseOffset, err)
		}
	}
	return nil
}

// record folds one record in.
func (r *replayed) record(key, value []byte) error {
	k, err := schema.ParseCatalogKey(key)
	if err != nil {
		return err
	}
	switch k := k.(type) {
	case schema.TopicKey:
		return r.topic(k, value)
	case schema.SettingKey:
		if value == nil {
			delete(r.broker, k.Name)
			return nil
		}
		v, err := schema.ParseSettingValue(value)
		r.broker[k.Name] = v.Value
		return err
	case schema.ClusterKey:
		v, err := schema.ParseClusterValue(value)
		r.clusterID = v.ID
		return err
	case schema.ProducerBlockKey:
		v, err := schema.ParseProducerBlockValue(value)
		r.nextProducerID = max(r.nextProducerID, v.Next)
		return err
	case schema.UnknownKey:
		r.unknown[k.Type] = true
	}
	return nil
}

func (r *replayed) topic(k schema.TopicKey, value []byte) error {
	delete(r.live, k.ID)
	delete(r.deleting, k.ID)
	if value == nil {
		return nil
	}
	v, err := schema.ParseTopicValue(value)
	if err != nil {
		return err
	}
	t := &Topic{Name: v.Name, ID: k.ID, Partitions: v.Partitions, Internal: v.Internal, Config: make(map[string]string, len(v.Config))}
	for _, s := range v.Config {
		t.Config[s.Name] = s.Value
	}
	if v.Deleting {
		r.deleting[k.ID] = t
	} else {
		r.live[k.ID] = t
	}
	return nil
}
