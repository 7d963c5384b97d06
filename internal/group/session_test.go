package group

import (
	"testing"
	"time"
)

func (d *driver) commitOf(id string) Commit {
	return Commit{
		Version: 8, MemberID: id, Generation: d.g.generation, Retention: -1,
		Offsets: []CommitOffset{{TopicPartition: TopicPartition{"t", 0}, Offset: 7, LeaderEpoch: -1, Timestamp: -1}},
	}
}

func TestStallEvictsNobody(t *testing.T) {
	d := newDriver(t, nil)
	id := d.form(1)[0]
	d.stalled = true
	d.step(d.commitOf(id))
	d.pass(2 * time.Minute)
	d.wantState(Stable, 1, 1)
	d.resume()
	d.pass(10*time.Second - 1)
	d.wantState(Stable, 1, 1)
	d.pass(1)
	d.wantState(Empty, 2, 0)
}

func TestSessionWaitsForTheLastAnswer(t *testing.T) {
	d := newDriver(t, nil)
	id := d.form(1)[0]
	d.stalled = true
	d.step(d.commitOf(id))
	d.step(d.commitOf(id))
	d.release(d.held[0])
	d.held = d.held[1:]
	d.pass(time.Minute)
	d.beat(id) // restarts nothing while an answer is on its way
	d.pass(time.Minute)
	d.wantState(Stable, 1, 1)
	d.resume()
	d.pass(10 * time.Second)
	d.wantState(Empty, 2, 0)
}

func TestPlanThatIsNotDurableHoldsSessions(t *testing.T) {
	d := newDriver(t, nil)
	d.stalled = true
	id := func() string { // as form does, but nobody is released
		t1 := d.step(d.joinOf(""))
		if _, ok := d.answers[t1]; ok {
			t.Fatal("an id is told before the group is durable")
		}
		d.resume()
		id := d.answers[t1].(Joined).MemberID
		j := d.step(d.joinOf(id))
		d.pass(3 * time.Second)
		if d.answers[j].(Joined).Generation != 1 {
			t.Fatal("no generation")
		}
		return id
	}()
	d.stalled = true
	sync := d.step(Sync{Version: 3, MemberID: id, Generation: 1})
	d.wantState(Stable, 1, 1)
	if _, ok := d.answers[sync]; ok {
		t.Fatal("the plan is told before it is durable")
	}
	d.pass(time.Hour)
	d.wantState(Stable, 1, 1)
	d.resume()
	d.pass(10 * time.Second)
	d.wantState(Empty, 2, 0)
}

func TestDeadlinesHoldDuringAStall(t *testing.T) {
	t.Run("join", func(t *testing.T) {
		d := newDriver(t, nil)
		ids := d.form(2)
		d.stalled = true
		d.step(d.commitOf(ids[1]))
		d.step(d.joinOf(ids[0]))
		d.wantState(PreparingRebalance, 1, 2)
		d.pass(time.Minute)
		d.wantState(CompletingRebalance, 2, 1)
		d.resume() // for a member that has gone
	})
	t.Run("sync", func(t *testing.T) {
		d := newDriver(t, nil)
		ids := d.form(2)
		j1, j2 := d.step(d.joinOf(ids[0])), d.step(d.joinOf(ids[1]))
		if d.answers[j1] == nil || d.answers[j2] == nil {
			t.Fatal("no generation")
		}
		d.stalled = true
		d.step(Sync{Version: 3, MemberID: ids[0], Generation: 2})
		d.wantState(Stable, 2, 2)
		d.pass(9 * time.Second)
		d.beat(ids[1])
		for range 6 {
			d.pass(9 * time.Second)
			d.beat(ids[1])
		}
		d.wantState(PreparingRebalance, 2, 1)
	})
	t.Run("new member", func(t *testing.T) {
		d := newDriver(t, nil)
		ids := d.form(1)
		long := d.joinOf(ids[0])
		long.RebalanceTimeout = time.Hour
		d.step(long) // alone: the next generation, with the hour in it
		v3 := d.joinOf("")
		v3.Version = 3
		j := d.step(v3)
		d.wantState(PreparingRebalance, 2, 2)
		d.stalled = true
		d.step(d.commitOf(ids[0]))
		d.pass(5*time.Minute - 1)
		d.wantState(PreparingRebalance, 2, 2)
		d.pass(1)
		d.wantState(PreparingRebalance, 2, 1)
		d.resume()
		if a := d.answers[j].(Joined); a.Code != codeUnknownMemberID || a.MemberID != "" {
			t.Fatalf("after five minutes: %+v", a)
		}
	})
}

func TestForgive(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(2)
	lost := d.ask(d.joinOf("")).(Joined).MemberID // its id has a session too
	d.pass(9 * time.Second)
	late := d.g.joining.by
	if late != never {
		t.Fatal("a join deadline in a stable group")
	}
	// The shard sleeps for 20 s: the sessions are over since 19.
	d.moveTo(d.now.Mono + 20*time.Second)
	d.g.Forgive(d.now, 19*time.Second)
	d.wantState(Stable, 1, 2)
	if d.g.pending[lost] == nil {
		t.Fatal("the id that was handed out is gone")
	}
	d.pass(5 * time.Second)
	d.beat(ids[0])
	d.pass(5*time.Second - 1)
	d.wantState(Stable, 1, 2)
	d.pass(1)
	d.wantState(PreparingRebalance, 1, 1)

	d = newDriver(t, nil)
	ids = d.form(2)
	d.step(d.joinOf(ids[0]))
	by := d.g.joining.by
	d.g.Forgive(d.now, time.Second)
	if d.g.joining.by != by+time.Second {
		t.Fatalf("join deadline %s, was %s", d.g.joining.by, by)
	}
	v3 := d.joinOf("")
	v3.Version = 3
	d.step(v3)
	until := d.g.members[v3.NewMemberID].lease.due
	d.g.Forgive(d.now, time.Second)
	if got := d.g.members[v3.NewMemberID].lease.due; got != until+time.Second {
		t.Fatalf("a new member has until %s, had until %s", got, until)
	}
	d.step(d.joinOf(ids[1]))
	by = d.g.syncing.by
	d.g.Forgive(d.now, time.Second)
	if d.g.syncing.by != by+time.Second || d.g.joining.by != never {
		t.Fatalf("sync deadline %s, was %s", d.g.syncing.by, by)
	}
}

func TestReplyDependencies(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(2)
	one := func(req Request) Reply {
		t.Helper()
		d.ticket++
		fx := d.g.Step(d.now, Offset(len(d.log)), d.ticket, req)
		if len(fx.Replies) != 1 {
			t.Fatalf("%T: %d replies", req, len(fx.Replies))
		}
		r := fx.Replies[0]
		d.open[d.ticket] = true
		d.settle(fx)
		return r
	}
	for _, c := range []struct {
		name    string
		req     Request
		after   Dependency
		session bool
	}{
		{"heartbeat", Heartbeat{MemberID: ids[0], Generation: 1}, DependsNothing, false},
		{"sync", Sync{Version: 3, MemberID: ids[0], Generation: 1}, DependsGroup, true},
		{"refused sync", Sync{Version: 3, MemberID: ids[0], Generation: 9}, DependsNothing, false},
		{"commit", d.commitOf(ids[0]), DependsStep, true},
		{"empty commit", Commit{Version: 8, MemberID: ids[0], Generation: 1}, DependsStep, false},
		{"fetch", FetchOffsets{All: true}, DependsGroup, false},
		{"describe", Describe{}, DependsGroup, false},
		{"delete offsets", DeleteOffsets{}, DependsStep, false},
		{"delete", Delete{}, DependsStep, false},
		{"forget", ForgetTopic{}, DependsStep, false},
		{"new id", d.joinOf(""), DependsStep, false},
		{"join again", d.joinOf(ids[1]), DependsStep, false},
		{"leave", Leave{Version: 3, Members: []LeavingMember{{MemberID: "m3"}}}, DependsStep, false},
	} {
		if r := one(c.req); r.After != c.after || r.Session != c.session {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	for _, id := range ids {
		d.step(d.joinOf(id))
	}
	_, pending := d.g.Deadline()
	if !pending {
		t.Fatal("nothing is due")
	}
}
