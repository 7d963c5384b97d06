package broker

import (
	"context"
	"fmt"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// CreateTopic adds a topic to the catalog and makes its logs. The name and
// config have been validated. partitions <= 0 means num.partitions. It returns
// when the topic is durable and can be used. Errors: catalog.ErrTopicExists.
func (b *Broker) CreateTopic(ctx context.Context, name string, partitions int32, config map[string]string, internal bool) (*catalog.Topic, error) {
	if partitions <= 0 {
		partitions = b.Config.NumPartitions
	}
	t, err := b.Catalog.Create(ctx, name, partitions, config, internal)
	if err != nil {
		return nil, err
	}
	for i := range partitions {
		if _, err := b.Store.Create(storage.Partition{Topic: t.ID, Index: i}, b.LogConfig(t)); err != nil {
			return nil, fmt.Errorf("create log of %s-%d: %w", name, i, err)
		}
	}
	return t, nil
}

// LogConfig is what the configuration of a topic means for its logs, with the
// broker's settings as defaults.
func (b *Broker) LogConfig(t *catalog.Topic) storage.LogConfig {
	return storage.LogConfig{Internal: t.Internal, Delete: true, Compression: -1}
}
