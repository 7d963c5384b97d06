package sim

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// txnSeeds is how many of the seeds are also played with transactions.
func txnSeeds(seeds int) int { return max(min(seeds, 20), seeds/5) }

// TestTransactionSeeds plays seeds of a world with transactions; `make sim`
// plays enough of them to have everything in them that can happen.
func TestTransactionSeeds(t *testing.T) {
	n := txnSeeds(*seeds)
	stats, failures := ManyTransactions(context.Background(), *firstSeed, n, *steps, runtime.NumCPU())
	for _, f := range failures {
		t.Error(ExplainTransactions(f, *steps))
	}
	if testing.Verbose() {
		stats.PrintTransactions(os.Stdout)
	}
	if n < txnSeeds(enoughSeeds) {
		return
	}
	for _, f := range txnFaults {
		if stats.Other["fault: "+f.name] == 0 {
			t.Errorf("no fault: %s", f.name)
		}
	}
	for _, name := range txnOthers {
		if stats.Other[name] == 0 {
			t.Errorf("never: %s", name)
		}
	}
}

// txnOthers are what Stats.Other must have.
var txnOthers = []string{
	"committed", "aborted", "duplicate produced", "guard void, asked again", "permit void, asked again", "late request",
	"marker given up by a coordinator that has moved", "marker tried again", "mover begins anew", "mover fenced",
	"report of markers brought again", "sent again", "settled", "append refused",
	"event write-markers", "event need-producer-id", "event fenced", "event timed-out", "event events-lost",
	"state Empty", "state Ongoing", "state PrepareCommit", "state PrepareAbort", "state CompleteCommit", "state CompleteAbort",
}

// TestTransactionFaultsAreFound breaks what is around the pure parts, one thing
// at a time: one of a few seeds must notice. The first is one at which it was
// near when this was written.
func TestTransactionFaultsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil txnSpoil
		first uint64
		rules []string
	}{
		{"a marker leaves guards good", txnSpoil{guards: true}, 270, []string{"behind its marker", "zombie", "fencing", "atomicity", "stuck"}},
		{"a marker leaves permits good", txnSpoil{permits: true}, 1, []string{"behind its marker", "zombie", "fencing", "atomicity", "stuck"}},
		{"old coordinators write markers", txnSpoil{leads: true}, 50, []string{"outcome", "atomicity", "fencing", "behind its marker", "zombie", "stuck"}},
		{"some markers say the opposite", txnSpoil{outcome: true}, 1, []string{"atomicity", "outcome", "fencing"}},
		{"partitions take whatever comes", txnSpoil{verify: true}, 1, []string{"behind its marker", "zombie", "stuck", "atomicity"}},
		{"reports of markers are lost", txnSpoil{reports: true}, 1, []string{"stuck"}},
		{"a failed flush is taken for a good one", txnSpoil{flush: true}, 110, []string{"atomicity", "stuck", "outcome"}},
		{"a load asks for no markers", txnSpoil{loads: true}, 1, []string{"stuck"}},
		{"consumers begin at 0", txnSpoil{offset: true}, 1, []string{"position"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := tt.first; seed < tt.first+400; seed++ {
				f := transactionsOnce(seed, *steps, tt.spoil, nil).Failure
				if f == nil {
					continue
				}
				t.Logf("seed %d: %v", seed, f)
				if !slices.Contains(tt.rules, f.Rule) {
					t.Fatalf("seed %d finds something else", seed)
				}
				return
			}
			t.Fatal("not noticed")
		})
	}
}

// TestTransactionSeedsDiffer: seeds are worlds of their own, and tell the same
// story each time.
func TestTransactionSeedsDiffer(t *testing.T) {
	seen := map[uint64]uint64{}
	for seed := range uint64(20) {
		var first, second strings.Builder
		r := TraceTransactions(seed, 200, func(line string) { first.WriteString(line) })
		TraceTransactions(seed, 200, func(line string) { second.WriteString(line) })
		if first.String() != second.String() {
			t.Errorf("seed %d tells two stories", seed)
		}
		if other, ok := seen[r.Hash]; ok {
			t.Errorf("seeds %d and %d are the same", seed, other)
		}
		seen[r.Hash] = seed
	}
}

// TestAnomalies: what the checker of histories calls an anomaly, and what not.
func TestAnomalies(t *testing.T) {
	done := func(producer int, wrote map[int]int, reads ...int) historyTxn {
		return historyTxn{name: "T", producer: producer, committed: true, wrote: wrote, reads: reads}
	}
	both := map[int]int{0: 1, 1: 1}
	gone := historyTxn{name: "aborted", wrote: both}
	order := func(txns ...int) (list []historyWrite) {
		for _, n := range txns {
			list = append(list, historyWrite{n})
		}
		return list
	}
	for _, tt := range []struct {
		name, want string
		h          txnHistory
	}{
		{"one after the other", "", txnHistory{[]historyTxn{done(1, both), done(1, both, 0)}, [][]historyWrite{order(0, 1), order(0, 1)}}},
		{"two producers in different orders", "", txnHistory{[]historyTxn{done(1, both), done(2, both)}, [][]historyWrite{order(0, 1), order(1, 0)}}},
		{"one producer in different orders", "G0", txnHistory{[]historyTxn{done(1, both), done(1, both)}, [][]historyWrite{order(0, 1), order(1, 0)}}},
		{"an aborted write is shown", "G1a", txnHistory{[]historyTxn{gone}, [][]historyWrite{order(0), nil}}},
		{"an aborted write was read", "G1a", txnHistory{[]historyTxn{gone, done(1, nil, 0)}, [][]historyWrite{nil, nil}}},
		{"half of a transaction", "G1b", txnHistory{[]historyTxn{done(1, both)}, [][]historyWrite{order(0), nil}}},
		{"reads in a circle", "G1c", txnHistory{[]historyTxn{done(1, nil, 1), done(2, nil, 0)}, nil}},
		{"reads what comes later", "G1c", txnHistory{[]historyTxn{done(1, both, 1), done(1, both)}, [][]historyWrite{order(0, 1), order(0, 1)}}},
	} {
		err := tt.h.check()
		if got := err != nil; got != (tt.want != "") || got && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
