package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
)

// DescribeTopicPartitions (key 75), version 0: describes topics page by page
// (KIP-966). No topics means all. Topics come by name; a page ends after
// ResponsePartitionLimit partitions, 2000 at most, and NextCursor says where
// the next one begins.
//
// If the topic of the cursor has been deleted since, a list of all topics goes
// on with the one that follows it. A cursor that does not fit the topics of
// the request is refused with INVALID_REQUEST in their place.
//
// Not done: throttling; eligible leader replicas, of which one broker has none.
func describeTopicPartitionsAPI() API {
	return API{Key: kmsg.DescribeTopicPartitions, Min: 0, Max: 0, Class: Alone, Handle: describeTopicPartitions}
}

// pageLimit is the most partitions of one response
// (max.request.partition.size.limit).
const pageLimit = 2000

func describeTopicPartitions(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeTopicPartitionsRequest](c)
	view := s.Broker.Catalog.View()
	p := page{s: s, view: view, left: max(1, min(pageLimit, req.ResponsePartitionLimit))}
	names, from, ok := wantedTopics(view, req)
	switch {
	case !ok:
		for _, t := range req.Topics {
			p.resp.Topics = append(p.resp.Topics, noTopic(t.Topic, kerr.InvalidRequest))
		}
	default:
		for _, name := range names {
			if !p.add(name, from) {
				break
			}
			from = 0
		}
	}
	p.resp.Version = c.Version
	c.Answer.Reply(&p.resp)
}

// wantedTopics lists the names that the page may have, sorted, and the
// partition of the first one to begin with. It is false if the cursor makes no
// sense.
func wantedTopics(view *catalog.View, req *kmsg.DescribeTopicPartitionsRequest) (names []string, from int32, ok bool) {
	if len(req.Topics) == 0 {
		for _, t := range view.Topics() {
			names = append(names, t.Name)
		}
	}
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor == nil {
		return names, 0, true
	}
	at, found := slices.BinarySearch(names, req.Cursor.Topic)
	if req.Cursor.Partition < 0 || !found && len(req.Topics) > 0 {
		return nil, 0, false
	}
	if found {
		from = req.Cursor.Partition
	}
	return names[at:], from, true
}

// page is a response that fills up.
type page struct {
	s    *Server
	view *catalog.View
	left int32 // partitions that it has room for
	resp kmsg.DescribeTopicPartitionsResponse
}

// add describes a topic, beginning with one of its partitions. It is false if
// the page is full: the cursor is set then.
func (p *page) add(name string, from int32) bool {
	if p.left == 0 {
		p.resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
		return false
	}
	if broker.CheckTopicName(name) != nil {
		p.resp.Topics = append(p.resp.Topics, noTopic(name, kerr.InvalidTopicException))
		return true
	}
	t, ok := p.view.Topic(name)
	if !ok {
		p.resp.Topics = append(p.resp.Topics, noTopic(name, kerr.UnknownTopicOrPartition))
		return true
	}
	entry := kmsg.NewDescribeTopicPartitionsResponseTopic()
	entry.Topic, entry.TopicID, entry.IsInternal = &t.Name, t.ID, t.Internal
	entry.AuthorizedOperations = topicOperations
	for ; from < t.Partitions && p.left > 0; from++ {
		entry.Partitions = append(entry.Partitions, p.partition(t, from))
		p.left--
	}
	p.resp.Topics = append(p.resp.Topics, entry)
	if from < t.Partitions {
		p.resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: t.Name, Partition: from}
		return false
	}
	return true
}

func (p *page) partition(t *catalog.Topic, index int32) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	node := p.s.Broker.Config.NodeID
	entry := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	entry.Partition, entry.LeaderID = index, node
	entry.Replicas, entry.ISR = []int32{node}, []int32{node}
	// Null is allowed, and breaks Java's admin client.
	entry.EligibleLeaderReplicas, entry.LastKnownELR = []int32{}, []int32{}
	epoch, err := p.s.Broker.LeaderEpoch(t, index)
	entry.LeaderEpoch = epoch
	if err != nil {
		entry.ErrorCode, entry.LeaderID = err.Code, -1
	}
	return entry
}

func noTopic(name string, err *kerr.Error) kmsg.DescribeTopicPartitionsResponseTopic {
	entry := kmsg.NewDescribeTopicPartitionsResponseTopic()
	entry.Topic, entry.ErrorCode = &name, err.Code
	return entry
}
