package group

import (
	"math/rand/v2"
	"testing"
)

// TestCloneIsIndependent goes on with a group and looks whether its copies
// stay what they were, and with a copy in its place.
func TestCloneIsIndependent(t *testing.T) {
	text := func(g *Group) string {
		b, err := g.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for seed := range 40 {
		x := newChaos(t, seeded{rand.New(rand.NewPCG(uint64(seed), 3))})
		for range 30 {
			copied := x.g.Clone()
			before := text(x.g)
			if got := text(copied); got != before {
				t.Fatalf("seed %d: the copy:\n%s\nits original:\n%s", seed, got, before)
			}
			if err := copied.check(); err != nil {
				t.Fatalf("seed %d: the copy: %v", seed, err)
			}
			x.g, copied = copied, x.g
			for range 10 {
				x.move()
			}
			if got := text(copied); got != before {
				t.Fatalf("seed %d: the original has changed:\n%s\nfrom:\n%s", seed, got, before)
			}
		}
		x.end()
	}
}
