package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// OffsetForLeaderEpoch (key 23), versions 2-4: finds where the records of a
// leader epoch end, so that a client notices when records that it has were
// taken back (KIP-320).
//
//	v2: CurrentLeaderEpoch
//	v3: ReplicaID; consumers may ask too
//	v4: flexible
//
// Not done: throttling.
func offsetForLeaderEpochAPI() API {
	return API{Key: kmsg.OffsetForLeaderEpoch, Min: 2, Max: 4, Class: Alone, Handle: offsetForLeaderEpoch}
}

func offsetForLeaderEpoch(s *Server, c *Call) {
	req := requestOf[*kmsg.OffsetForLeaderEpochRequest](c)
	resp := &kmsg.OffsetForLeaderEpochResponse{Topics: make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))}
	view := s.Broker.Catalog.View()
	for i := range req.Topics {
		t := &req.Topics[i]
		resp.Topics[i].Topic = t.Topic
		for j := range t.Partitions {
			p := &t.Partitions[j]
			answer := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			answer.Partition = p.Partition
			epoch, end, err := s.Broker.EpochEnd(view, broker.TopicRef{Name: t.Topic}, p.Partition, p.LeaderEpoch, p.CurrentLeaderEpoch)
			answer.LeaderEpoch, answer.EndOffset = epoch, end
			if err != nil {
				answer.ErrorCode = err.Code
			}
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, answer)
		}
	}
	c.Answer.Reply(resp)
}
