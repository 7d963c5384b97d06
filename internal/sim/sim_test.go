package sim

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"rota/internal/group"
)

var (
	firstSeed = flag.Uint64("sim.seed", 1, "the first seed")
	seeds     = flag.Int("sim.seeds", 40, "how many seeds, each twice")
	steps     = flag.Int("sim.steps", 2000, "steps of each seed")
)

// enoughSeeds is from how many seeds on nothing may have occurred never.
const enoughSeeds = 1000

// TestSeeds plays seeds; `make sim` plays enough of them to have everything in
// them that can happen.
func TestSeeds(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 20)
	}
	stats, failures := Many(context.Background(), *firstSeed, n, *steps, runtime.NumCPU())
	for _, f := range failures {
		t.Error(Explain(f))
	}
	if testing.Verbose() {
		stats.Print(os.Stdout)
	}
	if n < enoughSeeds {
		return
	}
	for k, n := range stats.Events {
		if n == 0 {
			t.Errorf("no event %s", Kind(k))
		}
	}
	for k, causes := range transitions {
		for _, c := range causes {
			if stats.Transitions[k][c] == 0 {
				t.Errorf("no transition %s", TransitionName(k, c))
			}
		}
	}
	for k := range stats.Transitions {
		for c, n := range stats.Transitions[k] {
			if n > 0 && !expected(group.EventKind(k), group.Cause(c)) {
				t.Errorf("%d times %s, which is not on the list", n, TransitionName(group.EventKind(k), group.Cause(c)))
			}
		}
	}
	for _, name := range others {
		if stats.Other[name] == 0 {
			t.Errorf("never: %s", name)
		}
	}
	for kind, n := range stats.Callbacks {
		if n == 0 && kind > 0 {
			t.Errorf("no callback of kind %d", kind)
		}
	}
}

// transitions are all events of a group, with all the causes that they can
// have. A new member waits in a join phase until its first answer, so its
// timeout begins no rebalance; and the leader of a generation without a plan is
// answered at once, so that its joining again supersedes none.
var transitions = map[group.EventKind][]group.Cause{
	group.GroupCreated:  {0},
	group.GroupLoaded:   {group.CauseMoved},
	group.GroupUnloaded: {group.CauseMoved},
	group.GroupEmptied:  {0},
	group.GroupDeleted:  {group.CauseOperator, group.CauseRetention},
	group.RebalanceStarted: {
		group.CauseMemberJoined, group.CauseMemberLeft, group.CauseSessionExpired, group.CauseSyncDeadline, group.CauseProtocolsChanged,
		group.CauseLeaderRejoined, group.CauseStaticReplaced, group.CauseAssignmentTooLarge, group.CauseGroupFull,
	},
	group.RebalanceSuperseded: {
		group.CauseMemberJoined, group.CauseMemberLeft, group.CauseSessionExpired, group.CauseSyncDeadline, group.CauseProtocolsChanged,
		group.CauseStaticReplaced, group.CauseAssignmentTooLarge,
	},
	group.JoinCompleted:       {0},
	group.AssignmentInstalled: {0},
	group.MemberJoined:        {0},
	group.MemberRejoined:      {0},
	group.MemberReplaced:      {0},
	group.MemberLeft:          {group.CauseMemberLeft},
	group.MemberExpired:       {group.CauseSessionExpired, group.CauseNewMemberTimeout},
	group.MemberDropped:       {group.CauseJoinDeadline, group.CauseSyncDeadline, group.CauseGroupFull},
	group.MemberRefused:       {group.CauseGroupFull},
	group.PendingExpired:      {group.CauseSessionExpired},
	group.CommitRefused:       {0},
	group.OffsetsExpired:      {group.CauseRetention},
	group.EventsLost:          {0},
}

func expected(k group.EventKind, c group.Cause) bool {
	return slices.Contains(transitions[k], c)
}

// others are what Stats.Other must have.
var others = []string{
	"append misplaced", "append refused", "callback failed", "commit done", "commit given up", "forgiven", "log compared",
	"member closes", "member fenced", "member gives up", "member restarts", "member unsubscribes", "read late", "settled",
	"subscription changes", "topic forgotten",
}

// TestFound plays what the simulator has found, which must not come back.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*.events")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCase(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := Play(c)
		if r.Failure != nil {
			t.Errorf("%s: %v", name, r.Failure)
		}
		if again := Play(c); again.Hash != r.Hash {
			t.Errorf("%s: two plays differ", name)
		}
		if r.Steps != len(c.Events) {
			t.Errorf("%s: %d of %d events can be played: the simulator has changed", name, r.Steps, len(c.Events))
		}
	}
}

func TestCaseIsReadBack(t *testing.T) {
	c := &Case{Seed: 7, Settle: true}
	for k := range kinds {
		c.Events = append(c.Events, Event{k, uint8(k), uint64(k) * 1000})
	}
	text := c.Format("first\nsecond")
	got, err := ParseCase(text)
	if err != nil || string(got.Format("first\nsecond")) != string(text) {
		t.Errorf("%v:\n%s", err, got.Format(""))
	}
	for _, bad := range []string{"take 1", "dance 1 1", "take x 1", "take 300 1", "take 1 -1", "seed x"} {
		if _, err := ParseCase([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestSeedsDiffer: seeds are worlds of their own.
func TestSeedsDiffer(t *testing.T) {
	seen := map[uint64]uint64{}
	for seed := range uint64(20) {
		r := once(seed, 200, setup{})
		if other, ok := seen[r.Hash]; ok {
			t.Errorf("seeds %d and %d are the same", seed, other)
		}
		seen[r.Hash] = seed
	}
}
