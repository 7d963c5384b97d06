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
	s := &sticky{members: order(members), owner: map[Partition]int{}, takers: map[string][]int{}}
	s.shares = make([][]Partition, len(s.members))
	for i, m := range s.members {
		for _, t := range m.Topics {
			if !slices.Contains(s.takers[t], i) {
				s.takers[t] = append(s.takers[t], i)
			}
		}
	}
	s.believe()
	s.fill(sortedTopics(topics))
	s.even()
	s.withhold()
	return plans(s.members, s.shares)
}

// sticky is one assignment in the making. Members are numbered in their order.
type sticky struct {
	members []*Member
	takers  map[string][]int  // who subscribes to a topic
	owner   map[Partition]int // who holds it; nobody's if two claim it
	shares  [][]Partition
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
			if i, ok := s.owner[p]; ok && i != disputed && slices.Contains(takers, i) {
				s.shares[i] = append(s.shares[i], p)
			} else if len(takers) > 0 {
				free = append(free, p)
			}
		}
	}
	for _, p := range free {
		i := s.least(s.takers[p.Topic])
		s.shares[i] = append(s.shares[i], p)
	}
}

func (s *sticky) least(takers []int) int {
	best := takers[0]
	for _, i := range takers[1:] {
		if len(s.shares[i]) < len(s.shares[best]) {
			best = i
		}
	}
	return best
}

// even moves partitions from members that have two more than another that
// could take one, until there are none. Each move lowers the sum of the squares
// of the shares, so it ends.
func (s *sticky) even() {
	for s.move() {
	}
}

// move makes the move that helps most, and prefers a partition that its giver
// does not hold yet.
func (s *sticky) move() bool {
	from, to, which, gap := 0, 0, -1, 1
	for i := range s.shares {
		for k, p := range slices.Backward(s.shares[i]) {
			j := s.least(s.takers[p.Topic])
			d := len(s.shares[i]) - len(s.shares[j])
			if d > gap || d == gap && which >= 0 && i == from && s.holds(from, s.shares[from][which]) && !s.holds(i, p) {
				from, to, which, gap = i, j, k, d
			}
		}
	}
	if which < 0 {
		return false
	}
	p := s.shares[from][which]
	s.shares[from] = slices.Delete(s.shares[from], which, which+1)
	s.shares[to] = append(s.shares[to], p)
	return true
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
