package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeQuorum (key 55), versions 0-2: who keeps the log of topics and
// settings, which Kafka calls __cluster_metadata, and how far it has come
// (KIP-595). This broker does, alone.
//
//	v1: LastFetchTimestamp and LastCaughtUpTimestamp of replicas (KIP-836)
//	v2: ErrorMessage, ReplicaDirectoryID, Nodes (KIP-853)
//
// Not done: throttling; directory ids.
func describeQuorumAPI() API {
	return API{Key: kmsg.DescribeQuorum, Min: 0, Max: 2, Class: Alone, Handle: describeQuorum}
}

// metadataTopic is Kafka's name for the log of topics and settings.
const metadataTopic = "__cluster_metadata"

func describeQuorum(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeQuorumRequest](c)
	resp := &kmsg.DescribeQuorumResponse{Version: c.Version}
	for _, t := range req.Topics {
		answer := kmsg.DescribeQuorumResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			entry := kmsg.DescribeQuorumResponseTopicPartition{Partition: p.Partition, LeaderID: -1, LeaderEpoch: -1, HighWatermark: -1}
			if t.Topic == metadataTopic && p.Partition == 0 {
				entry = s.quorum()
			} else {
				entry.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			answer.Partitions = append(answer.Partitions, entry)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	resp.Nodes = []kmsg.DescribeQuorumResponseNode{{
		NodeID:    s.Broker.Config.NodeID,
		Listeners: []kmsg.DescribeQuorumResponseNodeListener{{Name: "PLAINTEXT", Host: c.Listener.Host, Port: uint16(c.Listener.Port)}},
	}}
	c.Answer.Reply(resp)
}

// quorum describes the catalog's log.
func (s *Server) quorum() kmsg.DescribeQuorumResponseTopicPartition {
	bounds := s.Broker.Catalog.Bounds()
	now := time.Now().UnixMilli()
	voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	voter.ReplicaID, voter.LogEndOffset = s.Broker.Config.NodeID, bounds.End
	voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp = now, now
	return kmsg.DescribeQuorumResponseTopicPartition{
		LeaderID: s.Broker.Config.NodeID, LeaderEpoch: bounds.Epoch, HighWatermark: bounds.HighWatermark,
		CurrentVoters: []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{voter},
	}
}
