package broker

import (
	"context"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// OffsetsTopic is where the coordinator keeps its groups.
const OffsetsTopic = "__consumer_offsets"

func checkTopicConfig(config map[string]*string) (map[string]string, error) {
	set := map[string]string{}
	for k, v := range config {
		set[k] = *v
	}
	return set, nil
}

// LogConfig is what the configuration of a topic means for its logs, with the
// broker's settings as defaults.
func (b *Broker) LogConfig(t *catalog.Topic) storage.LogConfig {
	return storage.LogConfig{Internal: t.Internal, Delete: true, Compression: -1}
}

func (b *Broker) DescribeTopic(t *catalog.Topic) []ConfigEntry { return nil }

func (b *Broker) AlterTopic(ctx context.Context, name string, a Alteration) error { return nil }
