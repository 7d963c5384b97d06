package story

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An operator asks while the group hangs: who is it that everybody waits for?
func TestRunningRebalanceNamesWhoIsMissing(t *testing.T) {
	r := newTape(t)
	r.rebalance(CauseMemberJoined, person("a1"), nil, time.Second, 0, Compare(nil, plan(map[string][]int32{"a1": {0}, "b1": {1}, "c1": {2}}, "a1", "b1", "c1")))
	r.pass(time.Minute)
	r.add(Event{Kind: MemberReplaced, Member: &Member{ID: "s2", InstanceID: "s"}, Replaced: "s1"})
	r.pass(time.Minute)
	r.add(Event{Kind: MemberJoined, Member: person("d1")})
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("d1"), Members: 4, Timeout: ms(300_000)})
	r.pass(time.Second)
	r.add(Event{Kind: MemberRejoined, Member: person("a1")})
	awaited := func() []string {
		all := Fold(r.events)
		ids := []string{}
		for _, m := range all[len(all)-1].Awaited {
			ids = append(ids, m.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{"b1", "c1", "s2"}, awaited()); diff != "" {
		t.Error(diff)
	}
	r.add(Event{Kind: MemberLeft, Member: person("b1")})
	all := Fold(r.events)
	want := []string{
		`Group "g" has been rebalancing since 2023-11-14 22:15:21.000 UTC, from generation 1.`,
		`Cause: member "d" on 10.0.0.1 joined.`,
		`Also left: member "b" on 10.0.0.1.`,
		`It is still running: it waits for member "c", static member "s" to join, for 5m0s at most.`,
	}
	if diff := cmp.Diff(want, all[1].Sentences()); diff != "" {
		t.Error(diff)
	}
	r.pass(time.Second)
	r.gen++
	r.add(Event{Kind: JoinCompleted, Duration: ms(2000), Members: 3})
	all = Fold(r.events)
	if s := all[1].Sentences(); len(all[1].Awaited) > 0 || !strings.Contains(s[len(s)-1], "waits for the leader's assignment") {
		t.Errorf("%q", s)
	}
	// Another one interrupts it: all have to join again.
	r.add(Event{Kind: MemberJoined, Member: person("e1")})
	r.add(Event{Kind: RebalanceSuperseded, Cause: CauseMemberJoined, Member: person("e1")})
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("e1"), Members: 5})
	if diff := cmp.Diff([]string{"a1", "c1", "d1", "s2"}, awaited()); diff != "" {
		t.Error(diff)
	}
	r.add(Event{Kind: GroupEmptied})
	r.add(Event{Kind: MemberJoined, Member: person("f1")})
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("f1"), Members: 1, Initial: true})
	all = Fold(r.events)
	if last := &all[len(all)-1]; len(last.Awaited) > 0 || !strings.Contains(strings.Join(last.Sentences(), " "), "gathers them") {
		t.Errorf("%+v", last)
	}
}

func TestAddedPartitionsAreCalledSo(t *testing.T) {
	three := plan(map[string][]int32{"a": {0, 1}, "b": {2}}, "a", "b")
	six := plan(map[string][]int32{"a": {0, 1, 3}, "b": {2, 4, 5}}, "a", "b")
	tell := func(cause Cause, steps ...*Assignment) (*Rebalance, string) {
		r := newTape(t)
		for i, a := range steps {
			if i > 0 {
				r.rebalance(cause, person("a1"), nil, time.Second, 0, a)
			} else {
				r.rebalance(CauseMemberJoined, person("a1"), nil, time.Second, 0, a)
			}
		}
		all := Fold(r.events)
		last := &all[len(all)-1]
		return last, strings.Join(last.Sentences(), "\n")
	}
	const says = `Topic "t" now has 6 partitions, it had 3.`
	for _, cause := range []Cause{CauseLeaderRejoined, CauseMemberJoined} {
		if last, s := tell(cause, Compare(nil, three), Compare(three, six)); !strings.Contains(s, says) || len(last.PartitionsAdded) != 1 || strings.Contains(s, "are assigned, before") {
			t.Errorf("%s:\n%s", cause, s)
		}
	}
	if _, s := tell(CauseLeaderRejoined, Compare(nil, three), Compare(three, six)); !strings.Contains(s, "Cause: partitions were added, and member") {
		t.Error(s)
	}
	// A cooperative assignor holds back the last three for a while: there is nothing new.
	for name, steps := range map[string][]*Assignment{
		"held back":             {Compare(nil, six), Compare(six, three), Compare(three, six)},
		"held back, cut":        {Compare(six, three), Compare(three, six)},
		"a topic that is new":   {Compare(nil, plan(nil, "a")), Compare(plan(nil, "a"), six)},
		"with holes":            {Compare(nil, plan(map[string][]int32{"a": {1, 2}}, "a")), Compare(plan(map[string][]int32{"a": {1, 2}}, "a"), six)},
		"the start is not kept": {Compare(three, six)},
	} {
		if last, s := tell(CauseMemberJoined, steps...); strings.Contains(s, "now has") || len(last.PartitionsAdded) > 0 {
			t.Errorf("%s:\n%s", name, s)
		}
	}
}

func TestRunningRebalanceHasNoLengthYet(t *testing.T) {
	r := newTape(t)
	r.rebalance(CauseMemberJoined, person("a1"), nil, 4*time.Second, 0, nil)
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("b1"), Members: 2})
	if c := Causes(Fold(r.events), 0); len(c) != 1 || c[0].Count != 2 || c[0].Median != ms(4000) || c[0].Longest != ms(4000) {
		t.Errorf("%+v", c)
	}
	if c := Causes(Fold(r.events[3:]), 0); len(c) != 1 || c[0].Count != 1 || c[0].Median != 0 || c[0].Longest != 0 {
		t.Errorf("%+v", c)
	}
}
