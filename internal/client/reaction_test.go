package client

import (
	"errors"
	"testing"
	"time"
)

// TestJoinReactions goes through the codes of a JoinGroup's answer.
func TestJoinReactions(t *testing.T) {
	for _, tt := range []struct {
		code                int16
		thrown, find, pause bool
		id                  string
	}{
		{code: codeUnknownMemberID},
		{code: codeRebalanceInProgress, id: "m1"},
		{code: codeCoordinatorLoadInProgress, id: "m1", pause: true},
		{code: codeCoordinatorNotAvailable, id: "m1", pause: true, find: true},
		{code: codeNotCoordinator, id: "m1", pause: true, find: true},
		{code: codeFencedInstanceID, thrown: true, id: "m1"},
		{code: codeInconsistentGroupProtocol, thrown: true, id: "m1"},
		{code: codeIllegalGeneration, thrown: true, id: "m1"},
		{code: -1, thrown: true, id: "m1"},
	} {
		r := newRig(t, Config{})
		r.stable(t0)
		r.beat(codeRebalanceInProgress)
		r.poll()
		_, id := take[Join](r)
		r.answer(id, Joined{Code: tt.code})
		if tt.thrown {
			r.wantThrow("JoinGroup", tt.code)
		}
		r.poll()
		if tt.find {
			_, id := take[FindCoordinator](r)
			r.answer(id, Found{})
			r.poll()
		}
		if has[Join](r) == tt.pause {
			t.Errorf("code %d: joins at once: %t", tt.code, has[Join](r))
		}
		r.pass(time.Second)
		if j := r.join(2); j.MemberID != tt.id {
			t.Errorf("code %d: joins as %q", tt.code, j.MemberID)
		}
	}
}

func TestSyncReactions(t *testing.T) {
	for _, tt := range []struct {
		code                int16
		thrown, find, pause bool
		id                  string
	}{
		{code: codeUnknownMemberID},
		{code: codeIllegalGeneration, id: "m1"},
		{code: codeRebalanceInProgress, id: "m1"},
		{code: codeNotCoordinator, id: "m1", pause: true, find: true},
		{code: codeCoordinatorLoadInProgress, thrown: true, id: "m1"},
		{code: codeFencedInstanceID, thrown: true, id: "m1"},
	} {
		r := newRig(t, Config{})
		r.find()
		r.join(1)
		_, id := take[Sync](r)
		r.answer(id, Synced{Code: tt.code})
		if tt.thrown {
			r.wantThrow("SyncGroup", tt.code)
		}
		r.poll()
		if tt.find {
			_, id := take[FindCoordinator](r)
			r.answer(id, Found{})
			r.poll()
		}
		if has[Join](r) == tt.pause {
			t.Errorf("code %d: joins at once: %t", tt.code, has[Join](r))
		}
		r.pass(time.Second)
		if j := r.join(2); j.MemberID != tt.id {
			t.Errorf("code %d: joins as %q", tt.code, j.MemberID)
		}
		r.wantCalls()
	}
}

func TestHeartbeatReactions(t *testing.T) {
	// An answer to what the member no longer is changes nothing.
	r := newRig(t, Config{})
	r.stable(t0)
	for !has[Heartbeat](r) {
		r.pass(time.Second)
	}
	_, old := take[Heartbeat](r)
	r.m.requestRejoin("test")
	r.join(2)
	r.answer(old, Beat{Code: codeUnknownMemberID})
	r.sync(t0)
	if g := r.m.Generation(); g.ID != 2 || !r.m.Settled() {
		t.Errorf("generation %+v", g)
	}
	// An unknown error is retried soon.
	before := r.now
	r.beat(42)
	first := r.now
	r.beat(0)
	if r.now-first > time.Second || first-before < 2*time.Second {
		t.Errorf("heartbeats at %s, %s after %s", first, r.now, before)
	}
	// A rebalance that is over for the coordinator while the member still syncs.
	r.m.requestRejoin("test")
	r.join(3)
	r.beat(codeIllegalGeneration)
	_, id := take[Sync](r)
	r.answer(id, Synced{Assignment: plan(t1)})
	r.calls = nil
	if j := r.join(4); j.MemberID != "m1" {
		t.Errorf("joins as %q", j.MemberID)
	}
	r.wantCalls() // nothing is owned
}

func TestSilentCoordinatorIsLeft(t *testing.T) {
	r := newRig(t, Config{RequestTimeout: time.Hour})
	r.stable(t0)
	r.pass(46 * time.Second)
	if r.drops != 1 || !has[FindCoordinator](r) || r.m.Generation().ID != 1 {
		t.Errorf("%d drops, sent %+v", r.drops, r.sent)
	}
}

func TestCommitReactions(t *testing.T) {
	type want struct {
		err        error
		retries    bool
		find       bool
		generation int32
		id         string
	}
	for code, w := range map[int16]want{
		codeNone:                      {generation: 1, id: "m1"},
		codeCoordinatorLoadInProgress: {retries: true, generation: 1, id: "m1"},
		codeUnknownTopicOrPartition:   {retries: true, generation: 1, id: "m1"},
		codeNotCoordinator:            {retries: true, find: true, generation: 1, id: "m1"},
		codeRequestTimedOut:           {retries: true, find: true, generation: 1, id: "m1"},
		codeRebalanceInProgress:       {err: ErrRebalanceInProgress, generation: 1, id: "m1"},
		codeUnknownMemberID:           {err: ErrCommitFailed, generation: -1},
		codeIllegalGeneration:         {err: ErrCommitFailed, generation: -1, id: "m1"},
		12:                            {err: &CodeError{"OffsetCommit", 12}, generation: 1, id: "m1"},
		codeTopicAuthorizationFailed:  {err: &CodeError{"OffsetCommit", codeTopicAuthorizationFailed}, generation: 1, id: "m1"},
	} {
		r := newRig(t, Config{})
		r.stable(t0, t1)
		op := r.m.Commit(r.now, []Offset{{Partition: t0}, {Partition: t1}}, 10*time.Second)
		r.do()
		_, id := take[Commit](r)
		r.answer(id, Committed{Codes: []int16{0, code}})
		res, over := r.commits[op]
		if over == w.retries || over && (res.Err == nil) != (w.err == nil) || w.err != nil && res.Err.Error() != w.err.Error() {
			t.Errorf("code %d: %+v", code, res)
		}
		if g := r.m.Generation(); g.ID != w.generation || g.MemberID != w.id {
			t.Errorf("code %d: generation %+v", code, g)
		}
		if !w.retries {
			continue
		}
		r.pass(time.Second)
		if w.find {
			_, id := take[FindCoordinator](r)
			r.answer(id, Found{})
			r.pass(time.Second)
		}
		take[Commit](r)
		r.m.Disconnected(r.now, false)
		r.pass(10 * time.Second)
		if res := r.commits[op]; !errors.Is(res.Err, ErrTimeout) || !res.Unknown {
			t.Errorf("code %d: at the end %+v", code, res)
		}
	}
}

func TestCommitWhileJoiningIsRefusedHere(t *testing.T) {
	r := newRig(t, Config{})
	if op := r.m.Commit(r.now, nil, 0); !errors.Is(r.m.Take().Commits[0].Err, ErrCommitFailed) || op == 0 {
		t.Error("before the first join")
	}
	r.find()
	r.m.Commit(r.now, nil, 0)
	if got := r.m.Take().Commits; len(got) != 1 || !errors.Is(got[0].Err, ErrRebalanceInProgress) {
		t.Errorf("while joining: %+v", got)
	}
	// Without a subscription commits come from nobody.
	r = newRig(t, Config{})
	r.m.Subscribe(0, nil)
	op := r.m.Commit(0, []Offset{{Partition: t0}}, 0)
	r.do()
	_, id := take[FindCoordinator](r)
	r.answer(id, Found{})
	r.pass(0)
	c, id := take[Commit](r)
	r.answer(id, Committed{Codes: []int16{0}})
	if res, ok := r.commits[op]; c.Generation != -1 || c.MemberID != "" || !ok || res.Err != nil {
		t.Errorf("%+v, %+v", c, r.commits)
	}
}

func TestAutoCommit(t *testing.T) {
	r := newRig(t, Config{AutoCommit: true})
	r.stable(t0)
	r.m.Consumed(r.now, Offset{Partition: t0, Offset: 3})
	r.m.Consumed(r.now, Offset{Partition: t1, Offset: 3}) // not its own
	r.pass(6 * time.Second)
	for has[Heartbeat](r) {
		take[Heartbeat](r)
	}
	r.poll()
	c, id := take[Commit](r)
	if len(c.Offsets) != 1 || c.Offsets[0].Offset != 3 {
		t.Errorf("commit %+v", c)
	}
	r.m.Consumed(r.now, Offset{Partition: t0, Offset: 4})
	r.answer(id, Committed{Codes: []int16{0}})
	// Before a rebalance what is left is committed, however often it takes.
	r.m.requestRejoin("test")
	r.poll()
	if has[Join](r) {
		t.Error("joins before the commit")
	}
	_, id = take[Commit](r)
	r.answer(id, Committed{Codes: []int16{codeCoordinatorLoadInProgress}})
	r.pass(time.Second)
	r.poll()
	c, id = take[Commit](r)
	if c.Offsets[0].Offset != 4 || c.Generation != 1 || has[Join](r) {
		t.Errorf("commit %+v", c)
	}
	r.answer(id, Committed{Codes: []int16{0}})
	r.join(2)
	r.wantCalls("revoked(t0)")
	r.sync(t0)
	// And before it closes.
	r.m.Consumed(r.now, Offset{Partition: t0, Offset: 9})
	r.m.Close(r.now, LeaveDefault, time.Minute)
	r.do()
	_, id = take[Commit](r)
	r.answer(id, Committed{Codes: []int16{0}})
	_, id = take[Leave](r)
	if r.m.Closed() {
		t.Error("closed before the answer")
	}
	r.answer(id, Left{})
	r.wantCalls("assigned(t0)", "revoked(t0)")
	if !r.m.Closed() {
		t.Error("not closed")
	}
}

func TestFetchReactions(t *testing.T) {
	for code, retries := range map[int16]bool{0: false, 14: true, 15: true, 16: true, 30: false, 88: true, 3: false} {
		r := newRig(t, Config{})
		r.stable(t0)
		op := r.m.Fetch(r.now, []Partition{t0})
		r.do()
		_, id := take[Fetch](r)
		a := Fetched{Code: code, Offsets: []Offset{{Partition: t0, Offset: 7}}}
		if code == 88 || code == 3 {
			a.Code, a.Codes = 0, []int16{code}
		}
		r.answer(id, a)
		res, over := r.fetches[op]
		if over == retries || over && (res.Err == nil) != (code == 0) {
			t.Errorf("code %d: %+v", code, res)
		}
	}
}

func TestSubscriptionDecides(t *testing.T) {
	r := newRig(t, Config{Assignors: sticky})
	r.m.Subscribe(0, []string{"t", "u"})
	r.stable(t0, t1, u0)
	// Partitions of a topic that is dropped go before the join, others stay.
	r.m.Subscribe(r.now, []string{"t"})
	r.join(2)
	r.wantCalls("revoked(u0)")
	if got := names(r.m.Owned()); got != "(t0 t1)" {
		t.Errorf("owned %s", got)
	}
	// An assignment of another subscription is not taken.
	r.sync(t0, u0)
	r.wantCalls()
	r.join(3)
	r.sync(t0)
	r.wantCalls("revoked(t1)", "assigned()")
	r.join(4)
	r.sync(t0)
	r.wantCalls("assigned()")
	// Without a subscription the member leaves and falls silent.
	r.m.Unsubscribe(r.now)
	r.do()
	take[Leave](r)
	r.wantCalls("revoked(t0)")
	r.poll()
	if len(r.sent) > 0 {
		t.Errorf("sent %+v", r.sent)
	}
	r.m.Subscribe(r.now, []string{"t"})
	if j := r.join(5); j.MemberID != "" {
		t.Errorf("joins as %q", j.MemberID)
	}
}

func TestShortAssignmentIsThrown(t *testing.T) {
	r := newRig(t, Config{})
	r.find()
	r.join(1)
	_, id := take[Sync](r)
	r.answer(id, Synced{})
	r.poll()
	if len(r.throws) != 1 || !errors.Is(r.throws[0], ErrShortAssignment) {
		t.Errorf("thrown %v", r.throws)
	}
}

// TestOneJoinAtATime: a member that unsubscribes while it joins, and subscribes
// again, waits for the answer before it joins anew. With two on their way each
// answer would undo the other's round for ever.
func TestOneJoinAtATime(t *testing.T) {
	r := newRig(t, Config{})
	r.stable(t0)
	r.beat(codeRebalanceInProgress)
	r.poll()
	_, id := take[Join](r)
	r.m.Unsubscribe(r.now)
	r.m.Subscribe(r.now, []string{"t"})
	r.do()
	r.poll()
	if has[Join](r) {
		t.Error("a second JoinGroup is on its way")
	}
	r.answer(id, Joined{Generation: 2, Protocol: "range", Leader: "other", MemberID: "m1"})
	r.join(3)
	r.sync(t0)
	if !r.m.Settled() {
		t.Errorf("state %s", r.m.State())
	}
}
