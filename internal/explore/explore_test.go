package explore

import (
	"flag"
	"testing"
	"time"
)

var (
	depth   = flag.Int("explore.depth", 0, "how far to go in each world; 0: as far as there is time")
	timeFor = flag.Duration("explore.time", 0, "how long to explore, all worlds together; 0: until there are enough states")
	states  = flag.Int("explore.states", 0, "how many states to visit in each world; 0: 10000, or as many as there is time for")
	only    = flag.String("explore.world", "", "the one world to explore")
)

// TestWorlds explores every world for a while.
func TestWorlds(t *testing.T) {
	worlds := Worlds()
	limit, share := 10000, 2*time.Minute/time.Duration(len(worlds))
	if *timeFor > 0 {
		limit, share = 24<<20, *timeFor/time.Duration(len(worlds))
	}
	if *states > 0 {
		limit = *states
	}
	if *only != "" {
		share *= time.Duration(len(worlds))
	}
	sum := 0
	for i := range worlds {
		spec := &worlds[i]
		if *only != "" && *only != spec.Name {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			began := time.Now()
			r := Explore(spec, Limits{
				Depth: *depth, Futures: 32, States: limit,
				Over: func() bool { return time.Since(began) > share },
			})
			t.Logf("%s: %s in %s", spec.About, &r, time.Since(began).Round(time.Millisecond))
			sum += r.States
			if r.Wrong != "" {
				t.Errorf("%s\n%s", r.Wrong, Scenario(spec, &r))
			}
			if r.States < 1000 {
				t.Errorf("only %d states", r.States)
			}
		})
	}
	t.Logf("%d states in all", sum)
}
