package admin

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewTopic is a topic to be made.
type NewTopic struct {
	Name string
	// Partitions and Replicas are -1 for the cluster's own default.
	Partitions int32
	Replicas   int16
	Settings   map[string]string
}

// CreateTopics makes topics, and reports whether each is new. With dry they are
// only checked; with lenient a topic that is there already is no error.
func (c *Cluster) CreateTopics(ctx context.Context, topics []NewTopic, lenient, dry bool) ([]bool, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly, req.TimeoutMillis = dry, int32(c.timeout.Milliseconds())
	for _, n := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = n.Name, n.Partitions, n.Replicas
		for _, key := range slices.Sorted(maps.Keys(n.Settings)) {
			s, value := kmsg.NewCreateTopicsRequestTopicConfig(), n.Settings[key]
			s.Name, s.Value = key, &value
			t.Configs = append(t.Configs, s)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	made := map[string]bool{}
	for _, t := range resp.Topics {
		err := refused(t.ErrorCode, t.ErrorMessage, "create topic %q", t.Topic)
		if err != nil && (!lenient || !exists(err)) {
			return nil, err
		}
		made[t.Topic] = err == nil
	}
	out := make([]bool, len(topics))
	for i, t := range topics {
		out[i] = made[t.Name]
	}
	return out, nil
}

// DeleteTopics deletes topics with their records, and reports whether each was
// there. With lenient one that is not there is no error.
func (c *Cluster) DeleteTopics(ctx context.Context, names []string, lenient bool) ([]bool, error) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = int32(c.timeout.Milliseconds()), names
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.DeleteTopicsResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, t := range resp.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		err := refused(t.ErrorCode, t.ErrorMessage, "delete topic %q", name)
		if err != nil && (!lenient || !absent(err)) {
			return nil, err
		}
		gone[name] = err == nil
	}
	out := make([]bool, len(names))
	for i, name := range names {
		out[i] = gone[name]
	}
	return out, nil
}

// AddPartitions has a topic have so many partitions.
func (c *Cluster) AddPartitions(ctx context.Context, topic string, count int32, dry bool) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis, req.ValidateOnly = int32(c.timeout.Milliseconds()), dry
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, count
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreatePartitionsResponse](ctx, c, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := refused(t.ErrorCode, t.ErrorMessage, "partitions of topic %q", t.Topic); err != nil {
			return err
		}
	}
	return nil
}

// AlterTopic sets some settings of a topic and resets others to their default.
func (c *Cluster) AlterTopic(ctx context.Context, topic string, set map[string]string, unset []string, dry bool) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = dry
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	add := func(name string, value *string, op kmsg.IncrementalAlterConfigOp) {
		s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		s.Name, s.Value, s.Op = name, value, op
		r.Configs = append(r.Configs, s)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		value := set[name]
		add(name, &value, kmsg.IncrementalAlterConfigOpSet)
	}
	for _, name := range unset {
		add(name, nil, kmsg.IncrementalAlterConfigOpDelete)
	}
	req.Resources = append(req.Resources, r)
	return askAll(ctx, c, req, func(_ int32, resp *kmsg.IncrementalAlterConfigsResponse) error {
		for _, r := range resp.Resources {
			if err := refused(r.ErrorCode, r.ErrorMessage, "settings of topic %q", r.ResourceName); err != nil {
				return err
			}
		}
		return nil
	})
}
