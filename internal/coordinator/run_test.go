package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
)

// A commit does not wait for the one before it to be durable.
func TestAppendsArePipelined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		r.log.set(func(l *fakeLog) { l.hold = true })
		for i := range 3 {
			r.submit(fmt.Sprint("commit", i), "g", commit(int64(i)))
		}
		r.submit("fetch", "g", fetch())
		r.expect()
		if n := r.log.inFlight(); n != 3 {
			t.Fatalf("%d appends in flight, want 3", n)
		}
		r.log.land(1)
		r.expect("commit0 0", "g group-created")
		r.log.landReversed()
		r.expect("commit1 0", "commit2 0", "fetch at 2")
	})
}

func TestMemberLivesAndDies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("g", 10*time.Second)
		for range 10 {
			time.Sleep(9 * time.Second)
			r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation})
			r.expect("beat 0")
		}
		time.Sleep(10*time.Second - time.Millisecond)
		if got := r.state("g"); got != "Stable" {
			t.Errorf("group is %s before the session is over", got)
		}
		time.Sleep(time.Millisecond)
		if got := r.state("g"); got != "Empty" {
			t.Errorf("group is %s after the session is over", got)
		}
	})
}

func TestStallOfTheLogEvictsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("g", 10*time.Second)
		r.log.set(func(l *fakeLog) { l.hold = true })
		c := commit(5)
		c.MemberID, c.Generation = member, generation
		r.submit("commit", "g", c)
		time.Sleep(12 * time.Second)
		r.expect()
		r.log.land(1)
		r.expect("commit 0")
		time.Sleep(10*time.Second - time.Millisecond)
		if got := r.state("g"); got != "Stable" {
			t.Errorf("group is %s", got)
		}
		r.log.set(func(l *fakeLog) { l.hold = false })
		time.Sleep(time.Millisecond)
		if got := r.state("g"); got != "Empty" {
			t.Errorf("group is %s: the session did not begin with the release", got)
		}
	})
}

// A process that was stopped finds its deadlines long overdue.
func TestStoppedProcessEvictsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var slept time.Duration
		var mu sync.Mutex
		r := serving(t, func(c *rigConfig) {
			clock := processClock()
			c.Now = func() group.Now {
				mu.Lock()
				defer mu.Unlock()
				now := clock()
				return group.Now{Mono: now.Mono + slept, Wall: now.Wall + slept.Milliseconds()}
			}
		})
		r.form("g", 10*time.Second)
		mu.Lock()
		slept = time.Hour
		mu.Unlock()
		time.Sleep(10 * time.Second) // the timer runs out, an hour late
		if got := r.state("g"); got != "Stable" {
			t.Fatalf("group is %s", got)
		}
		time.Sleep(10 * time.Second)
		if got := r.state("g"); got != "Empty" {
			t.Errorf("group is %s", got)
		}
	})
}

// T36, T40, P16, P19: what waits is answered with NOT_COORDINATOR, and the
// group is what its log says.
func TestFailedAppendLoadsTheShardAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("g", 10*time.Second)
		r.submit("before", "other", commit(1))
		r.expect("before 0", "other group-created")
		r.log.set(func(l *fakeLog) { l.hold = true })
		second := join("", 10*time.Second)
		second.Version = 3
		r.submit("join", "g", second)
		r.submit("commit", "other", commit(2))
		r.submit("again", "other", commit(3))
		r.submit("fetch", "other", fetch())
		r.expect("g member-joined", "g rebalance-started")
		r.log.set(func(l *fakeLog) { l.hold = false })
		r.log.fail()
		r.expect("commit 16", "again 16", "fetch 16", "join 16",
			"g group-unloaded", "other group-unloaded", "g group-loaded", "other group-loaded")
		if len(r.log.epochs) != 2 || r.log.epochs[1] <= r.log.epochs[0] {
			t.Errorf("leader epochs %v", r.log.epochs)
		}
		r.submit("fetch", "other", fetch())
		r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation})
		r.submit("commit", "other", commit(4))
		r.expect("fetch at 1", "beat 0", "commit 0")
	})
}

func TestWriterThatRefusesEndsTheShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		for i, refusal := range []error{storage.ErrFenced, storage.ErrFull} {
			r.log.set(func(l *fakeLog) { l.refuse = refusal })
			r.submit("commit", "g", commit(1))
			r.log.set(func(l *fakeLog) { l.refuse = nil })
			synctest.Wait()
			r.submit("again", "other", commit(1))
			synctest.Wait()
			if first, again := outcome(r.last["commit"]), outcome(r.last["again"]); first != "16" || again != "0" {
				t.Errorf("%d: answers %s and, after the reload, %s", i, first, again)
			}
			r.clear()
		}
		r.log.set(func(l *fakeLog) { l.skew = 3 })
		r.submit("commit", "g", commit(9))
		synctest.Wait()
		if got := r.last["commit"]; outcome(got) != "16" {
			t.Errorf("append that went elsewhere: %+v", got)
		}
	})
}

func TestFullLogKeepsTheShardLoaded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("g", 10*time.Second)
		r.log.set(func(l *fakeLog) { l.full = true })
		r.submit("commit", "g", commit(1))
		r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation})
		r.expect("commit 15", "beat 0")
		time.Sleep(time.Minute)
		if got := r.state("g"); got != "Stable" {
			t.Errorf("group is %s", got)
		}
		r.log.set(func(l *fakeLog) { l.full = false })
		c := commit(1)
		c.MemberID, c.Generation = member, generation
		r.submit("commit", "g", c)
		r.expect("commit 0")
		if len(r.log.epochs) != 1 {
			t.Errorf("leader epochs %v: the shard was loaded again", r.log.epochs)
		}
	})
}

// T40, P16: an orderly move answers what waits, and takes a new leader epoch.
func TestMove(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("g", 10*time.Second)
		joined := r.ask("s", join(r.ask("s", join("", 10*time.Second)).(group.Joined).MemberID, 10*time.Second)).(group.Joined)
		second := join("", 10*time.Second)
		second.Version, second.InstanceID = 9, new(string)
		*second.InstanceID = "i2"
		r.submit("join", "g", second)
		r.expect("s group-created", "s member-joined", "s rebalance-started", "s join-completed",
			"g member-joined", "g rebalance-started")
		r.log.set(func(l *fakeLog) { l.hold = true })
		r.submit("sync", "s", group.Sync{Version: 4, MemberID: joined.MemberID, Generation: 1})
		r.submit("commit", "other", commit(1))
		r.expect()
		moved := make(chan error)
		go func() { moved <- r.c.Move(0) }()
		synctest.Wait()
		// The load waits for what is still on its way.
		r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation})
		r.submit("late", "g", commit(1))
		synctest.Wait()
		r.log.set(func(l *fakeLog) { l.hold = false })
		r.log.land(2)
		if err := <-moved; err != nil {
			t.Fatal(err)
		}
		r.expect("sync 16", "commit 16", "join 16",
			"s events-lost", "other events-lost", "g group-unloaded", "s group-unloaded", "other group-unloaded",
			"beat 0", "late 14", "g group-loaded", "s group-loaded", "other group-loaded")
		r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation})
		r.submit("fetch", "other", fetch())
		r.expect("beat 0", "fetch at 1")
		if err := r.c.Move(1); err == nil {
			t.Error("a partition that does not exist has moved")
		}
	})
}

// P17: orders that come twice or late are ignored.
func TestLeadershipOrdersAreIdempotent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		run := r.c.runners[0]
		order := func(f func(*groupRunner) bool) bool {
			t.Helper()
			did, err := run.ask(f)
			if err != nil {
				t.Fatal(err)
			}
			return did
		}
		lead := func(e int32) bool { return order(func(r *groupRunner) bool { return r.lead(e) }) }
		resign := func(e int32) bool { return order(func(r *groupRunner) bool { return r.resign(e) }) }
		if !lead(5) {
			t.Fatal("a newer epoch is ignored")
		}
		run.load(t.Context(), 5, nil)
		if lead(5) || resign(5) || resign(4) || lead(4) {
			t.Error("an order with an epoch that is not newer was followed")
		}
		r.submit("commit", "g", commit(1))
		r.expect("commit 0", "g group-created")
		if !resign(6) {
			t.Error("a newer leader was ignored")
		}
		r.submit("commit", "g", commit(2))
		r.expect("g group-unloaded", "commit 16")
		run.load(t.Context(), 5, nil) // a load that comes too late
		r.submit("commit", "g", commit(2))
		r.expect("commit 16")
	})
}

// T39, O34, P21: what is answered while the shard loads.
func TestRequestsWhileLoading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := make(chan struct{})
		r := newRig(t, func(c *rigConfig) {
			c.NextEpoch = func() (int32, error) { <-hold; return 1, nil }
		})
		r.submit("beat", "g", group.Heartbeat{MemberID: "m"})
		r.submit("sync", "g", group.Sync{})
		r.submit("join", "g", join("", 10*time.Second))
		r.submit("session", "g", join("", time.Second))
		r.submit("commit", "g", commit(1))
		r.submit("fetch", "", fetch())
		r.submit("leave", "", group.Leave{})
		r.expect("beat 0", "sync 27", "join 14", "session 26", "commit 14", "fetch 14", "leave 24")
		if _, code, err := r.c.List(t.Context()); code != codeCoordinatorLoadInProgress || err != nil {
			t.Errorf("list: %d, %v", code, err)
		}
		forgotten := make(chan error, 1)
		r.c.ForgetTopic("t", storage.TopicID{}, func(err error) { forgotten <- err })
		synctest.Wait()
		select {
		case err := <-forgotten:
			t.Errorf("topic was forgotten while loading: %v", err)
		default:
		}
		close(hold)
		if err := <-forgotten; err != nil {
			t.Error(err)
		}
	})
}

func TestPrologue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		for _, req := range []group.Request{join("", 10*time.Second), group.Sync{}, group.Heartbeat{}, group.Leave{}, group.DeleteOffsets{}} {
			r.submit("no", "", req)
			r.expect("no 24")
		}
		r.submit("commit", "", commit(3))
		r.expect("commit 0", " group-created")
		r.submit("fetch", "", fetch())
		r.expect("fetch at 3")
		r.submit("describe", "", group.Describe{Version: 5})
		r.expect("describe 0 Empty")
		r.submit("delete", "", group.Delete{})
		r.expect("delete 0", " group-deleted")
	})
}

func TestMemberIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, func(c *rigConfig) { c.NewMemberID = nil })
		dynamic := r.ask("g", join("", 10*time.Second)).(group.Joined).MemberID
		if len(dynamic) != len("c-")+36 || dynamic[:2] != "c-" {
			t.Errorf("dynamic member is %q", dynamic)
		}
		static := join("", 10*time.Second)
		static.InstanceID = new(string)
		*static.InstanceID = "inst"
		if id := r.ask("h", static).(group.Joined).MemberID; len(id) != len("inst-")+36 || id[:5] != "inst-" {
			t.Errorf("static member is %q", id)
		}
	})
}

func TestForgetTopicOutlivesItsShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		r.submit("commit", "g", commit(1))
		r.expect("commit 0", "g group-created")
		r.log.set(func(l *fakeLog) { l.hold = true })
		forgotten := make(chan error, 2)
		r.c.ForgetTopic("t", storage.TopicID{}, func(err error) { forgotten <- err })
		synctest.Wait()
		r.log.set(func(l *fakeLog) { l.hold = false })
		r.log.fail()
		if err := <-forgotten; err != nil {
			t.Error(err)
		}
		r.clear()
		r.submit("fetch", "g", fetch())
		r.expect("fetch at -1")
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		r.c.ForgetTopic("t", storage.TopicID{}, func(err error) { forgotten <- err })
		if err := <-forgotten; !errors.Is(err, ErrNotServing) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		r.form("g", 10*time.Second)
		second := join("", 10*time.Second)
		second.Version = 3
		r.submit("join", "g", second)
		r.log.set(func(l *fakeLog) { l.hold = true })
		r.submit("commit", "other", commit(1))
		drained := make(chan error)
		go func() { drained <- r.c.Drain(t.Context()) }()
		r.expect("g member-joined", "g rebalance-started")
		r.submit("late", "g", commit(1))
		r.expect("late 16")
		r.log.land(1)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		r.expect("commit 0", "join 16", "other group-created", "g group-unloaded", "other group-unloaded")
		if err := r.c.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.c.Move(0); !errors.Is(err, ErrNotServing) {
			t.Errorf("move after a drain: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = r.c.Drain(ctx)
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		r.submit("later", "g", commit(1))
		r.expect("later 15")
	})
}

func TestDrainGivesUpWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		r.log.set(func(l *fakeLog) { l.hold = true })
		r.submit("commit", "g", commit(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.c.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain: %v", err)
		}
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		r.expect("commit 16", "g events-lost", "g group-unloaded")
	})
}

func TestCloseWhileLoading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var fails atomic.Int32
		r := newRig(t, func(c *rigConfig) {
			c.NextEpoch = func() (int32, error) { fails.Add(1); return 0, storage.ErrFlushFailed }
		})
		time.Sleep(time.Minute)
		if n := fails.Load(); n < 10 || n > 30 {
			t.Errorf("%d attempts to take a leader epoch in a minute", n)
		}
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDynamicConfig(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		r.submit("short", "g", join("", 2*time.Second))
		r.expect("short 26")
		c := testConfig()
		c.MinSessionTimeout = time.Second
		c.OffsetsRetention = time.Minute
		r.c.SetGroupConfig(c, time.Minute)
		r.submit("commit", "g", commit(1))
		r.submit("short", "h", join("", 2*time.Second))
		r.expect("commit 0", "g group-created", "short 79", "h group-created")
	})
}
