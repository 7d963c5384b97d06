package group

import (
	"cmp"
	"slices"
)

// fetchOffsets runs one group's part of an OffsetFetch. Anyone may ask in any
// state; of a group that does not exist nothing is committed.
func (g *Group) fetchOffsets(t Ticket, r *FetchOffsets) {
	asked := r.Partitions
	if r.All {
		asked = g.log.committed.partitions()
	}
	answer := FetchedOffsets{Offsets: make([]FetchedOffset, len(asked))}
	for i, tp := range asked {
		answer.Offsets[i] = g.fetchOffset(tp, r.RequireStable)
	}
	g.reply(t, DependsGroup, answer)
}

func (g *Group) fetchOffset(tp TopicPartition, requireStable bool) FetchedOffset {
	none := FetchedOffset{TopicPartition: tp, Offset: -1, LeaderEpoch: -1}
	if requireStable && g.log.unstable[tp] > 0 {
		none.Code = codeUnstableOffsetCommit
		return none
	}
	o, ok := g.log.committed.get(tp)
	if !ok {
		return none
	}
	return FetchedOffset{TopicPartition: tp, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
}

// sortedPartitions lists the keys of m by topic and partition.
func sortedPartitions[V any](m map[TopicPartition]V) []TopicPartition {
	list := make([]TopicPartition, 0, len(m))
	for tp := range m {
		list = append(list, tp)
	}
	slices.SortFunc(list, comparePartitions)
	return list
}

func comparePartitions(a, b TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
