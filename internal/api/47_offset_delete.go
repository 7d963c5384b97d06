package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// OffsetDelete (key 47), version 0: offsets go of topics that the group does
// not subscribe to (KIP-496).
//
// The coordinator is asked even if no partition is left, since the group may
// be unknown. An error of the whole request leaves no room for the partitions.
//
// Not done: throttling.
func offsetDeleteAPI() API {
	return API{Key: kmsg.OffsetDelete, Min: 0, Max: 0, Class: Overlaps, Handle: offsetDelete}
}

func offsetDelete(s *Server, c *Call) {
	req := requestOf[*kmsg.OffsetDeleteRequest](c)
	view := s.Broker.Catalog.View()
	resp := &kmsg.OffsetDeleteResponse{Version: c.Version, Topics: make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))}
	var remove group.DeleteOffsets
	for i, t := range req.Topics {
		topic, ok := view.Topic(t.Topic)
		answer := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic, Partitions: make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))}
		for j, p := range t.Partitions {
			answer.Partitions[j] = kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: asked}
			if !ok || p.Partition < 0 || p.Partition >= topic.Partitions {
				answer.Partitions[j].ErrorCode = kerr.UnknownTopicOrPartition.Code
				continue
			}
			remove.Partitions = append(remove.Partitions, group.TopicPartition{Topic: t.Topic, Partition: p.Partition})
		}
		resp.Topics[i] = answer
	}
	s.Coordinator.Submit(req.Group, remove, func(r group.Response) {
		d := answerOf[group.DeletedOffsets](r)
		if d.Code != 0 {
			resp.ErrorCode, resp.Topics = int16(d.Code), nil
			c.Answer.Reply(resp)
			return
		}
		codes := d.Codes
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == asked {
					p.ErrorCode, codes = int16(codes[0]), codes[1:]
				}
			}
		}
		c.Answer.Reply(resp)
	})
}
