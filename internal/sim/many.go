package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Many plays the seeds from first on, so many, on so many goroutines at once:
// each World has one to itself. It returns the counts of all, and the failures
// in the order of their seeds. It stops early when the context ends, or once
// there are more failures than anyone reads.
func Many(ctx context.Context, first uint64, seeds, steps, workers int) (*Stats, []Result) {
	return many(ctx, first, seeds, workers, func(seed uint64) (Result, *Stats, bool) {
		r := Run(seed, steps)
		return r, r.Stats, r.Failure != nil
	}, sortBySeed)
}

func sortBySeed(list []Result) {
	slices.SortFunc(list, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
}

// many is Many for worlds of any kind.
func many[R any](ctx context.Context, first uint64, seeds, workers int, play func(seed uint64) (r R, counts *Stats, failed bool), sort func([]R)) (*Stats, []R) {
	const enough = 10
	var mu sync.Mutex
	total := NewStats()
	var failures []R
	next := 0
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == seeds || len(failures) >= enough || ctx.Err() != nil {
			return 0, false
		}
		next++
		return first + uint64(next-1), true
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				r, counts, failed := play(seed)
				mu.Lock()
				total.Add(counts)
				if failed {
					failures = append(failures, r)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	sort(failures)
	return total, failures
}
