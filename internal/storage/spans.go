package storage

import "sort"

// spans are the transactions of a log that are open or whose end is not below
// some offset, by first offset: what holds back the last stable offset. The
// zero value has none, and costs nothing.
type spans struct {
	queue[span]
	ended int // how many of them have an end
}

// span is one transaction.
type span struct {
	first int64
	last  int64 // offset of the marker, -1: it is open
}

// begin adds a transaction that begins behind all others.
func (s *spans) begin(first int64) { s.push(span{first, -1}) }

// end notes the marker of the transaction that began at first.
func (s *spans) end(first, last int64) {
	all := s.all()
	i := sort.Search(len(all), func(i int) bool { return all[i].first >= first })
	all[i].last = last
	s.ended++
}

// forget drops those whose markers lie below end. One that is open keeps some
// behind it in the list, but not more than there are open ones.
func (s *spans) forget(end int64) {
	all := s.all()
	n := 0
	for n < len(all) && all[n].below(end) {
		n++
	}
	s.pop(n)
	s.ended -= n
	if s.ended <= s.len()/2 {
		return
	}
	kept := s.all()[:0]
	for _, t := range s.all() {
		if t.below(end) {
			s.ended--
		} else {
			kept = append(kept, t)
		}
	}
	s.truncate(len(kept))
}

func (t span) below(end int64) bool { return t.last >= 0 && t.last < end }

// stable is the last stable offset of a log that ends at end: every transaction
// that begins below it has its marker below end.
func (s *spans) stable(end int64) int64 {
	for i := range s.all() {
		if t := s.at(i); !t.below(end) {
			return min(t.first, end)
		}
	}
	return end
}

func (s *spans) clone() spans {
	if s.len() == 0 {
		return spans{}
	}
	return spans{queue: queue[span]{items: append([]span(nil), s.all()...)}, ended: s.ended}
}
