package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Lag is how far a group is behind in a partition.
type Lag struct {
	Topic     string `json:"topic" doc:"Topic."`
	Partition int32  `json:"partition" doc:"Partition."`
	Committed *int64 `json:"committed" doc:"Offset that the group has committed, null for none."`
	Metadata  string `json:"metadata,omitempty" doc:"What the group has stored with it."`
	Start     int64  `json:"start" doc:"First offset that is kept."`
	End       int64  `json:"end" doc:"Offset that the next record gets."`
	Lag       *int64 `json:"lag" doc:"Records between the committed offset and the end; null if nothing is committed or the partition is gone."`
	Owner     string `json:"owner,omitempty" doc:"Id of the member that it is assigned to."`
	Gone      bool   `json:"gone,omitempty" doc:"The partition is gone; only the commit is left."`
}

// Ends asks for the ends of all partitions that groups have committed to.
func (c *Cluster) Ends(ctx context.Context, commits map[string]map[TopicPartition]Committed) (map[TopicPartition]At, error) {
	of := map[string][]int32{}
	seen := map[TopicPartition]bool{}
	for _, group := range commits {
		for tp := range group {
			if !seen[tp] {
				seen[tp] = true
				of[tp.Topic] = append(of[tp.Topic], tp.Partition)
			}
		}
	}
	return c.Offsets(ctx, of, End)
}

// Behind is how many records a group is behind in a partition: nil if that
// cannot be told.
func Behind(committed int64, end At, known bool) *int64 {
	if !known || end.Err != nil {
		return nil
	}
	lag := max(end.Offset-committed, 0)
	return &lag
}

// Total adds up the lag of a group, nil if it has committed nothing that is
// still there.
func Total(commits map[TopicPartition]Committed, ends map[TopicPartition]At) *int64 {
	var sum *int64
	for tp, committed := range commits {
		end, known := ends[tp]
		if lag := Behind(committed.Offset, end, known); lag != nil {
			if sum == nil {
				sum = new(int64)
			}
			*sum += *lag
		}
	}
	return sum
}

// LagOf tells how far a group is behind, in each partition that it has
// committed to or that is assigned to a member.
func (c *Cluster) LagOf(ctx context.Context, g Group) ([]Lag, error) {
	commits, err := c.Commits(ctx, []Group{g})
	if err != nil {
		return nil, err
	}
	owners := map[TopicPartition]string{}
	for _, m := range g.Members {
		for _, s := range m.Owns {
			for _, p := range s.Partitions {
				owners[TopicPartition{s.Topic, p}] = m.ID
			}
		}
	}
	of := map[string][]int32{}
	for tp := range commits[g.Name] {
		of[tp.Topic] = append(of[tp.Topic], tp.Partition)
	}
	for tp := range owners {
		if _, there := commits[g.Name][tp]; !there {
			of[tp.Topic] = append(of[tp.Topic], tp.Partition)
		}
	}
	starts, err := c.Offsets(ctx, of, Start)
	if err != nil {
		return nil, err
	}
	ends, err := c.Offsets(ctx, of, End)
	if err != nil {
		return nil, err
	}
	var list []Lag
	for topic, partitions := range of {
		for _, p := range partitions {
			tp := TopicPartition{topic, p}
			end, known := ends[tp]
			l := Lag{Topic: topic, Partition: p, Start: starts[tp].Offset, End: end.Offset, Owner: owners[tp], Gone: !known || end.Err != nil}
			if committed, ok := commits[g.Name][tp]; ok {
				l.Committed, l.Metadata = &committed.Offset, committed.Metadata
				l.Lag = Behind(committed.Offset, end, known)
			}
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Lag) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list, nil
}
