package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/storage"
)

// EventsTopic is where the history keeps what happened to groups.
const EventsTopic = "__group_events"

// eventsTopicConfig is what __group_events is made with: a week, and 64 MiB.
func eventsTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":         "delete",
		"compression.type":       "producer",
		"max.message.bytes":      "4194304",
		"message.timestamp.type": "CreateTime",
		"retention.bytes":        "67108864",
		"retention.ms":           "604800000",
		"segment.bytes":          "8388608",
	}
}

// EventsLog is the log of __group_events, nil if there is no such topic yet.
func (b *Broker) EventsLog() *storage.Log {
	t, ok := b.Catalog.View().Topic(EventsTopic)
	if !ok || !t.Internal {
		return nil
	}
	log, _ := b.Store.Log(storage.Partition{Topic: t.ID, Index: 0})
	return log
}

// OpenEventsLog is EventsLog, and makes the topic if there is none.
func (b *Broker) OpenEventsLog(ctx context.Context) (*storage.Log, error) {
	_, err := b.CreateTopic(ctx, EventsTopic, 1, eventsTopicConfig(), true)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return nil, err
	}
	log := b.EventsLog()
	if log == nil {
		return nil, fmt.Errorf("there is no log of %s, or the topic was made by a client", EventsTopic)
	}
	return log, nil
}
