package broker

import (
	"context"
	"fmt"

	"rota/internal/storage"
)

// OpenTopics brings up what the catalog holds: the dynamic settings, the logs
// of every topic, and __consumer_offsets if this is the first start. It comes
// before the coordinator's Start. Errors: also settings of this start that
// contradict the dynamic ones.
func (b *Broker) OpenTopics(ctx context.Context) error {
	settings, err := b.Config.Settings.with(b.Catalog.View().Broker())
	if err != nil {
		return fmt.Errorf("settings that were changed while the broker ran: %w", err)
	}
	b.settings.Store(settings)
	for _, t := range b.Catalog.View().Topics() {
		if err := b.openLogs(t, 0); err != nil {
			return err
		}
	}
	if _, ok := b.Catalog.View().Topic(OffsetsTopic); ok {
		return nil
	}
	count := int32(settings.Int("offsets.topic.num.partitions"))
	_, err = b.CreateTopic(ctx, OffsetsTopic, count, offsetsTopicConfig(), true)
	return err
}

// logOf returns the log of a partition of an internal topic.
func (b *Broker) logOf(topic string, p int32) (*storage.Log, error) {
	t, ok := b.Catalog.View().Topic(topic)
	if !ok {
		return nil, fmt.Errorf("there is no topic %s", topic)
	}
	log, ok := b.Store.Log(storage.Partition{Topic: t.ID, Index: p})
	if !ok {
		return nil, fmt.Errorf("there is no log of %s-%d", topic, p)
	}
	return log, nil
}

// offsetsTopicConfig is what __consumer_offsets is made with.
func offsetsTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":         "compact",
		"compression.type":       "producer",
		"max.message.bytes":      "16777216",
		"message.timestamp.type": "CreateTime",
		"segment.bytes":          "104857600",
	}
}

// OffsetsPartitions is the partition count of __consumer_offsets.
func (b *Broker) OffsetsPartitions() int32 {
	if t, ok := b.Catalog.View().Topic(OffsetsTopic); ok {
		return t.Partitions
	}
	return 0
}

// OffsetsLog is the log of partition p of __consumer_offsets.
func (b *Broker) OffsetsLog(p int32) (*storage.Log, error) {
	return b.logOf(OffsetsTopic, p)
}
