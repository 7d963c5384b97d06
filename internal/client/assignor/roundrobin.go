package assignor

import "slices"

// RoundRobin deals the partitions of all topics out one by one.
type RoundRobin struct{}

// Name implements Assignor.
func (RoundRobin) Name() string { return "roundrobin" }

// Cooperative implements Assignor.
func (RoundRobin) Cooperative() bool { return false }

// Assign implements Assignor. A member that does not subscribe to a topic is
// passed over.
func (RoundRobin) Assign(members []Member, topics []Topic) []Plan {
	ordered := order(members)
	shares := make([][]Partition, len(ordered))
	turn := 0
	for _, t := range sortedTopics(topics) {
		if !slices.ContainsFunc(ordered, func(m *Member) bool { return slices.Contains(m.Topics, t.Name) }) {
			continue
		}
		for p := range t.Partitions {
			for !slices.Contains(ordered[turn].Topics, t.Name) {
				turn = (turn + 1) % len(ordered)
			}
			shares[turn] = append(shares[turn], Partition{t.Name, p})
			turn = (turn + 1) % len(ordered)
		}
	}
	return plans(ordered, shares)
}
