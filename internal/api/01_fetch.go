package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// Fetch (key 1), versions 4-18: reads partitions from given offsets on. It is
// answered when there are MinBytes to read, something is wrong with some
// partition, or MaxWaitMillis are over.
//
//	v4: MaxBytes, IsolationLevel, batches of magic 2 (KIP-98)
//	v5: LogStartOffset in request and response (KIP-107)
//	v6: KAFKA_STORAGE_ERROR is possible
//	v7: sessions: SessionID, SessionEpoch, ForgottenTopics (KIP-227)
//	v8: clients throttle themselves
//	v9: CurrentLeaderEpoch (KIP-320)
//	v10: Zstandard (KIP-110)
//	v11: Rack and PreferredReadReplica (KIP-392)
//	v12: flexible; LastFetchedEpoch and DivergingEpoch (KIP-595)
//	v13: topic ids take the place of names (KIP-516)
//	v14: errors of tiered storage are possible (KIP-405)
//	v15: ReplicaState takes the place of ReplicaID (KIP-903)
//	v16: CurrentLeader and NodeEndpoints in the response (KIP-951)
//	v17: ReplicaDirectoryID, for replicas only (KIP-853)
//	v18: HighWatermark, for replicas only (KIP-1166)
//
// Not done: there is one replica, so none is preferred, and whoever says that
// it is a replica is served as a consumer; throttling.
func fetchAPI() API {
	return API{Key: kmsg.Fetch, Min: 4, Max: 18, Class: OverlapsData, Handle: fetch}
}

func fetch(s *Server, c *Call) {
	req := requestOf[*kmsg.FetchRequest](c)
	f, err := s.Broker.NewFetch(fetchRequest(c, req))
	if err != nil {
		c.Answer.Reply(&kmsg.FetchResponse{ErrorCode: err.Code})
		return
	}
	reply := &fetchReply{s: s, f: f, listener: c.Listener}
	f.Wait(c.Answer.Run, func() { c.Answer.Reply(reply) })
	c.Answer.OnEnd(f.Expire)
}

// fetchRequest turns a request of any version into the broker's.
func fetchRequest(c *Call, req *kmsg.FetchRequest) broker.FetchRequest {
	r := broker.FetchRequest{
		MaxWait:    time.Duration(req.MaxWaitMillis) * time.Millisecond,
		MinBytes:   int(req.MinBytes),
		MaxBytes:   int(req.MaxBytes),
		Committed:  req.IsolationLevel == readCommitted,
		Zstd:       c.Version >= 10,
		Partitions: partitionsToFetch(c, req.Topics),
	}
	if c.Version >= 7 {
		r.Session = &broker.FetchSession{ID: req.SessionID, Epoch: req.SessionEpoch, ByID: c.Version >= 13}
		for i := range req.ForgottenTopics {
			t := &req.ForgottenTopics[i]
			for _, p := range t.Partitions {
				r.Session.Forgotten = append(r.Session.Forgotten,
					broker.FetchPartition{Topic: topicRef(c, 13, t.Topic, t.TopicID), Index: p})
			}
		}
	}
	return r
}

// readCommitted is the isolation level that sees no open transaction.
const readCommitted = 1

func partitionsToFetch(c *Call, topics []kmsg.FetchRequestTopic) []broker.FetchPartition {
	n := 0
	for i := range topics {
		n += len(topics[i].Partitions)
	}
	parts := make([]broker.FetchPartition, 0, n)
	for i := range topics {
		t := &topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			parts = append(parts, broker.FetchPartition{
				Topic:        topicRef(c, 13, t.Topic, t.TopicID),
				Index:        p.Partition,
				Offset:       p.FetchOffset,
				MaxBytes:     int(p.PartitionMaxBytes),
				CurrentEpoch: p.CurrentLeaderEpoch,
				LastEpoch:    p.LastFetchedEpoch,
			})
		}
	}
	return parts
}
