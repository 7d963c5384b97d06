package api

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/group"
)

// OffsetCommit (key 8), versions 2-10: stores how far a group has come. It is
// answered when that is durable.
//
//	v2: RetentionTimeMillis
//	v3: ThrottleMillis in the response
//	v4: clients throttle themselves
//	v5: RetentionTimeMillis is gone (KIP-211)
//	v6: LeaderEpoch for each partition (KIP-320)
//	v7: InstanceID (KIP-345)
//	v8: flexible
//	v9: GROUP_ID_NOT_FOUND for a generation of an unknown group (KIP-848)
//	v10: topic ids take the place of names (KIP-848)
//
// Partitions that do not exist are refused here. If nothing else is left the
// group's coordinator is not asked, so that not even NOT_COORDINATOR comes back.
//
// Not done: throttling.
func offsetCommitAPI() API {
	return API{Key: kmsg.OffsetCommit, Min: 2, Max: 10, Class: Overlaps, Handle: offsetCommit}
}

// asked marks the entries of a response that wait for the group's answer. No
// Kafka error has this number.
const asked = math.MinInt16

func offsetCommit(s *Server, c *Call) {
	req := requestOf[*kmsg.OffsetCommitRequest](c)
	commit := group.Commit{
		Version:    c.Version,
		MemberID:   req.MemberID,
		InstanceID: req.InstanceID,
		Generation: req.Generation,
		Retention:  -1,
	}
	if c.Version <= 4 {
		commit.Retention = retention(req.RetentionTimeMillis)
	}
	resp := &kmsg.OffsetCommitResponse{Version: c.Version}
	view := s.Broker.Catalog.View()
	resp.Topics, commit.Offsets = commitOffsets(view, c.Version, req.Topics)
	if len(commit.Offsets) == 0 {
		c.Answer.Reply(resp)
		return
	}
	s.Coordinator.Submit(req.Group, commit, func(r group.Response) {
		codes := answerOf[group.Committed](r).Codes
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == asked {
					p.ErrorCode, codes = int16(codes[0]), codes[1:]
				}
			}
		}
		c.Answer.Reply(resp)
	})
	if later := s.Broker.Catalog.View(); later != view {
		forgetLate(s, later, commit.Offsets)
	}
}

// forgetLate removes the offsets of topics that were deleted while the commit
// was on its way: it may have come to its shard behind the tombstones, and
// would then be found by a topic that is made anew under the same name.
func forgetLate(s *Server, view *catalog.View, offsets []group.CommitOffset) {
	for i, o := range offsets {
		if i > 0 && offsets[i-1].TopicID == o.TopicID {
			continue
		}
		if _, ok := view.TopicByID(o.TopicID); !ok {
			s.Broker.ForgetLate(o.Topic, o.TopicID)
		}
	}
}

// retention is RetentionTimeMillis as a duration, negative for the broker's.
func retention(millis int64) time.Duration {
	if millis < 0 {
		return -1
	}
	return time.Duration(min(millis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// commitOffsets splits a request into the response, with the partitions that
// do not exist refused, and what the group is asked to store.
func commitOffsets(view *catalog.View, version int16, topics []kmsg.OffsetCommitRequestTopic) ([]kmsg.OffsetCommitResponseTopic, []group.CommitOffset) {
	count := 0
	for i := range topics {
		count += len(topics[i].Partitions)
	}
	answers := make([]kmsg.OffsetCommitResponseTopic, len(topics))
	entries := make([]kmsg.OffsetCommitResponseTopicPartition, count)
	offsets := make([]group.CommitOffset, 0, count)
	for i := range topics {
		t := &topics[i]
		topic, refusal := commitTopic(view, version, t)
		answers[i] = kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		answers[i].Partitions, entries = entries[:len(t.Partitions):len(t.Partitions)], entries[len(t.Partitions):]
		for j := range t.Partitions {
			p, answer := &t.Partitions[j], &answers[i].Partitions[j]
			answer.Partition = p.Partition
			if topic == nil {
				answer.ErrorCode = refusal
				continue
			}
			if p.Partition < 0 || p.Partition >= topic.Partitions {
				answer.ErrorCode = kerr.UnknownTopicOrPartition.Code
				continue
			}
			answer.ErrorCode = asked
			o := group.CommitOffset{
				TopicPartition: group.TopicPartition{Topic: topic.Name, Partition: p.Partition},
				TopicID:        topic.ID,
				Offset:         p.Offset,
				LeaderEpoch:    p.LeaderEpoch,
				Timestamp:      -1,
			}
			if p.Metadata != nil {
				o.Metadata = *p.Metadata
			}
			offsets = append(offsets, o)
		}
	}
	return answers, offsets
}

// commitTopic finds the topic by name or, from v10, by id; nil and the code
// that its partitions are refused with if there is none.
func commitTopic(view *catalog.View, version int16, t *kmsg.OffsetCommitRequestTopic) (*catalog.Topic, int16) {
	if version >= 10 {
		if topic, ok := view.TopicByID(t.TopicID); ok {
			return topic, 0
		}
		return nil, kerr.UnknownTopicID.Code
	}
	if topic, ok := view.Topic(t.Topic); ok {
		return topic, 0
	}
	return nil, kerr.UnknownTopicOrPartition.Code
}
