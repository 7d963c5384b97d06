package assignor

import "slices"

// even moves partitions from members that have two more than another that
// could take one, until there are none, and then along chains of such members.
// Each move lowers the sum of the squares of the shares, so it ends, and it ends
// with the least that this sum can be.
func (s *sticky) even() {
	for i := range s.shares {
		s.queueHolder(i)
	}
	for s.move() || s.chain() {
	}
}

// number gives the topics numbers.
func (s *sticky) number(topics []Topic) {
	s.topics, s.queues = topics, make([]queues, len(topics))
	s.topic = make(map[string]int, len(topics))
	for n, t := range topics {
		s.topic[t.Name] = n
	}
}

// queues say who has the least of those that take a topic, and who the most of
// those that have some of it. An entry whose size is not the member's any more
// is void: there is another one with the present size.
type queues struct {
	takers  heap // the least first
	holders heap // sizes negated, so that the most comes first
}

// move makes the move that helps most, and reports whether there was one.
func (s *sticky) move() bool {
	topic, from, to, gap := -1, 0, 0, 1
	for n := range s.queues {
		giver, ok := s.most(n)
		if !ok {
			continue
		}
		taker := s.least(n)
		if d := len(s.shares[giver]) - len(s.shares[taker]); d > gap {
			topic, from, to, gap = n, giver, taker, d
		}
	}
	if topic < 0 {
		return false
	}
	s.give(from, to, topic)
	return true
}

// least is the taker of a topic with the fewest partitions. Every topic that
// is held has one.
func (s *sticky) least(topic int) int {
	q := &s.queues[topic].takers
	for (*q)[0].size != len(s.shares[(*q)[0].member]) {
		q.pop()
	}
	return (*q)[0].member
}

// most is the holder of a topic with the most partitions, if anybody has any.
func (s *sticky) most(topic int) (member int, ok bool) {
	q := &s.queues[topic].holders
	for len(*q) > 0 {
		top := (*q)[0]
		if -top.size == len(s.shares[top.member]) && s.has(top.member, topic) {
			return top.member, true
		}
		q.pop()
	}
	return 0, false
}

// has reports whether a member's share has something of a topic.
func (s *sticky) has(i, topic int) bool {
	return slices.ContainsFunc(s.shares[i], func(p Partition) bool { return s.topic[p.Topic] == topic })
}

// give lets a member pass on a partition of a topic: if it can, one that it does
// not hold yet, and best one that the other does.
func (s *sticky) give(from, to, topic int) {
	which, best := -1, -1
	for k, p := range s.shares[from] {
		if s.topic[p.Topic] != topic {
			continue
		}
		if v := s.worth(from, to, p); v >= best {
			which, best = k, v
		}
	}
	s.shares[to] = append(s.shares[to], s.shares[from][which])
	s.shares[from] = slices.Delete(s.shares[from], which, which+1)
	for _, i := range [2]int{from, to} {
		s.queueTaker(i)
		s.queueHolder(i)
	}
}

// queueTaker enters a member with every topic that it takes.
func (s *sticky) queueTaker(i int) {
	for _, name := range s.members[i].Topics {
		if n, ok := s.topic[name]; ok {
			s.queues[n].takers.push(waiting{len(s.shares[i]), i})
		}
	}
}

// queueHolder enters a member with every topic that it has something of.
func (s *sticky) queueHolder(i int) {
	last := -1
	for _, p := range s.shares[i] {
		if n := s.topic[p.Topic]; n != last {
			s.queues[n].holders.push(waiting{-len(s.shares[i]), i})
			last = n
		}
	}
}

// worth ranks the partitions that a member can give to another.
func (s *sticky) worth(from, to int, p Partition) int {
	switch {
	case s.holds(to, p):
		return 2
	case !s.holds(from, p):
		return 1
	}
	return 0
}

// waiting is a member and the size of its share when it was queued.
type waiting struct{ size, member int }

// heap has the entry with the smallest size, and of these with the lowest
// member, in front.
type heap []waiting

func (h heap) before(a, b int) bool {
	if h[a].size != h[b].size {
		return h[a].size < h[b].size
	}
	return h[a].member < h[b].member
}

func (h *heap) push(w waiting) {
	*h = append(*h, w)
	for at := len(*h) - 1; at > 0; {
		parent := (at - 1) / 2
		if !h.before(at, parent) {
			return
		}
		(*h)[at], (*h)[parent] = (*h)[parent], (*h)[at]
		at = parent
	}
}

func (h *heap) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	for at := 0; ; {
		child := 2*at + 1
		if child >= last {
			return
		}
		if child+1 < last && h.before(child+1, child) {
			child++
		}
		if !h.before(child, at) {
			return
		}
		(*h)[at], (*h)[child] = (*h)[child], (*h)[at]
		at = child
	}
}
