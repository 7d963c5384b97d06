package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// DeleteRecords (key 21), versions 0-2: raises the log start offset, -1 to the
// high watermark. It is answered when that is durable.
//
//	v1: clients throttle themselves
//	v2: flexible
//
// Topics without delete in cleanup.policy refuse with POLICY_VIOLATION,
// internal topics with INVALID_TOPIC_EXCEPTION.
//
// Not done: throttling; the timeout, since one disk decides.
func deleteRecordsAPI() API {
	return API{Key: kmsg.DeleteRecords, Min: 0, Max: 2, Class: Alone, Handle: deleteRecords}
}

func deleteRecords(s *Server, c *Call) {
	req := requestOf[*kmsg.DeleteRecordsRequest](c)
	resp := &kmsg.DeleteRecordsResponse{Version: c.Version, Topics: make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))}
	var waits []func()
	for i, t := range req.Topics {
		answer := &resp.Topics[i]
		answer.Topic = t.Topic
		answer.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			entry := &answer.Partitions[j]
			entry.Partition, entry.LowWatermark = p.Partition, -1
			done, err := s.Broker.DeleteRecords(t.Topic, p.Partition, p.Offset)
			if err != nil {
				entry.ErrorCode = s.refusal(err).code
				continue
			}
			waits = append(waits, func() { awaitDeletion(s, c, done, entry) })
		}
	}
	for _, wait := range waits {
		wait()
	}
	c.Answer.Reply(resp)
}

func awaitDeletion(s *Server, c *Call, done <-chan broker.Deletion, entry *kmsg.DeleteRecordsResponseTopicPartition) {
	select {
	case d := <-done:
		if d.Err != nil {
			entry.ErrorCode = s.refusal(d.Err).code
			return
		}
		entry.LowWatermark = d.Start
	case <-c.Context.Done():
		entry.ErrorCode = kerr.RequestTimedOut.Code
	}
}
