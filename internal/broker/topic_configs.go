package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// OffsetsTopic is where the coordinator keeps its groups.
const OffsetsTopic = "__consumer_offsets"

// LogConfig is what the configuration of a topic means for its logs, with the
// broker's settings as defaults.
func (b *Broker) LogConfig(t *catalog.Topic) storage.LogConfig {
	c := catalog.Resolve(t.Config, b.Settings().set)
	// Events are for readers only: they wait behind everything else, and leave
	// the reserve of a full disk to what groups need.
	c.Internal = t.Internal && t.Name != EventsTopic
	return c
}

// DescribeTopic lists the settings of a topic by name.
func (b *Broker) DescribeTopic(t *catalog.Topic) []ConfigEntry {
	s := b.Settings()
	keys := catalog.TopicKeys()
	entries := make([]ConfigEntry, len(keys))
	for i, k := range keys {
		value, source := s.topicValue(t.Config, k)
		e := ConfigEntry{Name: k.Name, Kind: k.Kind, Doc: k.Doc, Value: &value, Source: source}
		if own, ok := t.Config[k.Name]; ok {
			e.Synonyms = append(e.Synonyms, Sourced{Name: k.Name, Value: own, Source: DynamicTopic})
		}
		e.Synonyms = append(e.Synonyms, s.topicSources(k)...)
		if n := len(e.Synonyms); n == 0 || e.Synonyms[n-1].Source != Default {
			e.Synonyms = append(e.Synonyms, Sourced{Name: k.Name, Value: k.Default, Source: Default})
		}
		entries[i] = e
	}
	return entries
}

// AlterTopic changes the settings of a topic. It returns when the change is
// durable and in force. Errors: a *RefusalError.
func (b *Broker) AlterTopic(ctx context.Context, name string, a Alteration) error {
	if err := b.takeTurn(ctx); err != nil {
		return err
	}
	defer b.endTurn()
	t, ok := b.Catalog.View().Topic(name)
	if !ok {
		return Refuse(kerr.UnknownTopicOrPartition, "There is no topic of that name.")
	}
	s := b.Settings()
	diff, err := a.against(t.Config, func(name string) (string, bool) {
		k, ok := catalog.TopicKeyNamed(name)
		if !ok {
			return "", false
		}
		value, _ := s.topicValue(t.Config, k)
		return value, k.Kind == catalog.KindList
	})
	if err != nil {
		return err
	}
	if err := checkInternal(t, diff); err != nil {
		return err
	}
	if err := catalog.CheckTopicConfig(merged(t.Config, diff), s.set); err != nil {
		return Refuse(kerr.InvalidConfig, "%s", err)
	}
	if a.ValidateOnly || len(diff) == 0 {
		return nil
	}
	t, err = b.Catalog.Configure(context.WithoutCancel(ctx), t.ID, diff)
	if err != nil {
		return fmt.Errorf("change settings of topic %s: %w", name, err)
	}
	b.applyTopic(t)
	switch t.Name {
	case OffsetsTopic:
		b.applyGroups()
	case TransactionsTopic:
		b.applyTransactions()
	}
	return nil
}

// checkInternal refuses changes to an internal topic that would break what is
// kept in it.
func checkInternal(t *catalog.Topic, diff map[string]*string) error {
	if !t.Internal {
		return nil
	}
	for name := range diff {
		if t.Name == EventsTopic && (name == "retention.ms" || name == "retention.bytes") {
			continue
		}
		switch name {
		case "max.message.bytes", "segment.bytes", "segment.ms", "min.cleanable.dirty.ratio",
			"min.compaction.lag.ms", "max.compaction.lag.ms", "delete.retention.ms":
		default:
			return Refuse(kerr.InvalidConfig, "%s belongs to the broker, which would break if %s changed.", t.Name, name)
		}
	}
	return nil
}

// applyTopic makes the configuration of a topic hold in its logs.
func (b *Broker) applyTopic(t *catalog.Topic) {
	config := b.LogConfig(t)
	for i := range t.Partitions {
		if log, ok := b.Store.Log(storage.Partition{Topic: t.ID, Index: i}); ok {
			log.SetConfig(config)
		}
	}
}

// checkNewConfig returns the settings that a new topic is to be made with.
func (b *Broker) checkNewConfig(given map[string]*string) (map[string]string, error) {
	config := make(map[string]string, len(given))
	for name, value := range given {
		if value == nil {
			return nil, Refuse(kerr.InvalidConfig, "The setting %s has no value.", name)
		}
		config[name] = *value
	}
	if err := catalog.CheckTopicConfig(config, b.Settings().set); err != nil {
		return nil, Refuse(kerr.InvalidConfig, "%s", err)
	}
	return config, nil
}
