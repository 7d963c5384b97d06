package assignor

import "slices"

// CooperativeSticky keeps what members have as far as the shares stay even
// (KIP-429). A partition that changes hands is given to nobody in the first
// generation, in which its owner lets go of it, and to its next owner in the
// one that follows.
type CooperativeSticky struct{}

// Name implements Assignor.
func (CooperativeSticky) Name() string { return "cooperative-sticky" }

// Cooperative implements Assignor.
func (CooperativeSticky) Cooperative() bool { return true }

// Assign implements Assignor. Claims of two members on one partition are
// settled by the higher generation; of the same generation neither is believed.
func (CooperativeSticky) Assign(members []Member, topics []Topic) []Plan {
	s := stick(members, topics)
	s.withhold()
	return plans(s.members, s.shares)
}

// Sticky is CooperativeSticky for eager members: they have let go of everything
// when they join, so a partition that changes hands does so at once. What a
// member says that it owns is what it had before.
type Sticky struct{}

// Name implements Assignor.
func (Sticky) Name() string { return "sticky" }

// Cooperative implements Assignor.
func (Sticky) Cooperative() bool { return false }

// Assign implements Assignor.
func (Sticky) Assign(members []Member, topics []Topic) []Plan {
	s := stick(members, topics)
	return plans(s.members, s.shares)
}

// stick shares everything out evenly and moves as little as that takes.
func stick(members []Member, topics []Topic) *sticky {
	s := &sticky{members: order(members), owner: map[Partition]int{}, takers: map[string][]int{}}
	s.shares = make([][]Partition, len(s.members))
	for i, m := range s.members {
		for _, t := range m.Topics {
			if list := s.takers[t]; len(list) == 0 || list[len(list)-1] != i {
				s.takers[t] = append(list, i)
			}
		}
	}
	s.believe()
	if s.alike(topics) {
		s.level(sortedTopics(topics))
	} else {
		sorted := sortedTopics(topics)
		s.number(sorted)
		s.fill(sorted)
		s.even()
	}
	return s
}

// alike reports whether every topic that anybody takes is taken by all.
func (s *sticky) alike(topics []Topic) bool {
	for _, t := range topics {
		if n := len(s.takers[t.Name]); n != 0 && n != len(s.members) {
			return false
		}
	}
	return true
}

// level is fill and even for members that are alike: the number of partitions
// of each is known beforehand. Those that hold the most get the ones that are
// left over.
func (s *sticky) level(topics []Topic) {
	if len(s.members) == 0 {
		return
	}
	var free []Partition
	total := 0
	for _, t := range topics {
		if len(s.takers[t.Name]) == 0 {
			continue
		}
		total += int(max(t.Partitions, 0))
		for n := range t.Partitions {
			p := Partition{t.Name, n}
			if i, ok := s.owner[p]; ok && i != disputed {
				s.shares[i] = append(s.shares[i], p)
			} else {
				free = append(free, p)
			}
		}
	}
	quota := s.quotas(total)
	for i, share := range s.shares {
		if more := len(share) - quota[i]; more > 0 {
			free = append(free, share[quota[i]:]...)
			s.shares[i] = share[:quota[i]]
		}
	}
	// Dealt out one by one, so that everybody gets something of each topic.
	for size := 0; len(free) > 0; size++ {
		for i := range s.shares {
			if len(s.shares[i]) == size && size < quota[i] {
				s.shares[i] = append(s.shares[i], free[0])
				free = free[1:]
			}
		}
	}
}

// quotas is how many of total each member gets.
func (s *sticky) quotas(total int) []int {
	byShare := make([]int, len(s.members))
	for i := range byShare {
		byShare[i] = i
	}
	slices.SortStableFunc(byShare, func(a, b int) int { return len(s.shares[b]) - len(s.shares[a]) })
	quota := make([]int, len(s.members))
	for k, i := range byShare {
		quota[i] = total / len(byShare)
		if k < total%len(byShare) {
			quota[i]++
		}
	}
	return quota
}

// sticky is one assignment in the making. Members are numbered in their order.
type sticky struct {
	members []*Member
	takers  map[string][]int  // who subscribes to a topic
	owner   map[Partition]int // who holds it; nobody's if two claim it
	shares  [][]Partition

	// For even: the topics are numbered, and each has its queues.
	topics []Topic
	topic  map[string]int
	queues []queues
}

// disputed is the owner of a partition that two members claim equally.
const disputed = -1

// believe finds out who holds what.
func (s *sticky) believe() {
	generation := map[Partition]int32{}
	for i, m := range s.members {
		for _, p := range m.Owned {
			known, claimed := generation[p]
			switch {
			case !claimed || m.Generation > known:
				generation[p], s.owner[p] = m.Generation, i
			case m.Generation == known:
				s.owner[p] = disputed
			}
		}
	}
}

// fill leaves every partition with its owner, and gives those that have none
// to the member with the least.
func (s *sticky) fill(topics []Topic) {
	var free []Partition
	for _, t := range topics {
		takers := s.takers[t.Name]
		for n := range t.Partitions {
			p := Partition{t.Name, n}
			if i, ok := s.owner[p]; ok && i != disputed && takes(takers, i) {
				s.shares[i] = append(s.shares[i], p)
			} else if len(takers) > 0 {
				free = append(free, p)
			}
		}
	}
	for i := range s.members {
		s.queueTaker(i)
	}
	for _, p := range free {
		i := s.least(s.topic[p.Topic])
		s.shares[i] = append(s.shares[i], p)
		s.queueTaker(i)
	}
}

// takes reports whether a member is among the takers of a topic.
func takes(takers []int, i int) bool {
	_, ok := slices.BinarySearch(takers, i)
	return ok
}

func (s *sticky) holds(i int, p Partition) bool {
	owner, ok := s.owner[p]
	return ok && owner == i
}

// withhold takes back what another member still holds, or may hold.
func (s *sticky) withhold() {
	for i := range s.shares {
		s.shares[i] = slices.DeleteFunc(s.shares[i], func(p Partition) bool {
			owner, ok := s.owner[p]
			return ok && owner != i
		})
	}
}
