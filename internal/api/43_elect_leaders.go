package api

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// ElectLeaders (key 43), versions 0-2: makes the preferred replica of
// partitions their leader (KIP-183). The one replica that there is leads
// already: ELECTION_NOT_NEEDED. Asked about all partitions, the response lists
// none, as in Kafka.
//
//	v1: ElectionType, for unclean elections (KIP-460); ErrorCode of the whole response
//	v2: flexible
//
// A preferred election of a partition of __consumer_offsets that the request
// names moves the coordinator of its groups, as if another broker had taken
// over: the groups are unloaded and loaded again under a new leader epoch.
// Requests that are parked in them get NOT_COORDINATOR, and members go on with
// the generation and the assignment that they have. After the request's
// timeout the answer is REQUEST_TIMED_OUT while the move under way goes on. One
// of __transaction_state does the same with its transactional ids.
//
// Not done: throttling.
func electLeadersAPI() API {
	return API{Key: kmsg.ElectLeaders, Min: 0, Max: 2, Class: Alone, Handle: electLeaders}
}

// The election types of ElectLeaders.
const (
	preferredElection = 0
	uncleanElection   = 1
)

func electLeaders(s *Server, c *Call) {
	req := requestOf[*kmsg.ElectLeadersRequest](c)
	resp := &kmsg.ElectLeadersResponse{Version: c.Version}
	if req.ElectionType != preferredElection && req.ElectionType != uncleanElection {
		resp.ErrorCode = kerr.InvalidRequest.Code
	}
	patience, end := context.WithTimeout(c.Context, time.Duration(max(req.TimeoutMillis, 0))*time.Millisecond)
	defer end()
	c.Answer.OnEnd(end)
	for _, t := range req.Topics {
		answer := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			r := refuse(kerr.InvalidRequest, "There are elections of type 0 (preferred) and 1 (unclean) only.")
			if resp.ErrorCode == 0 {
				r = elect(patience, s, req.ElectionType, t.Topic, p)
			}
			answer.Partitions = append(answer.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: p, ErrorCode: r.code, ErrorMessage: r.message})
		}
		resp.Topics = append(resp.Topics, answer)
	}
	c.Answer.Reply(resp)
}

// elect holds the election of one partition.
func elect(patience context.Context, s *Server, kind int8, topic string, p int32) refusal {
	_, _, err := s.Broker.Partition(s.Broker.Catalog.View(), broker.TopicRef{Name: topic}, p)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return refuse(err, "There is no such topic or partition.")
	}
	var move func(context.Context, int32) error
	what := "groups"
	switch {
	case kind == preferredElection && topic == broker.OffsetsTopic:
		move = s.Broker.MoveCoordinator
	case kind == preferredElection && topic == broker.TransactionsTopic:
		move, what = s.Broker.MoveTransactions, "transactional ids"
	default:
		return refusal{code: kerr.ElectionNotNeeded.Code}
	}
	switch failed := move(patience, p); {
	case failed == nil:
		return refusal{}
	case errors.Is(failed, context.DeadlineExceeded) || errors.Is(failed, context.Canceled):
		return refuse(kerr.RequestTimedOut, "The "+what+" have not been loaded again yet.")
	default:
		return refuse(kerr.PreferredLeaderNotAvailable, "The "+what+" could not be loaded again: "+failed.Error()+".")
	}
}
