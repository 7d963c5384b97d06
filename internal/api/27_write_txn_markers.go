package api

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/storage"
)

// WriteTxnMarkers (key 27), versions 1-2: ends a transaction in the partitions
// that are named, as the transaction coordinator does. An admin may end one so
// that nobody else does any more (KIP-664).
//
//	v2: TransactionVersion: from 2 on the marker's epoch is above that of its transaction (KIP-1228)
//
// Each marker is answered when it is durable in each of its partitions, one by
// one. Those for partitions of the offsets topic go by way of their shards.
//
// Not done: throttling.
func writeTxnMarkersAPI() API {
	return API{Key: kmsg.WriteTxnMarkers, Min: 1, Max: 2, Class: Alone, Handle: writeTxnMarkers}
}

func writeTxnMarkers(s *Server, c *Call) {
	req := requestOf[*kmsg.WriteTxnMarkersRequest](c)
	resp := &kmsg.WriteTxnMarkersResponse{Version: c.Version, Markers: make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))}
	var open sync.WaitGroup
	for i := range req.Markers {
		m, answer := &req.Markers[i], &resp.Markers[i]
		answer.ProducerID = m.ProducerID
		answer.Topics = make([]kmsg.WriteTxnMarkersResponseMarkerTopic, len(m.Topics))
		marker := storage.Marker{
			ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Committed,
			Raised: c.Version >= 2 && m.TransactionVersion >= 2,
		}
		for j := range m.Topics {
			answer.Topics[j].Topic = m.Topics[j].Topic
			answer.Topics[j].Partitions = make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(m.Topics[j].Partitions))
			for k, p := range m.Topics[j].Partitions {
				to := &answer.Topics[j].Partitions[k]
				to.Partition = p
				open.Add(1)
				s.Broker.WriteMarker(m.Topics[j].Topic, p, marker, func(err error) {
					to.ErrorCode = s.errorCode(err)
					open.Done()
				})
			}
		}
	}
	open.Wait()
	c.Answer.Reply(resp)
}
