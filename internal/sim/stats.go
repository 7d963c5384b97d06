package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"rota/internal/group"
)

// Stats counts what has happened in one run, or in many.
type Stats struct {
	Seeds, Steps int
	// Traces is the traces' hashes together: the same seeds have the same.
	Traces uint64
	Events [kinds]int
	// Transitions are the events of groups, with their causes.
	Transitions [64][32]int
	// Answers are the codes that requests were answered with.
	Answers map[string]int
	// Other counts what else is worth knowing.
	Other     map[string]int
	Callbacks [4]int
}

// NewStats returns Stats that are all zero.
func NewStats() *Stats { return &Stats{Answers: map[string]int{}, Other: map[string]int{}} }

// Add adds what others have counted.
func (s *Stats) Add(o *Stats) {
	s.Seeds += o.Seeds
	s.Steps += o.Steps
	s.Traces ^= o.Traces
	for i, n := range o.Events {
		s.Events[i] += n
	}
	for i := range o.Transitions {
		for j, n := range o.Transitions[i] {
			s.Transitions[i][j] += n
		}
	}
	for i, n := range o.Callbacks {
		s.Callbacks[i] += n
	}
	for k, n := range o.Answers {
		s.Answers[k] += n
	}
	for k, n := range o.Other {
		s.Other[k] += n
	}
}

func (w *World) count(what string) { w.stats.Other[what]++ }

func (w *World) transition(k group.EventKind, c group.Cause) { w.stats.Transitions[k][c]++ }

var requestNames = [...]string{"join", "sync", "heartbeat", "leave", "commit", "fetch-offsets", "delete-offsets", "delete", "describe", "forget-topic"}

func requestName(req group.Request) int {
	switch req.(type) {
	case group.Join:
		return 0
	case group.Sync:
		return 1
	case group.Heartbeat:
		return 2
	case group.Leave:
		return 3
	case group.Commit:
		return 4
	case group.FetchOffsets:
		return 5
	case group.DeleteOffsets:
		return 6
	case group.Delete:
		return 7
	case group.Describe:
		return 8
	}
	return 9
}

func (w *World) countAnswer(req group.Request, code group.Code) {
	w.answers[requestName(req)][int(code)+1]++
}

// close hands the counts of a run to its Stats.
func (w *World) close() {
	w.stats.Seeds++
	w.stats.Steps += w.steps
	w.stats.Traces ^= w.h
	for i, n := range w.callbacks {
		w.stats.Callbacks[i] += n
	}
	for r := range w.answers {
		for code, n := range w.answers[r] {
			if n > 0 {
				w.stats.Answers[requestNames[r]+" "+strconv.Itoa(code-1)] += n
			}
		}
	}
}

// Print writes the counts.
func (s *Stats) Print(out io.Writer) {
	fmt.Fprintf(out, "%d seeds, %d steps\n\nevents\n", s.Seeds, s.Steps)
	for k, n := range s.Events {
		mark := ""
		if Kind(k) >= BreakConnection {
			mark = " (fault)"
		}
		fmt.Fprintf(out, "  %9d  %s%s\n", n, Kind(k), mark)
	}
	fmt.Fprint(out, "\ntransitions\n")
	for k := range s.Transitions {
		for c, n := range s.Transitions[k] {
			if n > 0 {
				fmt.Fprintf(out, "  %9d  %s\n", n, TransitionName(group.EventKind(k), group.Cause(c)))
			}
		}
	}
	for _, part := range []struct {
		name string
		m    map[string]int
	}{{"answers", s.Answers}, {"others", s.Other}} {
		fmt.Fprintf(out, "\n%s\n", part.name)
		for _, k := range slices.Sorted(maps.Keys(part.m)) {
			fmt.Fprintf(out, "  %9d  %s\n", part.m[k], k)
		}
	}
	fmt.Fprintf(out, "\ncallbacks: %d revoked, %d lost, %d assigned\n", s.Callbacks[1], s.Callbacks[2], s.Callbacks[3])
}

// TransitionName names an event of a group with its cause.
func TransitionName(k group.EventKind, c group.Cause) string {
	if c == 0 {
		return k.String()
	}
	return k.String() + " (" + c.String() + ")"
}
