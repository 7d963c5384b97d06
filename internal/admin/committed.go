package admin

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Committed is an offset that a group has stored for a partition.
type Committed struct {
	Offset   int64
	Metadata string
}

// Commits asks coordinators for the offsets of their groups: by group, only
// what is stored. Describe may fill the same groups in meanwhile: this looks at
// nothing but their names and coordinators.
func (c *Cluster) Commits(ctx context.Context, groups []Group) (map[string]map[TopicPartition]Committed, error) {
	byNode := map[int32]*kmsg.OffsetFetchRequest{}
	for i := range groups {
		g := &groups[i] // no copy, which would read what Describe writes
		req := byNode[g.Coordinator]
		if req == nil {
			req = kmsg.NewPtrOffsetFetchRequest()
			byNode[g.Coordinator] = req
		}
		r := kmsg.NewOffsetFetchRequestGroup()
		r.Group = g.Name
		req.Groups = append(req.Groups, r)
	}
	all := make(map[string]map[TopicPartition]Committed, len(groups))
	for node, req := range byNode {
		resp, err := askBroker[*kmsg.OffsetFetchResponse](ctx, c, node, req)
		if err != nil {
			return nil, err
		}
		for _, g := range resp.Groups {
			if err := refused(g.ErrorCode, nil, "offsets of group %q", g.Group); err != nil {
				return nil, err
			}
			all[g.Group] = commitsOf(g)
		}
	}
	return all, nil
}

func commitsOf(g kmsg.OffsetFetchResponseGroup) map[TopicPartition]Committed {
	n := 0
	for _, t := range g.Topics {
		n += len(t.Partitions)
	}
	of := make(map[TopicPartition]Committed, n)
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			if p.Offset < 0 || p.ErrorCode != 0 {
				continue
			}
			commit := Committed{Offset: p.Offset}
			if p.Metadata != nil {
				commit.Metadata = *p.Metadata
			}
			of[TopicPartition{t.Topic, p.Partition}] = commit
		}
	}
	return of
}

// Commit stores offsets for a group that has no members.
func (c *Cluster) Commit(ctx context.Context, group string, offsets map[TopicPartition]int64) error {
	g, err := c.Find(ctx, group)
	if err != nil {
		return err
	}
	byTopic := map[string]*kmsg.OffsetCommitRequestTopic{}
	for tp, offset := range offsets {
		t := byTopic[tp.Topic]
		if t == nil {
			nt := kmsg.NewOffsetCommitRequestTopic()
			nt.Topic = tp.Topic
			t = &nt
			byTopic[tp.Topic] = t
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.Partition, offset
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	for _, t := range byTopic {
		req.Topics = append(req.Topics, *t)
	}
	resp, err := askBroker[*kmsg.OffsetCommitResponse](ctx, c, g.Coordinator, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := refused(p.ErrorCode, nil, "offset of %s-%d", t.Topic, p.Partition); err != nil {
				return err
			}
		}
	}
	return nil
}
