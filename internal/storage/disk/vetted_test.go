package disk

import (
	"math/rand/v2"
	"testing"
)

// What has been verified is known as long as it fits, and nothing else is.
func TestVettedParts(t *testing.T) {
	const size = 400
	random := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		var v vetted
		var model [size]bool
		for range 100 {
			from := random.Int64N(size)
			if random.IntN(20) == 0 {
				v.cut(from)
				// Whole parts go: what reaches behind the cut.
				for i := from; i < size; i++ {
					model[i] = false
				}
				for i := from - 1; i >= 0 && v.from(i) == i; i-- {
					model[i] = false
				}
			} else {
				to := min(from+random.Int64N(6), size)
				v.add(from, to)
				for i := from; i < to; i++ {
					model[i] = true
				}
			}
			end := int64(-1)
			for i, p := range v {
				if p.from <= end || p.to <= p.from || i >= maxVetted {
					t.Fatalf("parts overlap, touch, or are too many: %v", v)
				}
				end = p.to
			}
			for i := range int64(size) {
				to := v.from(i)
				if to < i || to > i && !model[i] || len(v) < maxVetted && (to > i) != model[i] {
					t.Fatalf("at %d: verified to %d, %t: %v", i, to, model[i], v)
				}
			}
			if len(v) == maxVetted { // what was dropped may have been any
				for i := range int64(size) {
					model[i] = v.from(i) > i
				}
			}
		}
	}
}
