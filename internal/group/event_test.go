package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is what the history would keep of the last events.
func (d *driver) told() []Event {
	events := d.events
	d.events = nil
	return events
}

func ref(id string) MemberRef {
	return MemberRef{ID: id, ClientID: "c", ClientHost: "/127.0.0.1"}
}

func refs(ids ...string) []MemberRef {
	var list []MemberRef
	for _, id := range ids {
		list = append(list, ref(id))
	}
	return list
}

func TestEventsSayWhy(t *testing.T) {
	d := newDriver(t, nil)
	want := func(when string, events ...Event) {
		t.Helper()
		if diff := cmp.Diff(events, d.told()); diff != "" {
			t.Errorf("%s:\n%s", when, diff)
		}
	}
	a := d.ask(d.joinOf("")).(Joined).MemberID
	b := d.ask(d.joinOf("")).(Joined).MemberID
	want("ids", Event{Kind: GroupCreated})
	joins := []Ticket{d.step(d.joinOf(a)), d.step(d.joinOf(b))}
	want("joins",
		Event{Kind: MemberJoined, Member: ref(a)},
		Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: ref(a), Count: 1},
		Event{Kind: MemberJoined, Member: ref(b)})
	lost := d.ask(d.joinOf("")).(Joined).MemberID // nobody is waited for in the delay
	d.pass(6 * time.Second)
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: lost}}})
	want("the delay is over", Event{Kind: JoinCompleted, Generation: 1, Duration: 6 * time.Second, Count: 2})
	d.pass(2 * time.Second)
	d.syncAll([]string{a, b}, joins)
	want("plan", Event{Kind: AssignmentInstalled, Generation: 1, Member: ref(a), Duration: 2 * time.Second, Count: 2})

	j := d.joinOf(a)
	j.Reason = "topics changed"
	d.step(j)
	leader := ref(a)
	leader.Reason = j.Reason
	want("leader",
		Event{Kind: MemberRejoined, Generation: 1, Member: leader},
		Event{Kind: RebalanceStarted, Generation: 1, Cause: CauseLeaderRejoined, Member: leader, Count: 2})
	d.pass(5 * time.Second)
	d.step(d.joinOf(b))
	want("follower",
		Event{Kind: MemberRejoined, Generation: 1, Member: ref(b)},
		Event{Kind: JoinCompleted, Generation: 2, Member: ref(b), WaitedFor: refs(b), Duration: 5 * time.Second, Count: 2})

	d.pass(time.Second)
	changed := d.joinOf(b)
	changed.Protocols = protocols("range", "sticky")
	d.step(changed)
	want("changed before the plan",
		Event{Kind: MemberRejoined, Generation: 2, Member: ref(b)},
		Event{Kind: RebalanceSuperseded, Generation: 2, Cause: CauseProtocolsChanged, Member: ref(b), Duration: time.Second},
		Event{Kind: RebalanceStarted, Generation: 2, Cause: CauseProtocolsChanged, Member: ref(b), Count: 2})
	// The leader is silent: it is gone after its session, before the deadline.
	d.pass(9 * time.Second)
	want("silence",
		Event{Kind: MemberExpired, Generation: 2, Cause: CauseSessionExpired, Member: leader},
		Event{Kind: JoinCompleted, Generation: 3, Member: leader, WaitedFor: []MemberRef{leader}, Duration: 9 * time.Second, Count: 1})

	d.step(Sync{Version: 3, MemberID: b, Generation: 3})
	d.told()
	bad := d.commitOf(b)
	bad.Generation = 2
	d.ask(bad)
	want("stale commit", Event{Kind: CommitRefused, Generation: 3, Member: ref(b), Code: codeIllegalGeneration})
	d.ask(Leave{Version: 5, Members: []LeavingMember{{MemberID: b, Reason: "done"}}})
	left := ref(b)
	left.Reason = "done"
	want("leave",
		Event{Kind: MemberLeft, Generation: 3, Cause: CauseMemberLeft, Member: left},
		Event{Kind: RebalanceStarted, Generation: 3, Cause: CauseMemberLeft, Member: left},
		Event{Kind: JoinCompleted, Generation: 4, Member: left},
		Event{Kind: GroupEmptied, Generation: 4})
	d.ask(Delete{})
	want("delete", Event{Kind: GroupDeleted, Generation: 4, Cause: CauseOperator})
}

func TestJoinDeadlineNamesTheMissing(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(3)
	static := d.joinOf("")
	static.InstanceID = new("i")
	d.step(static) // rebalance; everyone else joins, and the plan comes
	s := static.NewMemberID
	var joins []Ticket
	for _, id := range ids {
		joins = append(joins, d.step(d.joinOf(id)))
	}
	d.syncAll(ids, joins)
	d.step(Sync{Version: 3, MemberID: s, Generation: 2})
	d.wantState(Stable, 2, 4)
	d.step(d.joinOf(ids[0]))
	d.told()
	for range 12 { // a minute, in which the others are alive but do not join
		for _, id := range []string{ids[1], ids[2], s} {
			d.beat(id)
		}
		d.pass(5 * time.Second)
	}
	static0 := ref(s)
	static0.InstanceID = "i"
	want := []Event{
		{Kind: MemberDropped, Generation: 2, Cause: CauseJoinDeadline, Member: ref(ids[1])},
		{Kind: MemberDropped, Generation: 2, Cause: CauseJoinDeadline, Member: ref(ids[2])},
		{Kind: JoinCompleted, Generation: 3, WaitedFor: append(refs(ids[1], ids[2]), static0), Duration: time.Minute, Count: 2},
	}
	if diff := cmp.Diff(want, d.told()); diff != "" {
		t.Error(diff)
	}
}

func TestNamesOfKindsAndCauses(t *testing.T) {
	seen := map[string]bool{"": true, "unknown": true}
	for k := GroupCreated; k <= EventsLost; k++ {
		if seen[k.String()] {
			t.Errorf("kind %d is called %q", k, k)
		}
		seen[k.String()] = true
	}
	seen = map[string]bool{"": true, "unknown": true}
	for c := CauseMemberJoined; c <= CauseRetention; c++ {
		if seen[c.String()] {
			t.Errorf("cause %d is called %q", c, c)
		}
		seen[c.String()] = true
	}
	if Cause(0).String() != "" || EventKind(200).String() != "unknown" {
		t.Error("no name for what has none")
	}
}
