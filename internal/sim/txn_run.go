package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// TxnRun is what came of one seed of a TxnWorld.
type TxnRun struct {
	Seed    uint64
	Hash    uint64
	Stats   *Stats
	Failure *RuleError
}

// RunTransactions plays a seed for so many steps, twice, and compares the two.
func RunTransactions(seed uint64, steps int) TxnRun {
	first := transactionsOnce(seed, steps, txnSpoil{}, nil)
	if first.Failure != nil {
		return first
	}
	if second := transactionsOnce(seed, steps, txnSpoil{}, nil); second.Hash != first.Hash {
		first.Failure = &RuleError{Rule: "not repeatable", Step: steps, Reason: fmt.Sprintf("two runs of seed %d differ: %x and %x", seed, first.Hash, second.Hash)}
	}
	return first
}

// TraceTransactions plays a seed once and writes what happens.
func TraceTransactions(seed uint64, steps int, trace func(string)) TxnRun {
	return transactionsOnce(seed, steps, txnSpoil{}, trace)
}

func transactionsOnce(seed uint64, steps int, spoil txnSpoil, trace func(string)) TxnRun {
	stats := NewStats()
	w := newTxnWorld(seed, spoil, stats)
	w.Trace = trace
	for w.steps < steps && w.failure == nil {
		w.step()
	}
	if w.failure == nil {
		w.settle()
	}
	stats.Seeds, stats.Steps, stats.Traces = 1, w.steps, w.h
	return TxnRun{Seed: seed, Hash: w.h, Stats: stats, Failure: w.failure}
}

// ManyTransactions plays the seeds from first on as Many does, of worlds with
// transactions.
func ManyTransactions(ctx context.Context, first uint64, seeds, steps, workers int) (*Stats, []TxnRun) {
	return many(ctx, first, seeds, workers, func(seed uint64) (TxnRun, *Stats, bool) {
		r := RunTransactions(seed, steps)
		return r, r.Stats, r.Failure != nil
	}, func(list []TxnRun) {
		slices.SortFunc(list, func(a, b TxnRun) int { return cmp.Compare(a.Seed, b.Seed) })
	})
}

// ExplainTransactions tells what is broken in a seed, and what happened last.
func ExplainTransactions(r TxnRun, steps int) string {
	const last = 60
	var lines []string
	TraceTransactions(r.Seed, steps, func(line string) { lines = append(lines, line) })
	return fmt.Sprintf("seed %d with transactions: %v\n%s\n", r.Seed, r.Failure, strings.Join(lines[max(0, len(lines)-last):], "\n"))
}

// PrintTransactions writes the counts of worlds with transactions.
func (s *Stats) PrintTransactions(out io.Writer) {
	fmt.Fprintf(out, "\n%d seeds with transactions, %d steps\n", s.Seeds, s.Steps)
	for _, m := range []map[string]int{s.Answers, s.Other} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(out, "  %9d  %s\n", m[k], k)
		}
	}
}
