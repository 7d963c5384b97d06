package api

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/group"
)

// OffsetFetch (key 9), versions 1-10: how far groups have come.
//
//	v1: one group, whose error is repeated on every partition
//	v2: an error of its own; null Topics asks for every committed offset
//	v3: ThrottleMillis in the response
//	v4: clients throttle themselves
//	v5: LeaderEpoch for each partition (KIP-320)
//	v6: flexible
//	v7: RequireStable (KIP-447)
//	v8: several groups, each with its error (KIP-709)
//	v9: MemberID and MemberEpoch, which mean nothing to a classic group (KIP-848)
//	v10: topic ids take the place of names (KIP-848)
//
// Topics need not exist, and an unknown group has no offsets: both are answered
// with offset -1 and no error. An id must exist, since nothing is kept by id.
//
// Not done: throttling.
func offsetFetchAPI() API {
	return API{Key: kmsg.OffsetFetch, Min: 1, Max: 10, Class: Overlaps, Handle: offsetFetch}
}

func offsetFetch(s *Server, c *Call) {
	req := requestOf[*kmsg.OffsetFetchRequest](c)
	if c.Version < 8 {
		fetch := group.FetchOffsets{
			All:           req.Topics == nil,
			Partitions:    fetchPartitions(req.Topics),
			RequireStable: req.RequireStable,
		}
		s.Coordinator.Submit(req.Group, fetch, func(r group.Response) {
			c.Answer.Reply(offsetFetchOne(c.Version, fetch, answerOf[group.FetchedOffsets](r)))
		})
		return
	}
	resp := &kmsg.OffsetFetchResponse{Version: c.Version, Groups: make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))}
	if len(req.Groups) == 0 {
		c.Answer.Reply(resp)
		return
	}
	view := s.Broker.Catalog.View()
	var open atomic.Int64
	open.Store(int64(len(req.Groups)))
	for i := range req.Groups {
		g, answer := &req.Groups[i], &resp.Groups[i]
		answer.Group = g.Group
		fetch := group.FetchOffsets{All: g.Topics == nil, RequireStable: req.RequireStable}
		answer.Topics, fetch.Partitions = fetchTopics(view, c.Version, g.Topics)
		s.Coordinator.Submit(g.Group, fetch, func(r group.Response) {
			fillOffsets(view, c.Version, answer, fetch.All, answerOf[group.FetchedOffsets](r))
			if open.Add(-1) == 0 {
				c.Answer.Reply(resp)
			}
		})
	}
}

// fetchPartitions lists what a request of one group names.
func fetchPartitions(topics []kmsg.OffsetFetchRequestTopic) []group.TopicPartition {
	count := 0
	for i := range topics {
		count += len(topics[i].Partitions)
	}
	named := make([]group.TopicPartition, 0, count)
	for i := range topics {
		for _, p := range topics[i].Partitions {
			named = append(named, group.TopicPartition{Topic: topics[i].Topic, Partition: p})
		}
	}
	return named
}

// offsetFetchOne is the response of versions 1-7. v1 has no place for the
// error of the group: it goes to every partition, so that a client does not
// take "no answer" for "no offset" (KAFKA-19246).
func offsetFetchOne(version int16, fetch group.FetchOffsets, f group.FetchedOffsets) *kmsg.OffsetFetchResponse {
	resp := &kmsg.OffsetFetchResponse{Version: version, Topics: []kmsg.OffsetFetchResponseTopic{}}
	if f.Code != 0 {
		resp.ErrorCode = int16(f.Code)
		if version >= 2 {
			return resp
		}
		f.Offsets = make([]group.FetchedOffset, len(fetch.Partitions))
		for i, tp := range fetch.Partitions {
			f.Offsets[i] = group.FetchedOffset{TopicPartition: tp, Code: f.Code, Offset: -1, LeaderEpoch: -1}
		}
	}
	all := make([]kmsg.OffsetFetchResponseTopicPartition, len(f.Offsets))
	for start := 0; start < len(f.Offsets); {
		end := endOfTopic(f.Offsets, start)
		for i := start; i < end; i++ {
			o := &f.Offsets[i]
			all[i] = kmsg.OffsetFetchResponseTopicPartition{
				Partition:   o.Partition,
				Offset:      o.Offset,
				LeaderEpoch: o.LeaderEpoch,
				Metadata:    &o.Metadata,
				ErrorCode:   int16(o.Code),
			}
		}
		resp.Topics = append(resp.Topics, kmsg.OffsetFetchResponseTopic{
			Topic: f.Offsets[start].Topic, Partitions: all[start:end:end],
		})
		start = end
	}
	return resp
}

// endOfTopic returns the index after the run of entries of one topic.
func endOfTopic(offsets []group.FetchedOffset, start int) int {
	end := start + 1
	for end < len(offsets) && offsets[end].Topic == offsets[start].Topic {
		end++
	}
	return end
}

// fetchTopics lists what one group of a request names, and lays out its answer:
// partitions that the group is asked for are marked, those of unknown topic
// ids are refused.
func fetchTopics(view *catalog.View, version int16, topics []kmsg.OffsetFetchRequestGroupTopic) ([]kmsg.OffsetFetchResponseGroupTopic, []group.TopicPartition) {
	count := 0
	for i := range topics {
		count += len(topics[i].Partitions)
	}
	named := make([]group.TopicPartition, 0, count)
	answers := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	entries := make([]kmsg.OffsetFetchResponseGroupTopicPartition, count)
	noMetadata := new(string)
	for i := range topics {
		t := &topics[i]
		name, code := t.Topic, int16(asked)
		if version >= 10 {
			if topic, ok := view.TopicByID(t.TopicID); ok {
				name = topic.Name
			} else {
				code = kerr.UnknownTopicID.Code
			}
		}
		answers[i] = kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic, TopicID: t.TopicID}
		answers[i].Partitions, entries = entries[:len(t.Partitions):len(t.Partitions)], entries[len(t.Partitions):]
		for j, p := range t.Partitions {
			answers[i].Partitions[j] = kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: noMetadata, ErrorCode: code,
			}
			if code == asked {
				named = append(named, group.TopicPartition{Topic: name, Partition: p})
			}
		}
	}
	return answers, named
}

// fillOffsets puts what a group answered in its place.
func fillOffsets(view *catalog.View, version int16, answer *kmsg.OffsetFetchResponseGroup, all bool, f group.FetchedOffsets) {
	if f.Code != 0 {
		answer.ErrorCode, answer.Topics = int16(f.Code), nil
		return
	}
	if all {
		answer.Topics = everyOffset(view, version, f.Offsets)
		return
	}
	next := 0
	for i := range answer.Topics {
		for j := range answer.Topics[i].Partitions {
			p := &answer.Topics[i].Partitions[j]
			if p.ErrorCode != asked {
				continue
			}
			o := &f.Offsets[next]
			next++
			p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = o.Offset, o.LeaderEpoch, &o.Metadata, int16(o.Code)
		}
	}
}

// everyOffset lists all offsets of a group. Where the response has ids, topics
// that no longer have one are left out.
func everyOffset(view *catalog.View, version int16, offsets []group.FetchedOffset) []kmsg.OffsetFetchResponseGroupTopic {
	entries := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(offsets))
	var answers []kmsg.OffsetFetchResponseGroupTopic
	for start := 0; start < len(offsets); {
		end := endOfTopic(offsets, start)
		for i := start; i < end; i++ {
			o := &offsets[i]
			entries[i] = kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition:   o.Partition,
				Offset:      o.Offset,
				LeaderEpoch: o.LeaderEpoch,
				Metadata:    &o.Metadata,
				ErrorCode:   int16(o.Code),
			}
		}
		answer := kmsg.OffsetFetchResponseGroupTopic{Topic: offsets[start].Topic, Partitions: entries[start:end:end]}
		topic, ok := view.Topic(answer.Topic)
		if ok {
			answer.TopicID = topic.ID
		}
		if ok || version < 10 {
			answers = append(answers, answer)
		}
		start = end
	}
	return answers
}
