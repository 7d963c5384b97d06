package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// DescribeProducers (key 61), version 0: lists the idempotent and transactional
// producers that a partition remembers, what they wrote last, and where the
// transaction begins that one has open (KIP-664).
//
// Not done: throttling.
func describeProducersAPI() API {
	return API{Key: kmsg.DescribeProducers, Min: 0, Max: 0, Class: Alone, Handle: describeProducers}
}

func describeProducers(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeProducersRequest](c)
	resp := &kmsg.DescribeProducersResponse{Version: c.Version}
	view := s.Broker.Catalog.View()
	for i := range req.Topics {
		t := &req.Topics[i]
		answer := kmsg.DescribeProducersResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			entry := kmsg.DescribeProducersResponseTopicPartition{Partition: p}
			_, log, err := s.Broker.Partition(view, broker.TopicRef{Name: t.Topic}, p)
			if err != nil {
				entry.ErrorCode = err.Code
				answer.Partitions = append(answer.Partitions, entry)
				continue
			}
			for _, known := range log.Producers() {
				entry.ActiveProducers = append(entry.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					ProducerID: known.ID, ProducerEpoch: int32(known.Epoch),
					LastSequence: known.LastSequence, LastTimestamp: known.LastTimestamp,
					CoordinatorEpoch: known.CoordinatorEpoch, CurrentTxnStartOffset: known.CurrentTxn,
				})
			}
			answer.Partitions = append(answer.Partitions, entry)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	c.Answer.Reply(resp)
}
