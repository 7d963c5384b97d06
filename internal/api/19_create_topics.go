package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
)

// CreateTopics (key 19), versions 2-7: makes topics. It is answered when they
// are durable and can be used.
//
//	v2: ThrottleMillis in the response
//	v3: clients throttle themselves
//	v4: -1 asks for the default partition count and replication factor (KIP-464)
//	v5: flexible; the response has partition count, replication factor and configs (KIP-525)
//	v6: THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
//	v7: TopicID in the response (KIP-516)
//
// Any replication factor is accepted, and one replica reported: durability
// comes from the medium. replication.check=true refuses as Kafka would.
// ValidateOnly answers without a topic id, since there is no topic.
//
// Not done: throttling; quotas on the number of changes.
func createTopicsAPI() API {
	return API{Key: kmsg.CreateTopics, Min: 2, Max: 7, Class: Alone, Handle: createTopics}
}

func createTopics(s *Server, c *Call) {
	req := requestOf[*kmsg.CreateTopicsRequest](c)
	resp := &kmsg.CreateTopicsResponse{Version: c.Version}
	partitions := int32(0)
	for i, repeated := range distinct(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic }) {
		t := &req.Topics[i]
		if repeated {
			resp.Topics = append(resp.Topics, notCreated(t.Topic, duplicate("topic")))
			continue
		}
		answer, made := createTopic(s, c, t, req.ValidateOnly, partitions)
		resp.Topics = append(resp.Topics, answer)
		partitions += made
	}
	c.Answer.Reply(resp)
}

// createTopic makes a topic and returns how many partitions that made; before
// is how many the request has made already.
func createTopic(s *Server, c *Call, t *kmsg.CreateTopicsRequestTopic, validateOnly bool, before int32) (answer kmsg.CreateTopicsResponseTopic, made int32) {
	n := broker.NewTopic{
		Name:              t.Topic,
		Partitions:        t.NumPartitions,
		ReplicationFactor: t.ReplicationFactor,
		Config:            make(map[string]*string, len(t.Configs)),
		ValidateOnly:      validateOnly,
		Made:              before,
	}
	for _, r := range t.ReplicaAssignment {
		n.Assignment = append(n.Assignment, broker.Replicas{Partition: r.Partition, Brokers: r.Replicas})
	}
	for _, config := range t.Configs {
		n.Config[config.Name] = config.Value
	}
	topic, err := s.Broker.Create(c.Context, n)
	if err != nil {
		return notCreated(t.Topic, s.refusal(err)), 0
	}
	return created(s, topic), topic.Partitions
}

func notCreated(name string, r refusal) kmsg.CreateTopicsResponseTopic {
	return kmsg.CreateTopicsResponseTopic{
		Topic:             name,
		ErrorCode:         r.code,
		ErrorMessage:      r.message,
		NumPartitions:     -1,
		ReplicationFactor: -1,
		Configs:           []kmsg.CreateTopicsResponseTopicConfig{},
	}
}

func created(s *Server, t *catalog.Topic) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.CreateTopicsResponseTopic{
		Topic:             t.Name,
		TopicID:           t.ID,
		NumPartitions:     t.Partitions,
		ReplicationFactor: 1,
		Configs:           []kmsg.CreateTopicsResponseTopicConfig{},
	}
	for _, e := range s.Broker.DescribeTopic(t) {
		answer.Configs = append(answer.Configs, kmsg.CreateTopicsResponseTopicConfig{
			Name: e.Name, Value: e.Value, ReadOnly: e.ReadOnly, Source: int8(e.Source),
		})
	}
	return answer
}
