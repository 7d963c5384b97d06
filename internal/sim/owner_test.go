package sim

import (
	"testing"
)

// TestOwnershipSeeds plays groups of members that keep what rota/member keeps
// of ownership, under every fault.
func TestOwnershipSeeds(t *testing.T) {
	n := max(*seeds/4, min(*seeds, 20)) // one after the other
	counts := map[string]int{}
	for seed := range uint64(n) {
		r := once(*firstSeed+seed, *steps, setup{owners: true})
		for k, v := range r.Stats.Other {
			counts[k] += v
		}
		if r.Failure != nil {
			t.Error(Explain(r))
		}
	}
	t.Log(counts)
	for _, k := range []string{"ownership", "lease ended"} {
		if counts[k] == 0 {
			t.Errorf("there was no %s", k)
		}
	}
}

// TestOwnershipCanFail: members that never doubt what they own do own it
// together with others.
func TestOwnershipCanFail(t *testing.T) {
	for seed := range uint64(100) {
		if r := once(seed, 2000, setup{owners: true, trusting: true}); r.Failure != nil && r.Failure.Rule == "ownership" {
			return
		}
	}
	t.Error("nobody has noticed")
}
