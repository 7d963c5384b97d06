package sim

import (
	"flag"
	"os"
	"testing"
)

var (
	seed  = flag.Uint64("sim.seed", 0, "play this seed only")
	seeds = flag.Int("sim.seeds", 60, "how many seeds to play")
	steps = flag.Int("sim.steps", 2000, "how many steps of each")
)

func TestSeeds(t *testing.T) {
	total := NewStats()
	from, to := uint64(1), uint64(*seeds)
	if *seed != 0 {
		from, to = *seed, *seed
	}
	for s := from; s <= to; s++ {
		r := Run(s, *steps)
		total.Add(r.Stats)
		if r.Failure != nil {
			t.Errorf("seed %d: %v", s, r.Failure)
			if t.Failed() && s > from+400 {
				break
			}
		}
	}
	if testing.Verbose() {
		total.Print(os.Stdout)
	}
}
