package story

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/schema"
)

// tape records events of one group as they would be read back.
type tape struct {
	t      *testing.T
	now    int64
	gen    int32
	events []Event
}

func newTape(t *testing.T) *tape { return &tape{t: t, now: 1_700_000_000_000} }

func (r *tape) pass(d time.Duration) { r.now += d.Milliseconds() }

// add notes an event, through its JSON.
func (r *tape) add(e Event) {
	r.t.Helper()
	e.Version, e.TimeMillis, e.Group = Version, r.now, "g"
	if e.Generation == 0 {
		e.Generation = r.gen
	}
	back, err := Parse(e.JSON())
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(e, back); diff != "" {
		r.t.Fatalf("an event comes back changed:\n%s", diff)
	}
	r.events = append(r.events, back)
}

func person(id string) *Member { return &Member{ID: id, ClientID: id[:1], Host: "/10.0.0.1"} }

func ms(n int) Millis { return Millis(time.Duration(n) * time.Millisecond) }

// rebalance notes a whole rebalance.
func (r *tape) rebalance(cause Cause, trigger *Member, waited []Waited, join, sync time.Duration, a *Assignment) {
	r.add(Event{Kind: RebalanceStarted, Cause: cause, Member: trigger, Members: 2, Timeout: ms(60_000)})
	r.pass(join)
	r.gen++
	var last *Member
	if n := len(waited); n > 0 {
		last = &waited[n-1].Member
	}
	r.add(Event{Kind: JoinCompleted, Duration: Millis(join), Member: last, WaitedFor: waited, Members: 2, ProtocolType: "consumer", Protocol: "range"})
	r.pass(sync)
	r.add(Event{Kind: AssignmentInstalled, Duration: Millis(sync), Member: person("a1"), Members: 2, ProtocolType: "consumer", Protocol: "range", Assignment: a})
}

func TestFoldTellsWhoWasWaitedForAndWhy(t *testing.T) {
	r := newTape(t)
	r.gen = 4
	lost := person("b1")
	r.add(Event{Kind: MemberExpired, Cause: CauseSessionExpired, Member: lost, Timeout: ms(10_000), LastHeardMillis: r.now - 10_000})
	r.rebalance(CauseSessionExpired, lost, []Waited{{*person("c1"), ms(200), OutcomeJoined}, {*person("a1"), ms(3000), OutcomeJoined}},
		3*time.Second, 5*time.Millisecond, nil)
	all := Fold(r.events)
	if len(all) != 1 {
		t.Fatalf("%d rebalances", len(all))
	}
	got := all[0]
	if got.Ending != Installed || got.From != 4 || got.To != 5 || got.Cause != CauseSessionExpired || got.Trigger.ID != "b1" ||
		got.Silent != ms(10_000) || got.Timeout != ms(10_000) || len(got.Expired) != 1 || got.Slowest().ID != "a1" || got.Leader.ID != "a1" ||
		got.Took() != 3005*time.Millisecond || len(got.Events) != 4 {
		t.Errorf("got %+v", got)
	}
	want := []string{
		`Group "g" rebalanced at 2023-11-14 22:13:20.000 UTC, from generation 4 to 5; it took 3.01s.`,
		`Cause: member "b" on 10.0.0.1 was silent for 10s (session timeout 10s).`,
		`Join phase: 3s, member "a" on 10.0.0.1 was the last.`,
		`Waited for: member "a" on 10.0.0.1, which joined after 3s; member "c" on 10.0.0.1, which joined after 200ms.`,
		`Sync phase: member "a" on 10.0.0.1, the leader, handed in the assignment after 5ms (assignor "range").`,
	}
	if diff := cmp.Diff(want, got.Sentences()); diff != "" {
		t.Error(diff)
	}
}

func TestFoldTellsWhatSupersedes(t *testing.T) {
	r := newTape(t)
	r.add(Event{Kind: MemberJoined, Member: person("a1")})
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("a1"), Initial: true, Members: 1})
	r.pass(250 * time.Millisecond)
	r.gen = 1
	r.add(Event{Kind: JoinCompleted, Duration: ms(250), Initial: true, Members: 1})
	r.pass(100 * time.Millisecond)
	r.add(Event{Kind: MemberJoined, Member: person("b1")})
	r.add(Event{Kind: RebalanceSuperseded, Cause: CauseMemberJoined, Member: person("b1"), Duration: ms(100)})
	r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("b1"), Members: 2})
	r.pass(time.Second)
	r.add(Event{Kind: MemberLeft, Cause: CauseMemberLeft, Member: person("a1")})
	all := Fold(r.events)
	if len(all) != 2 {
		t.Fatalf("%d rebalances", len(all))
	}
	first, second := all[0], all[1]
	if first.Ending != Superseded || first.SupersededBy.Trigger.ID != "b1" || !first.Initial || first.Sync.Took != ms(100) || len(first.Events) != 5 {
		t.Errorf("the first: %+v", first)
	}
	if second.Ending != Running || !second.Supersedes || second.Trigger.ID != "b1" || len(second.Joined) != 1 || len(second.Left) != 1 {
		t.Errorf("the second: %+v", second)
	}
	if s := strings.Join(first.Sentences(), "\n"); !strings.Contains(s, `superseded by another rebalance before the assignment had come. Cause: member "b" on 10.0.0.1 joined.`) {
		t.Error(s)
	}
}

func TestFoldEndsWithTheCoordinator(t *testing.T) {
	for _, kind := range []Kind{GroupUnloaded, GroupLoaded, EventsLost} {
		r := newTape(t)
		r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("a1"), Members: 1})
		r.pass(time.Second)
		r.add(Event{Kind: kind, Cause: CauseMoved})
		if all := Fold(r.events); len(all) != 1 || all[0].Ending != Interrupted || all[0].EndedMillis != all[0].StartedMillis {
			t.Errorf("%s: %+v", kind, all)
		}
	}
}

func TestCausesAreCounted(t *testing.T) {
	r := newTape(t)
	for range 3 {
		r.rebalance(CauseMemberJoined, person("a1"), nil, time.Second, 0, nil)
	}
	since := r.now
	r.rebalance(CauseMemberLeft, person("b1"), nil, 4*time.Second, 0, nil)
	all := Fold(r.events)
	counts := Causes(all, 0)
	if len(counts) != 2 || counts[0].Cause != CauseMemberJoined || counts[0].Count != 3 || counts[0].Triggers[0].Count != 3 || counts[0].Median != ms(1000) || counts[1].Longest != ms(4000) {
		t.Errorf("%+v", counts)
	}
	if late := Causes(all, since); len(late) != 1 || late[0].Cause != CauseMemberLeft {
		t.Errorf("%+v", late)
	}
}

func TestHostileNamesAreHarmless(t *testing.T) {
	evil := &Member{ID: "x", ClientID: "\x1b[31mred\n<script>", Reason: strings.Repeat("\u202e", 40000), Host: "/h\x07"}
	r := newTape(t)
	r.add(Event{Kind: MemberLeft, Cause: CauseMemberLeft, Member: evil})
	r.rebalance(CauseMemberLeft, evil, []Waited{{*evil, ms(1), OutcomeJoined}}, time.Second, 0, nil)
	lines := Fold(r.events)[0].Sentences()
	for i := range r.events {
		lines = append(lines, r.events[i].Sentence())
	}
	for _, l := range lines {
		if len(l) > 8000 {
			t.Errorf("a sentence of %d bytes", len(l))
		}
		for _, c := range l {
			if c < 32 || c > 126 {
				t.Errorf("%q is not harmless", l)
				break
			}
		}
	}
}

func TestMillis(t *testing.T) {
	for want, d := range map[string]time.Duration{"0": 0, "1.5": 1500 * time.Microsecond, "12.345": 12345 * time.Microsecond, "60000": time.Minute, "0.001": time.Microsecond} {
		b, err := json.Marshal(Millis(d))
		var back Millis
		if err2 := json.Unmarshal(b, &back); err != nil || err2 != nil || string(b) != want || time.Duration(back) != d {
			t.Errorf("%v is %s and back %v (%v, %v)", d, b, time.Duration(back), err, err2)
		}
	}
	var m Millis
	if json.Unmarshal([]byte("1e300"), &m) == nil || json.Unmarshal([]byte(`"x"`), &m) == nil {
		t.Error("no durations, and taken")
	}
}

func TestParseRefusesWhatIsNoEvent(t *testing.T) {
	for _, s := range []string{"", "null", "{}", `{"v":0,"kind":"x"}`, `{"v":1}`, `[1]`} {
		if _, err := Parse([]byte(s)); err == nil {
			t.Errorf("%q is taken for an event", s)
		}
	}
	if e, err := Parse([]byte(`{"v":2,"kind":"new-kind","new":[1]}`)); err != nil || e.Sentence() != "new-kind" {
		t.Errorf("an event of a newer version: %v, %v", e, err)
	}
}

// plan is a group record: who has which partitions of topic t.
func plan(has map[string][]int32, order ...string) *schema.GroupValue {
	v := &schema.GroupValue{ProtocolType: "consumer"}
	for _, id := range order {
		m := schema.MemberValue{
			ID: id, ClientID: id[:1],
			Subscription: schema.AppendSubscription(nil, schema.Subscription{Version: 1, Topics: []string{"t"}}),
		}
		if has[id] != nil {
			m.Assignment = schema.AppendAssignment(nil, schema.Assignment{Partitions: []schema.TopicPartitions{{Topic: "t", Partitions: has[id]}}})
		}
		v.Members = append(v.Members, m)
	}
	return v
}

func TestMovesThatWereNotNeeded(t *testing.T) {
	before := plan(map[string][]int32{"a": {0, 1, 2}, "b": {3, 4, 5}}, "a", "b")
	for _, tt := range []struct {
		name                                     string
		after                                    *schema.GroupValue
		kept, moved, added, orphaned, unassigned int
		notNeeded                                int
	}{
		{"nothing moves", before, 6, 0, 0, 0, 0, 0},
		{"swapped", plan(map[string][]int32{"a": {3, 4, 5}, "b": {0, 1, 2}}, "a", "b"), 0, 6, 0, 0, 0, 6},
		{"a newcomer, range", plan(map[string][]int32{"a": {0, 1}, "b": {2, 3}, "c": {4, 5}}, "a", "b", "c"), 3, 3, 0, 0, 0, 1},
		{"a newcomer, sticky", plan(map[string][]int32{"a": {0, 1}, "b": {3, 4}, "c": {2, 5}}, "a", "b", "c"), 4, 2, 0, 0, 0, 0},
		{"one is gone", plan(map[string][]int32{"a": {0, 1, 2, 3, 4, 5}}, "a"), 3, 0, 0, 3, 0, 0},
		{"partitions added", plan(map[string][]int32{"a": {0, 1, 2, 6}, "b": {3, 4, 5}}, "a", "b"), 6, 0, 1, 0, 0, 0},
		{"on their way", plan(map[string][]int32{"a": {0, 1}, "b": {3, 4}}, "a", "b", "c"), 4, 0, 0, 0, 2, 0},
		{"sizes change sides", plan(map[string][]int32{"a": {0, 1}, "b": {2, 3, 4, 5}}, "a", "b"), 5, 1, 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := Compare(before, tt.after)
			got := []int{a.Kept, a.Moved, a.Added, a.Orphaned, a.Unassigned, *a.MovesNotNeeded}
			want := []int{tt.kept, tt.moved, tt.added, tt.orphaned, tt.unassigned, tt.notNeeded}
			if !a.Decoded || !cmp.Equal(got, want) {
				t.Errorf("kept, moved, added, orphaned, unassigned, not needed: got %v, want %v", got, want)
			}
		})
	}
}

func TestCompareListsGainedAndLost(t *testing.T) {
	static := func(v *schema.GroupValue, id, instance string) *schema.GroupValue {
		for i := range v.Members {
			if v.Members[i].ID == id {
				v.Members[i].InstanceID = &instance
			}
		}
		return v
	}
	before := static(plan(map[string][]int32{"a": {0, 1, 2}, "b": {3}}, "a", "b"), "a", "i")
	after := static(plan(map[string][]int32{"x": {0, 3}, "c": {1, 2, 4}}, "x", "c"), "x", "i")
	a := Compare(before, after)
	want := []MemberAssignment{
		{
			Member: Member{ID: "x", ClientID: "x", InstanceID: "i"}, Subscribed: []string{"t"}, Partitions: 2, Kept: 1, GainedN: 1, LostN: 2,
			Gained: []TopicPartitions{{"t", []int32{3}}}, Lost: []TopicPartitions{{"t", []int32{1, 2}}}, SubscriptionBytes: 17, AssignmentBytes: 25,
		},
		{
			Member: Member{ID: "c", ClientID: "c"}, New: true, Subscribed: []string{"t"}, Partitions: 3, GainedN: 3,
			Gained: []TopicPartitions{{"t", []int32{1, 2, 4}}}, SubscriptionBytes: 17, AssignmentBytes: 29,
		},
	}
	if diff := cmp.Diff(want, a.Members); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]TopicChange{{"t", 4, 5, true}}, a.Topics); diff != "" {
		t.Error(diff)
	}
}

func TestCompareWhatCannotBeRead(t *testing.T) {
	v := plan(map[string][]int32{"a": {0}}, "a", "b")
	v.Members[0].Assignment = []byte{0, 1, 2}
	if a := Compare(nil, v); a.Decoded || a.Members[0].AssignmentBytes != 3 || a.MovesNotNeeded != nil {
		t.Errorf("%+v", a)
	}
	v = plan(map[string][]int32{"a": {0}}, "a", "b")
	v.ProtocolType = "connect"
	if a := Compare(nil, v); a.Decoded {
		t.Error("the bytes of another protocol type are read")
	}
	v = plan(map[string][]int32{"a": {0}}, "a", "b")
	v.Members[1].Subscription = schema.AppendSubscription(nil, schema.Subscription{Topics: []string{"u"}})
	if a := Compare(nil, v); !a.Decoded || a.MovesNotNeeded != nil {
		t.Error("members subscribe to different topics, and moves are called needless")
	}
}

func TestAssignmentsAreBounded(t *testing.T) {
	var many []int32
	for p := range int32(3000) {
		many = append(many, p)
	}
	ids := []string{"a"}
	for i := range 500 {
		ids = append(ids, "m"+string(rune('A'+i/26))+string(rune('a'+i%26)))
	}
	a := Compare(nil, plan(map[string][]int32{"a": many}, ids...))
	listed := 0
	for _, m := range a.Members {
		for _, g := range m.Gained {
			listed += len(g.Partitions)
		}
	}
	if listed != maxListedPartitions || len(a.Members) != maxListedMembers || a.MembersMore != 301 || a.Partitions != 3000 || a.Members[0].GainedN != 3000 {
		t.Errorf("%d partitions and %d members are listed, %d more; %d partitions", listed, len(a.Members), a.MembersMore, a.Partitions)
	}
	v := plan(nil, ids...)
	v.ProtocolType = "connect"
	if a := Compare(plan(nil, ids[:100]...), v); len(a.Members) != maxListedMembers || a.MembersMore != 301 || a.Members[99].New || !a.Members[100].New {
		t.Errorf("%d members are listed and %d more", len(a.Members), a.MembersMore)
	}
}
