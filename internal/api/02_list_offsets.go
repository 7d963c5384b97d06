package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
)

// ListOffsets (key 2), versions 1-11: finds the offset of a partition's start,
// its end, or the first record at or after a timestamp.
//
//	v1: one offset with its timestamp for each partition (KIP-79)
//	v2: IsolationLevel (KIP-98)
//	v3: clients throttle themselves
//	v4: CurrentLeaderEpoch, and LeaderEpoch in the response (KIP-320)
//	v5: OFFSET_NOT_AVAILABLE is possible (KIP-207)
//	v6: flexible
//	v7: timestamp -3: the record with the largest timestamp (KIP-734)
//	v8: timestamp -4: the first offset that is local (KIP-405)
//	v9: timestamp -5: the last offset that is tiered (KIP-1005)
//	v10: TimeoutMillis (KIP-1075)
//	v11: timestamp -6: the first offset that waits to be tiered (KIP-1023)
//
// Nothing is tiered: -4 is the start, -5 and -6 are -1.
//
// Not done: throttling; TimeoutMillis, as nothing here waits.
func listOffsetsAPI() API {
	return API{Key: kmsg.ListOffsets, Min: 1, Max: 11, Class: Alone, Handle: listOffsets}
}

func listOffsets(s *Server, c *Call) {
	req := requestOf[*kmsg.ListOffsetsRequest](c)
	resp := &kmsg.ListOffsetsResponse{Topics: make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))}
	view := s.Broker.Catalog.View()
	twice := repeatedPartitions(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			l := offsetLookup{s, c.Version, view, t.Topic, req.IsolationLevel == readCommitted}
			answer := &resp.Topics[i].Partitions[j]
			answer.Default()
			answer.Partition = t.Partitions[j].Partition
			if twice[partitionName{t.Topic, answer.Partition}] {
				answer.ErrorCode = kerr.InvalidRequest.Code
				continue
			}
			l.find(&t.Partitions[j], answer)
		}
	}
	c.Answer.Reply(resp)
}

type partitionName struct {
	topic string
	index int32
}

// repeatedPartitions finds what a request asks twice, which cannot be answered
// by a client's map of partitions.
func repeatedPartitions(req *kmsg.ListOffsetsRequest) map[partitionName]bool {
	seen := map[partitionName]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			name := partitionName{t.Topic, t.Partitions[j].Partition}
			_, again := seen[name]
			seen[name] = again
		}
	}
	return seen
}

type offsetLookup struct {
	s         *Server
	version   int16
	view      *catalog.View
	topic     string
	committed bool
}

// specialSince says from which version on a timestamp that is none is known.
var specialSince = map[int64]int16{
	broker.LatestOffset:        1,
	broker.EarliestOffset:      1,
	broker.MaxTimestampOffset:  7,
	broker.EarliestLocal:       8,
	broker.LatestTiered:        9,
	broker.EarliestPendingTier: 11,
}

func (l *offsetLookup) find(p *kmsg.ListOffsetsRequestTopicPartition, to *kmsg.ListOffsetsResponseTopicPartition) {
	if since, known := specialSince[p.Timestamp]; p.Timestamp < 0 && (!known || l.version < since) {
		to.ErrorCode = kerr.UnsupportedVersion.Code
		return
	}
	found, err := l.s.Broker.FindOffset(l.view, broker.TopicRef{Name: l.topic}, p.Partition, p.Timestamp, p.CurrentLeaderEpoch, l.committed)
	if err != nil {
		to.ErrorCode = l.s.errorCode(err)
		return
	}
	to.Timestamp, to.Offset, to.LeaderEpoch = found.Timestamp, found.Offset, found.Epoch
}
