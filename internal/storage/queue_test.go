package storage

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQueueBehavesLikeASlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var q queue[int]
	var want []int
	for i := range 20000 {
		switch n := r.IntN(10); {
		case n < 6:
			q.push(i)
			want = append(want, i)
		case n < 8 && len(want) > 0:
			n := 1 + r.IntN(len(want))
			q.pop(n)
			want = want[n:]
		case n == 8 && len(want) > 0:
			n := len(want) - r.IntN(min(len(want), 3))
			q.truncate(n)
			want = want[:n]
		case n == 9 && i%50 == 0:
			q.shrink()
		}
		if !slices.Equal(q.all(), want) || q.len() != len(want) {
			t.Fatalf("step %d: %v, want %v", i, q.all(), want)
		}
		if len(want) > 0 && *q.at(len(want) - 1) != want[len(want)-1] {
			t.Fatalf("step %d: last is %d", i, *q.at(len(want) - 1))
		}
	}
}

func TestQueueReusesItsMemory(t *testing.T) {
	var q queue[int]
	for i := range 100 {
		q.push(i)
	}
	allocs := testing.AllocsPerRun(100, func() {
		for i := range 50 {
			q.push(i)
		}
		q.pop(50)
	})
	if allocs > 0.1 {
		t.Errorf("%v allocations in a steady state", allocs)
	}
}
