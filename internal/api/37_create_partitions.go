package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// CreatePartitions (key 37), versions 0-3: raises the partition count of
// topics. It is answered when the new partitions are durable and can be used.
//
//	v1: clients throttle themselves
//	v2: flexible
//	v3: THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
//
// Internal topics cannot grow: INVALID_TOPIC_EXCEPTION.
//
// Not done: throttling; quotas on the number of changes.
func createPartitionsAPI() API {
	return API{Key: kmsg.CreatePartitions, Min: 0, Max: 3, Class: Alone, Handle: createPartitions}
}

func createPartitions(s *Server, c *Call) {
	req := requestOf[*kmsg.CreatePartitionsRequest](c)
	resp := &kmsg.CreatePartitionsResponse{Version: c.Version}
	partitions := int32(0)
	for i, repeated := range distinct(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic }) {
		t := &req.Topics[i]
		answer := kmsg.CreatePartitionsResponseTopic{Topic: t.Topic}
		if repeated {
			r := duplicate("topic")
			answer.ErrorCode, answer.ErrorMessage = r.code, r.message
		} else if added, err := s.Broker.Grow(c.Context, growth(t, req.ValidateOnly, partitions)); err != nil {
			r := s.refusal(err)
			answer.ErrorCode, answer.ErrorMessage = r.code, r.message
		} else {
			partitions += added
		}
		resp.Topics = append(resp.Topics, answer)
	}
	c.Answer.Reply(resp)
}

func growth(t *kmsg.CreatePartitionsRequestTopic, validateOnly bool, made int32) broker.Growth {
	g := broker.Growth{Name: t.Topic, Count: t.Count, ValidateOnly: validateOnly, Made: made}
	if t.Assignment != nil {
		g.Assignment = make([][]int32, len(t.Assignment))
		for i, a := range t.Assignment {
			g.Assignment[i] = a.Replicas
		}
	}
	return g
}
