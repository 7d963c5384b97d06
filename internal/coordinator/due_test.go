package coordinator

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestDueHeapYieldsTheEarliest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h dueHeap[int, int, int]
	entries := make([]*entry[int, int, int], 200)
	for i := range entries {
		entries[i] = &entry[int, int, int]{number: uint64(i), place: nowhere}
	}
	for range 20000 {
		e := entries[rng.IntN(len(entries))]
		if rng.IntN(3) == 0 {
			h.clear(e)
		} else {
			h.set(e, time.Duration(rng.IntN(50)))
		}
		var want *entry[int, int, int]
		in := 0
		for _, e := range entries {
			if e.place == nowhere {
				continue
			}
			in++
			if h.entries[e.place] != e {
				t.Fatal("an entry does not know its place")
			}
			if want == nil || before(e, want) {
				want = e
			}
		}
		if h.first() != want || len(h.entries) != in {
			t.Fatalf("first is %+v, want %+v; %d entries, want %d", h.first(), want, len(h.entries), in)
		}
	}
}

func TestTicketsAreGivenOnce(t *testing.T) {
	var ts tickets[int, int]
	seen := map[uint64]bool{0: true}
	for i := range 1000 {
		a, b := ts.take(0, nil), ts.take(0, nil)
		if seen[uint64(a)] || seen[uint64(b)] || a == b {
			t.Fatalf("ticket %d or %d was given before", a, b)
		}
		seen[uint64(a)], seen[uint64(b)] = true, true
		ts.giveBack(a)
		if ts.get(a) != nil || ts.get(b) == nil {
			t.Fatal("a ticket that was given back is open, or one that was not is closed")
		}
		if i%2 == 0 {
			ts.giveBack(b)
		}
	}
	if len(ts.all()) != 500 || ts.taken != 500 {
		t.Errorf("%d open, %d counted, want 500", len(ts.all()), ts.taken)
	}
}
