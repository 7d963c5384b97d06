package storage

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A list of all transactions, searched from its beginning each time, says the
// same.
func TestSpansAreWhatAListWouldBe(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s spans
		var all []span
		offset, end := int64(0), int64(0)
		for range 2000 {
			offset += 1 + r.Int64N(3)
			var open []int
			for i := range all {
				if all[i].last < 0 {
					open = append(open, i)
				}
			}
			switch n := r.IntN(10); {
			case n < 4:
				s.begin(offset)
				all = append(all, span{offset, -1})
			case n < 8 && len(open) > 0:
				i := open[r.IntN(len(open))]
				if n < 7 { // the oldest stay open for long
					i = open[len(open)-1]
				}
				s.end(all[i].first, offset)
				all[i].last = offset
			default:
				end += r.Int64N(offset - end + 1)
				s.forget(end)
				all = slices.DeleteFunc(all, func(t span) bool { return t.below(end) })
			}
			want := end
			for _, t := range all {
				if !t.below(end) {
					want = min(want, t.first)
				}
			}
			if got := s.stable(end); got != want {
				t.Fatalf("seed %d: last stable offset %d, want %d", seed, got, want)
			}
			if c := s.clone(); c.stable(end) != want || c.ended != s.ended {
				t.Fatalf("seed %d: the clone differs", seed)
			}
			if s.len() > 2*len(all)+1 {
				t.Fatalf("seed %d: %d spans are kept for %d transactions", seed, s.len(), len(all))
			}
		}
	}
}
