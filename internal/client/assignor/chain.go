package assignor

import "slices"

// A chain of moves takes a partition from one who has more to one who has less
// over others in between, if the two do not want the same: a gives to b a
// partition of t, and b one of u to c. Shares are as even as subscriptions
// allow exactly when no chain leads from a member to one that has two less.

// chain finds the shortest chain of moves that evens out, beginning with those
// that end at the members with the least, makes it as often as it helps, and
// reports whether there was one.
func (s *sticky) chain() bool {
	holders := s.holders()
	for _, size := range s.sizes() {
		path := s.search(size, holders)
		if path == nil {
			continue
		}
		next, helped := make([]int, len(path)), false
		for s.follow(path, holders, next) {
			helped = true
		}
		if helped {
			return true
		}
	}
	return false
}

// sizes lists the sizes of the shares, the smallest first.
func (s *sticky) sizes() []int {
	sizes := make([]int, len(s.shares))
	for i := range s.shares {
		sizes[i] = len(s.shares[i])
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// holders lists who has partitions of each topic.
func (s *sticky) holders() [][]int {
	holders := make([][]int, len(s.topics))
	for i, share := range s.shares {
		for _, p := range share {
			n := s.topic[p.Topic]
			if list := holders[n]; len(list) == 0 || list[len(list)-1] != i {
				holders[n] = append(list, i)
			}
		}
	}
	return holders
}

// search looks for a member that has two partitions more than those with size
// of them and can pass one on to one of these. It returns the topics of which
// partitions are passed on, first that of the member with most; nil if there
// is none.
func (s *sticky) search(size int, holders [][]int) (path []int) {
	type step struct {
		known     bool
		topic, to int // to is -1 at the end
	}
	steps, seen := make([]step, len(s.shares)), make([]bool, len(s.topics))
	var reached []int
	for i := range s.shares {
		if len(s.shares[i]) == size {
			reached = append(reached, i)
			steps[i] = step{true, 0, -1}
		}
	}
	for k := 0; k < len(reached); k++ {
		for _, name := range s.members[reached[k]].Topics {
			topic, ok := s.topic[name]
			if !ok || seen[topic] {
				continue
			}
			seen[topic] = true
			for _, i := range holders[topic] {
				if steps[i].known {
					continue
				}
				steps[i] = step{true, topic, reached[k]}
				reached = append(reached, i)
				if len(s.shares[i]) > size+1 {
					for at := steps[i]; at.to >= 0; at = steps[at.to] {
						path = append(path, at.topic)
					}
					return path
				}
			}
		}
	}
	return nil
}

// follow passes a partition of each topic of a path on, from the member with
// most to the one with least, and reports whether that was possible and helped.
// next says from where on those in between are looked for.
func (s *sticky) follow(path []int, holders [][]int, next []int) bool {
	last := len(path) - 1
	from, ok := s.most(path[0])
	to := s.least(path[last])
	if !ok || len(s.shares[from])-len(s.shares[to]) < 2 {
		return false
	}
	chain := []int{from}
	for k := range last {
		i := s.between(path[k], path[k+1], chain, to, holders[path[k+1]], &next[k])
		if i < 0 {
			return false
		}
		chain = append(chain, i)
	}
	chain = append(chain, to)
	for k, topic := range path {
		s.give(chain[k], chain[k+1], topic)
	}
	return true
}

// between finds a member outside of the chain that takes one topic and has
// something of another; -1 if there is none.
func (s *sticky) between(takes, has int, chain []int, end int, holders []int, next *int) int {
	for ; *next < len(holders); *next++ {
		i := holders[*next]
		if i != end && !slices.Contains(chain, i) && s.has(i, has) && s.takes(i, takes) {
			return i
		}
	}
	return -1
}

// takes reports whether a member subscribes to a topic.
func (s *sticky) takes(i, topic int) bool { return takes(s.takers[s.topics[topic].Name], i) }
