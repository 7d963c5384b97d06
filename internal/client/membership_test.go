package client

import (
	"errors"
	"testing"
	"time"

	"rota/internal/schema"
)

// The tests F1 to F13 of the client specification, in its order.

func TestF1CallbacksRunOncePerRebalance(t *testing.T) {
	r := newRig(t, Config{})
	r.find()
	j, id := take[Join](r)
	if j.MemberID != "" || j.RebalanceTimeout != 5*time.Minute || j.SessionTimeout != 45*time.Second || j.ProtocolType != "consumer" {
		t.Errorf("first join %+v", j)
	}
	r.answer(id, Joined{Code: codeMemberIDRequired, MemberID: "m1"})
	r.poll()
	if j = r.join(1); j.MemberID != "m1" {
		t.Errorf("second join as %q", j.MemberID)
	}
	s, id := take[Sync](r)
	if s.Generation != 1 || s.MemberID != "m1" || len(s.Assignments) != 0 {
		t.Errorf("sync %+v", s)
	}
	r.answer(id, Synced{Code: codeRebalanceInProgress})
	if j = r.join(2); j.MemberID != "m1" {
		t.Errorf("third join as %q", j.MemberID)
	}
	r.sync(t0)
	r.wantCalls("assigned(t0)")
	if r.count(NoticePrepare) != 1 || r.count(NoticeComplete) != 1 || !r.m.Settled() {
		t.Errorf("notices %v", r.notices)
	}
}

func TestF2UnknownMemberLosesItsPartitions(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0, t1)
	r.beat(codeUnknownMemberID)
	r.wantCalls() // not before the application polls
	if j := r.join(2); j.MemberID != "" {
		t.Errorf("joins as %q", j.MemberID)
	}
	r.wantCalls("lost(t0 t1)")
}

func TestF3IllegalGenerationKeepsTheID(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0)
	r.beat(codeIllegalGeneration)
	if g := r.m.Generation(); g != (Generation{ID: -1, MemberID: "m1"}) {
		t.Errorf("generation %+v", g)
	}
	if j := r.join(2); j.MemberID != "m1" {
		t.Errorf("joins as %q", j.MemberID)
	}
	r.wantCalls("lost(t0)")
}

func TestF4HeartbeatsGoOnUntilThePoll(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0)
	for range 5 {
		if h := r.beat(codeRebalanceInProgress); h.Generation != 1 || h.MemberID != "m1" {
			t.Errorf("heartbeat %+v", h)
		}
	}
	if has[Join](r) || len(r.calls) > 0 {
		t.Error("joins before the application polls")
	}
	r.join(2)
	r.wantCalls("revoked(t0)")
	r.pass(4 * time.Second) // a heartbeat in Completing names the new generation
	if h, _ := take[Heartbeat](r); h.Generation != 2 {
		t.Errorf("heartbeat %+v", h)
	}
}

func TestF5CommitInARebalanceAsksForAJoin(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0)
	op := r.m.Commit(r.now, []Offset{{Partition: t0, Offset: 5}}, time.Minute)
	r.do()
	c, id := take[Commit](r)
	if c.Generation != 1 || c.MemberID != "m1" {
		t.Errorf("commit %+v", c)
	}
	r.answer(id, Committed{Codes: []int16{codeRebalanceInProgress}})
	if !errors.Is(r.commits[op].Err, ErrRebalanceInProgress) || r.m.Generation().ID != 1 || r.m.Settled() {
		t.Errorf("%+v, %+v", r.commits[op], r.m.Generation())
	}
	r.join(2)
	r.wantCalls("revoked(t0)")
}

func TestF6EagerRebalanceTakesAllAndGivesAll(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0, t1)
	r.beat(codeRebalanceInProgress)
	// A commit from the revoked callback goes out with the old generation.
	var op OpID
	r.inCall = func() { op = r.m.Commit(r.now, []Offset{{Partition: t0, Offset: 5}}, 0) }
	r.poll()
	c, id := take[Commit](r)
	if c.Generation != 1 {
		t.Errorf("commit %+v", c)
	}
	r.answer(id, Committed{Codes: []int16{0}})
	if res, ok := r.commits[op]; !ok || res.Err != nil {
		t.Errorf("commit: %+v", res)
	}
	j := r.join(2)
	if s, err := schema.ParseSubscription(j.Protocols[0].Metadata); err != nil || len(s.Owned) != 0 || s.Generation != 1 {
		t.Errorf("subscription %+v, %v", s, err)
	}
	r.sync(t0, t1)
	r.wantCalls("revoked(t0 t1)", "assigned(t0 t1)")
}

// pair is a leader and a follower with a coordinator that does as it should.
type pair struct {
	t          *testing.T
	a, b       *rig
	generation int32
}

// rebalance plays one generation: both join, a leads.
func (p *pair) rebalance() {
	p.t.Helper()
	p.generation++
	ids := []string{"a", "b"}
	var members []JoinedMember
	var joins []RequestID
	for i, r := range []*rig{p.a, p.b} {
		r.poll()
		j, id := take[Join](r)
		joins = append(joins, id)
		members = append(members, JoinedMember{MemberID: ids[i], Metadata: j.Protocols[0].Metadata})
	}
	for i, r := range []*rig{p.a, p.b} {
		a := Joined{Generation: p.generation, Protocol: "cooperative-sticky", Leader: "a", MemberID: ids[i]}
		if i == 0 {
			a.Members = members
		}
		r.answer(joins[i], a)
	}
	plan := map[string][]byte{}
	for i, r := range []*rig{p.a, p.b} {
		s, id := take[Sync](r)
		for _, x := range s.Assignments {
			plan[x.MemberID] = x.Data
		}
		r.answer(id, Synced{Assignment: plan[ids[i]]})
		r.poll()
	}
}

func TestF7PartitionMovesInTwoGenerations(t *testing.T) {
	a := newRig(t, Config{Assignors: sticky})
	a.stable(t0, t1)
	b := newRig(t, Config{Assignors: sticky})
	b.find()
	p := pair{t: t, a: a, b: b, generation: 1}
	a.beat(codeRebalanceInProgress)
	p.rebalance()
	a.wantCalls("revoked(t1)", "assigned()")
	b.wantCalls("assigned()")
	if b.m.mustRejoin() || a.m.Settled() {
		t.Error("who has given up partitions joins again, the other waits to be told")
	}
	b.beat(codeRebalanceInProgress)
	p.rebalance()
	a.wantCalls("assigned()")
	b.wantCalls("assigned(t1)")
	if !a.m.Settled() || !b.m.Settled() {
		t.Error("not settled")
	}
}

func TestF8CoordinatorMovesUnnoticed(t *testing.T) {
	for _, lost := range []bool{false, true} {
		r := newRig(t, Config{})
		r.stable(t0)
		if lost {
			r.m.Disconnected(r.now, false)
			r.do()
		} else {
			r.beat(codeNotCoordinator)
		}
		r.pass(time.Second)
		_, id := take[FindCoordinator](r)
		r.answer(id, Found{Address: "there:1"})
		if h := r.beat(codeNone); h.Generation != 1 {
			t.Errorf("heartbeat %+v", h)
		}
		r.poll()
		r.wantCalls()
		if at, _ := r.m.Address(); at != "there:1" || !r.m.Settled() {
			t.Errorf("coordinator %q", at)
		}
	}
}

func TestF9ParkedJoinIsWaitedFor(t *testing.T) {
	r := newRig(t, Config{PollInterval: time.Minute})
	r.find()
	r.pass(65*time.Second - 1)
	if r.drops != 0 || len(r.sent) != 1 {
		t.Fatalf("%d drops, %+v", r.drops, r.sent)
	}
	r.pass(1)
	if r.drops != 1 || has[Join](r) {
		t.Errorf("%d drops, %+v", r.drops, r.sent)
	}
	r.pass(time.Second)
	r.poll()
	_, id := take[FindCoordinator](r)
	r.answer(id, Found{})
	r.join(1)
}

func TestF10ApplicationStopsPolling(t *testing.T) {
	for _, id := range []*string{nil, new("i")} {
		r := newRig(t, Config{InstanceID: id, PollInterval: 10 * time.Second, SessionTimeout: 45 * time.Second})
		r.stable(t0)
		for r.now < 20*time.Second {
			r.pass(time.Second)
			for has[Heartbeat](r) {
				_, id := take[Heartbeat](r)
				r.answer(id, Beat{})
			}
		}
		if has[Leave](r) != (id == nil) {
			t.Errorf("static %t: leave %t", id != nil, has[Leave](r))
		}
		if at, ok := r.m.Deadline(); r.m.beats() || ok && at < r.now {
			t.Error("heartbeats go on")
		}
		if j := r.join(2); j.MemberID != "" {
			t.Errorf("joins as %q", j.MemberID)
		}
		r.wantCalls("lost(t0)")
	}
}

func TestF11StaticMemberStaysWhenItCloses(t *testing.T) {
	r := newRig(t, Config{InstanceID: new("i")})
	r.stable(t0)
	r.m.Close(r.now, LeaveDefault, time.Second)
	r.do()
	r.wantCalls("revoked(t0)")
	if !r.m.Closed() || has[Leave](r) {
		t.Errorf("closed %t, sent %+v", r.m.Closed(), r.sent)
	}
	// Its successor leads, and is told not to plan (KIP-814).
	next := newRig(t, Config{InstanceID: new("i")})
	next.find()
	j, id := take[Join](next)
	if j.MemberID != "" || *j.InstanceID != "i" {
		t.Errorf("join %+v", j)
	}
	metadata := j.Protocols[0].Metadata
	next.answer(id, Joined{Generation: 1, Protocol: "range", Leader: "m2", MemberID: "m2", SkipAssignment: true, Members: []JoinedMember{{"m2", "i", metadata}}})
	if s := next.sent[0].Request.(Sync); len(s.Assignments) != 0 {
		t.Errorf("sync %+v", s)
	}
	next.sync(t0)
	next.wantCalls("assigned(t0)")
	next.m.Metadata(next.now, map[string]int32{"t": 3})
	next.poll()
	if !has[Join](next) {
		t.Error("it does not watch the topics")
	}
}

func TestF12FencedMemberDies(t *testing.T) {
	r := newRig(t, Config{InstanceID: new("i")})
	r.stable(t0)
	r.beat(codeFencedInstanceID)
	r.pass(time.Minute)
	if len(r.sent) > 0 {
		t.Errorf("sent %+v", r.sent)
	}
	r.wantThrow("Heartbeat", codeFencedInstanceID)
}

func TestF13FailedListenerIsNotCalledAgain(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0)
	r.beat(codeRebalanceInProgress)
	broken := errors.New("broken")
	r.fail = broken
	r.poll()
	r.wantCalls("revoked(t0)")
	if len(r.throws) != 1 || !errors.Is(r.throws[0], broken) || has[Join](r) {
		t.Fatalf("thrown %v, sent %+v", r.throws, r.sent)
	}
	r.join(2)
	r.wantCalls()
	// In the assigned callback: again, with the same assignment and no request.
	r.throws, r.fail = nil, broken
	r.sync(t1)
	r.wantCalls("assigned(t1)")
	if len(r.throws) != 1 || r.m.Settled() {
		t.Errorf("thrown %v", r.throws)
	}
	r.poll()
	r.wantCalls("assigned()")
	if !r.m.Settled() || len(r.sent) > 0 {
		t.Errorf("sent %+v", r.sent)
	}
}
