package assignor

import "slices"

// Range gives each member a stretch of every topic: Kafka's default, which
// keeps partitions of one number of several topics together.
type Range struct{}

// Name implements Assignor.
func (Range) Name() string { return "range" }

// Cooperative implements Assignor.
func (Range) Cooperative() bool { return false }

// Assign implements Assignor. Of a topic that does not divide evenly the first
// members get one partition more.
func (Range) Assign(members []Member, topics []Topic) []Plan {
	ordered := order(members)
	shares := make([][]Partition, len(ordered))
	for _, t := range sortedTopics(topics) {
		var takers []int
		for i, m := range ordered {
			if slices.Contains(m.Topics, t.Name) {
				takers = append(takers, i)
			}
		}
		next := int32(0)
		for n, i := range takers {
			left := int32(len(takers) - n)
			for end := next + (t.Partitions-next+left-1)/left; next < end; next++ {
				shares[i] = append(shares[i], Partition{t.Name, next})
			}
		}
	}
	return plans(ordered, shares)
}
