package sim

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is one partition's committed offset.
var register = porcupine.Model{
	Init: func() any { return int64(none) },
	Step: func(state, input, output any) (bool, any) {
		in := input.(operation)
		if in.write {
			return true, in.offset
		}
		return state.(int64) == output.(int64), state
	},
	Equal: func(a, b any) bool { return a.(int64) == b.(int64) },
}

// partitionOf keys histories: one register each.
type partitionOf struct {
	group int
	part  part
}

// histories sorts what clients saw by register. A commit of which nobody knows
// what became of it may take effect at any later time, or never; one that was
// refused has had none, and a fetch without an answer says nothing.
func histories(past []operation) map[partitionOf][]porcupine.Operation {
	out := map[partitionOf][]porcupine.Operation{}
	for _, op := range past {
		if op.outcome == refused || op.outcome != succeeded && !op.write {
			continue
		}
		o := porcupine.Operation{ClientId: op.client, Input: op, Call: int64(2 * op.begun), Return: math.MaxInt64, Output: op.offset}
		if op.outcome == succeeded {
			o.Return = int64(2*op.ended + 1)
		}
		k := partitionOf{op.group, op.part}
		out[k] = append(out[k], o)
	}
	return out
}

// TestHistoriesAreLinearizable checks what clients saw of offsets, faults on,
// against a register for each partition.
func TestHistoriesAreLinearizable(t *testing.T) {
	n := min(*seeds, 400)
	if testing.Short() {
		n = 10
	}
	counts := map[outcome]int{}
	checked := 0
	for seed := range uint64(n) {
		r := once(seed, 700, setup{history: true})
		for _, op := range r.past {
			counts[op.outcome]++
		}
		for k, list := range histories(r.past) {
			checked++
			if got := porcupine.CheckOperationsTimeout(register, list, 10*time.Second); got != porcupine.Ok {
				t.Errorf("seed %d: group %d, partition %v: %s: %+v", seed, k.group, k.part, got, list)
			}
		}
		if r.Failure != nil {
			t.Errorf("seed %d: %v", seed, r.Failure)
		}
	}
	t.Logf("%d histories of one partition each: %d operations succeeded, %d were refused, of %d nobody knows",
		checked, counts[succeeded], counts[refused], counts[unknown]+counts[open])
	if counts[succeeded] == 0 || counts[unknown] == 0 || counts[refused] == 0 {
		t.Error("a kind of outcome is missing")
	}
}

// TestHistoriesCanFail: the check finds a commit that is lost.
func TestHistoriesCanFail(t *testing.T) {
	past := []operation{
		{write: true, offset: 1, begun: 0, ended: 1, outcome: succeeded},
		{write: true, offset: 2, begun: 2, ended: 3, outcome: succeeded},
		{offset: 1, begun: 4, ended: 5, outcome: succeeded},
	}
	if porcupine.CheckOperations(register, histories(past)[partitionOf{}]) {
		t.Error("a commit that goes back passes")
	}
	past[1].outcome = unknown
	if !porcupine.CheckOperations(register, histories(past)[partitionOf{}]) {
		t.Error("a commit of unknown outcome must be allowed to fail")
	}
}
