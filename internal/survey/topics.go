package survey

import (
	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/storage"
)

// Topic is one line of the list of topics.
type Topic struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Internal   bool   `json:"internal,omitempty"`
	Partitions int    `json:"partitions"`
	// Records is how many offsets the logs span: a compacted log has fewer
	// records. Bytes is their size on disk or in memory.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// Damaged is how many partitions cannot be served.
	Damaged int `json:"damaged,omitempty"`
}

// TopicDetail is all that is known of one topic.
type TopicDetail struct {
	Topic
	Logs []Log `json:"logs"`
	// Config is what was set on the topic or the broker; defaults are left out.
	Config []Setting `json:"config"`
}

// Log is one partition.
type Log struct {
	Partition int32 `json:"partition"`
	Start     int64 `json:"log_start"`
	End       int64 `json:"log_end"`
	Bytes     int64 `json:"bytes"`
	// LeaderEpoch rises with each start of the broker.
	LeaderEpoch int32 `json:"leader_epoch"`
	// Missing is true while the log is being made.
	Missing bool `json:"missing,omitempty"`
	// Damage says what is wrong with a log that is not served.
	Damage string `json:"damage,omitempty"`
}

// Setting is a value and where it comes from.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is topic, broker (while it ran), all-brokers, start or default.
	Source string `json:"source"`
}

var sourceNames = map[broker.Source]string{
	broker.DynamicTopic: "topic", broker.DynamicBroker: "broker", broker.DynamicDefault: "all-brokers",
	broker.StaticBroker: "start", broker.Default: "default",
}

// Topics lists every topic, by name.
func (s *Source) Topics() []Topic {
	topics := s.Broker.Catalog.View().Topics()
	list := make([]Topic, len(topics))
	for i, t := range topics {
		list[i] = s.topic(t, nil)
	}
	return list
}

// TopicNamed describes one topic. Errors: ErrUnknown.
func (s *Source) TopicNamed(name string) (*TopicDetail, error) {
	t, ok := s.Broker.Catalog.View().Topic(name)
	if !ok {
		return nil, ErrUnknown
	}
	d := &TopicDetail{Logs: make([]Log, 0, t.Partitions), Config: []Setting{}}
	d.Topic = s.topic(t, func(l Log) { d.Logs = append(d.Logs, l) })
	d.Config = Settings(s.Broker.DescribeTopic(t), false)
	return d, nil
}

// topic adds up the logs of a topic and hands each of them to each.
func (s *Source) topic(t *catalog.Topic, each func(Log)) Topic {
	line := Topic{Name: t.Name, ID: idText(t.ID), Internal: t.Internal, Partitions: int(t.Partitions)}
	corrupt := s.Broker.Store.Report().Corrupt
	for p := range t.Partitions {
		l := Log{Partition: p, Missing: true}
		name := storage.Partition{Topic: t.ID, Index: p}
		if log, ok := s.Broker.Store.Log(name); ok {
			b := log.Bounds()
			l = Log{Partition: p, Start: b.Start, End: b.HighWatermark, Bytes: log.Size(), LeaderEpoch: b.Epoch}
			line.Records += l.End - l.Start
			line.Bytes += l.Bytes
		}
		if err := corrupt[name]; err != nil {
			l.Damage = err.Error()
			line.Damaged++
		}
		if each != nil {
			each(l)
		}
	}
	return line
}
