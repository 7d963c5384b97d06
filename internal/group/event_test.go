package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/schema"
)

// told is what the history would keep of the last events.
func (d *driver) told() []Event {
	events := d.events
	d.events = nil
	last := int64(wallOrigin)
	for i := range events {
		e := &events[i]
		if e.At < last || e.At > d.now.Wall {
			d.tb.Errorf("%s is said to have been at %d", e.Kind, e.At)
		}
		last, e.At = e.At, 0
		if e.Kind == AssignmentInstalled {
			if e.After == nil || e.After.Generation != e.Generation || e.Before != nil && e.Before.Generation >= e.Generation {
				d.tb.Errorf("the records before and after the assignment of generation %d: %+v, %+v", e.Generation, e.Before, e.After)
			}
			e.Before, e.After = nil, nil
		}
	}
	return events
}

func waited(id string, took time.Duration, how Outcome) Waited {
	return Waited{MemberRef: ref(id), Took: took, Outcome: how}
}

func ref(id string) MemberRef {
	return MemberRef{ID: id, ClientID: "c", ClientHost: "/127.0.0.1"}
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
		Event{Kind: MemberJoined, Member: ref(a), Timeout: 10 * time.Second},
		Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: ref(a), Timeout: time.Minute, Initial: true, Count: 1},
		Event{Kind: MemberJoined, Member: ref(b), Timeout: 10 * time.Second})
	lost := d.ask(d.joinOf("")).(Joined).MemberID // nobody is waited for in the delay
	d.pass(6 * time.Second)
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: lost}}})
	want("the delay is over", Event{Kind: JoinCompleted, Generation: 1, Duration: 6 * time.Second, Initial: true, ProtocolType: "consumer", Protocol: "range", Count: 2})
	d.pass(2 * time.Second)
	d.syncAll([]string{a, b}, joins)
	want("plan", Event{Kind: AssignmentInstalled, Generation: 1, Member: ref(a), Duration: 2 * time.Second, ProtocolType: "consumer", Protocol: "range", Count: 2})

	j := d.joinOf(a)
	j.Reason = "topics changed"
	d.step(j)
	leader := ref(a)
	leader.Reason = j.Reason
	want("leader",
		Event{Kind: MemberRejoined, Generation: 1, Member: leader},
		Event{Kind: RebalanceStarted, Generation: 1, Cause: CauseLeaderRejoined, Member: leader, Timeout: time.Minute, Count: 2})
	d.pass(5 * time.Second)
	d.step(d.joinOf(b))
	want("follower",
		Event{Kind: MemberRejoined, Generation: 1, Member: ref(b)},
		Event{Kind: JoinCompleted, Generation: 2, Member: ref(b), WaitedFor: []Waited{waited(b, 5*time.Second, OutcomeJoined)}, Duration: 5 * time.Second, Count: 2, ProtocolType: "consumer", Protocol: "range"})

	d.pass(time.Second)
	changed := d.joinOf(b)
	changed.Protocols = protocols("range", "sticky")
	d.step(changed)
	want("changed before the plan",
		Event{Kind: MemberRejoined, Generation: 2, Member: ref(b)},
		Event{Kind: RebalanceSuperseded, Generation: 2, Cause: CauseProtocolsChanged, Member: ref(b), Duration: time.Second},
		Event{
			Kind: RebalanceStarted, Generation: 2, Cause: CauseProtocolsChanged, Member: ref(b), Timeout: time.Minute,
			OldProtocols: protocols("range"), NewProtocols: changed.Protocols, Count: 2,
		})
	// The leader is silent: it is gone after its session, before the deadline.
	d.pass(9 * time.Second)
	want("silence",
		Event{Kind: MemberExpired, Generation: 2, Cause: CauseSessionExpired, Member: leader, Timeout: 10 * time.Second, Silent: 10 * time.Second},
		Event{Kind: JoinCompleted, Generation: 3, Member: leader, WaitedFor: []Waited{{leader, 9 * time.Second, OutcomeExpired}}, Duration: 9 * time.Second, Count: 1, ProtocolType: "consumer", Protocol: "range"})

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
		{Kind: MemberDropped, Generation: 2, Cause: CauseJoinDeadline, Member: ref(ids[1]), Timeout: time.Minute, Silent: 5 * time.Second},
		{Kind: MemberDropped, Generation: 2, Cause: CauseJoinDeadline, Member: ref(ids[2]), Timeout: time.Minute, Silent: 5 * time.Second},
		{Kind: JoinCompleted, Generation: 3, WaitedFor: []Waited{waited(ids[1], time.Minute, OutcomeDropped), waited(ids[2], time.Minute, OutcomeDropped), {static0, time.Minute, OutcomeAbsent}}, Duration: time.Minute, ProtocolType: "consumer", Protocol: "range", Count: 2},
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
	seen = map[string]bool{"": true, "unknown": true}
	for o := OutcomeJoined; o <= OutcomeRefused; o++ {
		if seen[o.String()] {
			t.Errorf("outcome %d is called %q", o, o)
		}
		seen[o.String()] = true
	}
	if Cause(0).String() != "" || EventKind(200).String() != "unknown" {
		t.Error("no name for what has none")
	}
}

func TestWaitsAreTold(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(4)
	d.told()
	d.step(d.joinOf(ids[0])) // the leader: a rebalance
	d.pass(time.Second)
	d.step(d.joinOf(ids[1]))
	d.pass(time.Second)
	d.step(d.joinOf(ids[1])) // again: it is waited for no longer
	fresh := d.ask(d.joinOf("")).(Joined).MemberID
	lost := d.ask(d.joinOf("")).(Joined).MemberID
	d.pass(time.Second)
	d.step(d.joinOf(fresh))
	d.ask(Leave{Version: 5, Members: []LeavingMember{{MemberID: ids[2]}}})
	d.pass(6 * time.Second)
	d.beat(ids[3])
	d.pass(3 * time.Second) // lost has had its 10 s
	d.pass(time.Second)
	d.step(d.joinOf(ids[3]))
	var got []Event
	for _, e := range d.told() {
		if e.Kind == JoinCompleted {
			got = append(got, e)
		}
	}
	want := []Event{{
		Kind: JoinCompleted, Generation: 2, Member: ref(ids[3]), Duration: 13 * time.Second, ProtocolType: "consumer", Protocol: "range", Count: 4,
		WaitedFor: []Waited{
			waited(ids[1], time.Second, OutcomeJoined), waited(fresh, time.Second, OutcomeJoined), waited(ids[2], 3*time.Second, OutcomeLeft),
			waited(lost, 10*time.Second, OutcomeExpired), waited(ids[3], 13*time.Second, OutcomeJoined),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLongestWaitsAreTold(t *testing.T) {
	const n = 2*maxWaited + 51
	d := newDriver(t, nil)
	ids := d.form(n)
	d.told()
	d.step(d.joinOf(ids[0]))
	d.pass(time.Second)
	for _, id := range ids[1:] {
		d.step(d.joinOf(id))
	}
	events := d.told()
	e := events[len(events)-1]
	if e.Kind != JoinCompleted || len(e.WaitedFor) != maxWaited || e.WaitedForMore != n-1-maxWaited || e.WaitedFor[maxWaited-1].ID != ids[n-1] {
		t.Errorf("%s: %d are told and %d left out", e.Kind, len(e.WaitedFor), e.WaitedForMore)
	}
}

func TestShortEventsHoldOnToNothing(t *testing.T) {
	e := Event{Kind: JoinCompleted, WaitedFor: []Waited{{}}, OldProtocols: protocols("a"), NewProtocols: protocols("b"), Before: &schema.GroupValue{}, After: &schema.GroupValue{}}
	e.Shorten()
	if diff := cmp.Diff(Event{Kind: JoinCompleted}, e); diff != "" {
		t.Error(diff)
	}
}
