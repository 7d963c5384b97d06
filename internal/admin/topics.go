package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is a topic as the cluster tells of it.
type Topic struct {
	Name       string      `json:"name" doc:"Name of the topic."`
	ID         string      `json:"id,omitempty" doc:"The topic's id, 32 hexadecimal digits."`
	Internal   bool        `json:"internal" doc:"Whether the cluster keeps its own data in it."`
	Partitions int         `json:"partitions" doc:"Number of partitions."`
	Replicas   int         `json:"replicas" doc:"Replicas of each partition."`
	Records    *int64      `json:"records,omitempty" doc:"Offsets between start and end of all partitions: records, if nothing was compacted. Of describe only."`
	Bytes      *int64      `json:"bytes,omitempty" doc:"Size of all partitions on the leaders' disks. Of describe only, where the cluster tells."`
	Settings   []Setting   `json:"settings,omitempty" doc:"Settings that differ from the default. Of describe only."`
	Details    []Partition `json:"details,omitempty" doc:"The partitions. Of describe only."`
}

// Partition is a partition of a topic.
type Partition struct {
	Partition int32   `json:"partition" doc:"Number of the partition, from 0."`
	Leader    int32   `json:"leader" doc:"Node id of the leader, -1 for none."`
	Epoch     int32   `json:"leader_epoch" doc:"Epoch of the leader, -1 if unknown."`
	Replicas  []int32 `json:"replicas" doc:"Node ids of the replicas."`
	InSync    []int32 `json:"in_sync" doc:"Node ids of the replicas in sync."`
	Start     int64   `json:"start" doc:"First offset that is kept."`
	End       int64   `json:"end" doc:"Offset that the next record gets (the high watermark)."`
	Bytes     *int64  `json:"bytes,omitempty" doc:"Size on the leader's disk, where the cluster tells."`
}

// Setting is one setting of a topic.
type Setting struct {
	Name   string  `json:"name" doc:"Name of the setting."`
	Value  *string `json:"value" doc:"Its value, null if it is not told."`
	Source string  `json:"source" doc:"Who set it: topic, broker, or default."`
}

// Topics lists topics by name, those of the cluster itself with internal only.
// With names it is about those alone. Errors: *RefusedError for a name that
// there is not.
func (c *Cluster) Topics(ctx context.Context, internal bool, names ...string) ([]Topic, error) {
	topics, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	list := make([]Topic, 0, len(topics))
	for _, t := range topics {
		if t.IsInternal && !internal && len(names) == 0 {
			continue
		}
		list = append(list, topicOf(t))
	}
	return list, nil
}

// metadata returns the topics, all of them without names, sorted.
func (c *Cluster) metadata(ctx context.Context, names []string) ([]kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.MetadataResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		if err := refused(t.ErrorCode, nil, "topic %q", nameOf(t)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(resp.Topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return resp.Topics, nil
}

func nameOf(t kmsg.MetadataResponseTopic) string {
	if t.Topic == nil {
		return ""
	}
	return *t.Topic
}

func topicOf(t kmsg.MetadataResponseTopic) Topic {
	topic := Topic{Name: nameOf(t), Internal: t.IsInternal, Partitions: len(t.Partitions)}
	if t.TopicID != [16]byte{} {
		topic.ID = fmt.Sprintf("%x", t.TopicID[:])
	}
	for _, p := range t.Partitions {
		topic.Replicas = max(topic.Replicas, len(p.Replicas))
	}
	return topic
}

// DescribeTopics tells all about topics.
func (c *Cluster) DescribeTopics(ctx context.Context, names ...string) ([]Topic, error) {
	topics, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	of := partitionsOf(topics)
	starts, err := c.Offsets(ctx, of, Start)
	if err != nil {
		return nil, err
	}
	ends, err := c.Offsets(ctx, of, End)
	if err != nil {
		return nil, err
	}
	sizes, err := c.sizes(ctx, of)
	if err != nil {
		return nil, err
	}
	settings, err := c.settings(ctx, names)
	if err != nil {
		return nil, err
	}
	list := make([]Topic, 0, len(topics))
	for _, t := range topics {
		topic := topicOf(t)
		topic.Settings = settings[topic.Name]
		var records, bytes int64
		for _, p := range t.Partitions {
			tp := TopicPartition{topic.Name, p.Partition}
			d := Partition{
				Partition: p.Partition, Leader: p.Leader, Epoch: p.LeaderEpoch, Replicas: p.Replicas, InSync: p.ISR,
				Start: starts[tp].Offset, End: ends[tp].Offset,
			}
			if size, ok := sizes[tp]; ok {
				d.Bytes = &size
				bytes += size
			}
			records += d.End - d.Start
			topic.Details = append(topic.Details, d)
		}
		topic.Records = &records
		if sizes != nil {
			topic.Bytes = &bytes
		}
		slices.SortFunc(topic.Details, func(a, b Partition) int { return cmp.Compare(a.Partition, b.Partition) })
		list = append(list, topic)
	}
	return list, nil
}

// sizes asks the brokers what the partitions take on disk, nil where the
// cluster does not tell.
func (c *Cluster) sizes(ctx context.Context, of map[string][]int32) (map[TopicPartition]int64, error) {
	if ok, err := c.supports(ctx, kmsg.DescribeLogDirs); !ok || err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for name, partitions := range of {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = name, partitions
		req.Topics = append(req.Topics, t)
	}
	sizes := map[TopicPartition]int64{}
	err := askAll(ctx, c, req, func(_ int32, resp *kmsg.DescribeLogDirsResponse) error {
		for _, dir := range resp.Dirs {
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					if !p.IsFuture {
						tp := TopicPartition{t.Topic, p.Partition}
						sizes[tp] = max(sizes[tp], p.Size) // replicas are alike
					}
				}
			}
		}
		return nil
	})
	return sizes, err
}

// settings returns what is not a default, by topic.
func (c *Cluster) settings(ctx context.Context, names []string) (map[string][]Setting, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		req.Resources = append(req.Resources, r)
	}
	settings := map[string][]Setting{}
	err := askAll(ctx, c, req, func(_ int32, resp *kmsg.DescribeConfigsResponse) error {
		for _, r := range resp.Resources {
			if err := refused(r.ErrorCode, r.ErrorMessage, "settings of topic %q", r.ResourceName); err != nil {
				return err
			}
			for _, s := range r.Configs {
				if s.Source != kmsg.ConfigSourceDefaultConfig && !s.IsDefault {
					settings[r.ResourceName] = append(settings[r.ResourceName], Setting{s.Name, s.Value, sourceOf(s.Source)})
				}
			}
		}
		return nil
	})
	return settings, err
}

func sourceOf(s kmsg.ConfigSource) string {
	switch s {
	case kmsg.ConfigSourceDynamicTopicConfig:
		return "topic"
	case kmsg.ConfigSourceDefaultConfig:
		return "default"
	default:
		return "broker"
	}
}

// exists is true if an error says that what was to be made is there.
func exists(err error) bool { return errors.Is(err, kerr.TopicAlreadyExists) }

// absent is true if an error says that what was named is not there.
func absent(err error) bool { return errors.Is(err, kerr.UnknownTopicOrPartition) }

// partitionsOf lists the partitions of topics, by name.
func partitionsOf(topics []kmsg.MetadataResponseTopic) map[string][]int32 {
	of := map[string][]int32{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			of[nameOf(t)] = append(of[nameOf(t)], p.Partition)
		}
	}
	return of
}
