package sim

import (
	"testing"
)

// TestOwnershipSeeds plays groups of members that keep what rota/member keeps
// of ownership, under every fault.
func TestOwnershipSeeds(t *testing.T) {
	n := max(*seeds/4, min(*seeds, 40)) // one after the other
	if testing.Short() {
		n = min(n, 20)
	}
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
	for _, k := range []string{"ownership", "lease ended", "given up"} {
		if counts[k] == 0 {
			t.Errorf("there was no %s", k)
		}
	}
}

// TestOwnershipCanFail: members that never doubt what they own, or go by
// heartbeats while their SyncGroup is on its way, do own it together with
// others.
func TestOwnershipCanFail(t *testing.T) {
	for name, with := range map[string]setup{
		"trusting": {owners: true, trusting: true},
		"hasty":    {owners: true, hasty: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				if r := once(seed, 2000, with); r.Failure != nil && r.Failure.Rule == "ownership" {
					t.Logf("seed %d: %v", seed, r.Failure)
					return
				}
			}
			t.Error("nobody has noticed")
		})
	}
}
