package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// AlterPartitionAssignments (key 45), versions 0-1: moves partitions to other
// brokers (AlterPartitionReassignments, KIP-455). There is one broker: to stay
// where they are is granted, every other broker is refused with
// INVALID_REPLICA_ASSIGNMENT, and there is never a reassignment to cancel.
//
//	v1: AllowReplicationFactorChange (KIP-860)
//
// Not done: throttling; the timeout, since nothing takes time.
func alterPartitionAssignmentsAPI() API {
	return API{Key: kmsg.AlterPartitionAssignments, Min: 0, Max: 1, Class: Alone, Handle: alterPartitionAssignments}
}

func alterPartitionAssignments(s *Server, c *Call) {
	req := requestOf[*kmsg.AlterPartitionAssignmentsRequest](c)
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	view := s.Broker.Catalog.View()
	for i := range req.Topics {
		t := &req.Topics[i]
		answer := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			entry := kmsg.AlterPartitionAssignmentsResponseTopicPartition{Partition: p.Partition}
			r := checkReassignment(s.Broker.Config.NodeID, p.Replicas)
			if _, _, err := s.Broker.Partition(view, broker.TopicRef{Name: t.Topic}, p.Partition); err != nil {
				r = refusal{code: err.Code}
			}
			entry.ErrorCode, entry.ErrorMessage = r.code, r.message
			answer.Partitions = append(answer.Partitions, entry)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	c.Answer.Reply(resp)
}

// checkReassignment says what comes of replicas that are asked for; nil
// cancels the reassignment under way.
func checkReassignment(node int32, replicas []int32) refusal {
	switch {
	case replicas == nil:
		return refusal{code: kerr.NoReassignmentInProgress.Code}
	case slices.Equal(replicas, []int32{node}):
		return refusal{}
	case len(replicas) == 0:
		return refuse(kerr.InvalidReplicaAssignment, "A partition has at least one replica.")
	}
	for i, id := range replicas {
		if id != node {
			return refuse(kerr.InvalidReplicaAssignment, "The assignment names a broker that there is not.")
		}
		if slices.Contains(replicas[:i], id) {
			break
		}
	}
	return refuse(kerr.InvalidReplicaAssignment, "The assignment names a broker twice.")
}
