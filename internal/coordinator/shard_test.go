package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/group"
)

// driver drives a Shard by hand: it notes what the shard wants done.
type driver struct {
	t       *testing.T
	s       *GroupShard
	now     group.Now
	appends []Append
	// said are the answers and events that have left, in order.
	said []string
	last map[string]group.Response
}

func testConfig() group.Config {
	c := group.DefaultConfig()
	c.InitialDelay = 0
	c.CheckInvariants = true
	return c
}

func newDriver(t *testing.T, c GroupShardConfig) *driver {
	t.Helper()
	if c.Group == (group.Config{}) {
		c.Group = testConfig()
	}
	if c.ExpireInterval == 0 {
		c.ExpireInterval = time.Hour
	}
	d := &driver{t: t, s: NewGroupShard(c), now: group.Now{Mono: time.Minute, Wall: 1_700_000_000_000}, last: map[string]group.Response{}}
	d.turn(func() { d.s.Activate(0) })
	d.said = nil
	return d
}

// turn is one turn: f, and then whatever is due. Appends are noted, and told
// to have gone where they should.
func (d *driver) turn(f func()) {
	d.t.Helper()
	d.s.Begin(d.now, false)
	d.finish(f)
}

func (d *driver) finish(f func()) {
	if f != nil {
		f()
	}
	for _, a := range d.s.Finish() {
		d.s.Appended(a.Seq, a.Base, nil)
		a.Batch = append([]byte(nil), a.Batch...)
		d.appends = append(d.appends, a)
	}
	d.take()
}

func (d *driver) take() {
	a := d.s.Take()
	for _, r := range a.Releases {
		r.Done(r.Body)
	}
	for _, ev := range a.Events {
		for _, e := range ev.Events {
			d.said = append(d.said, ev.ID+" "+e.Kind.String())
		}
	}
}

// submit brings a request under a name by which its answer is noted.
func (d *driver) submit(name, id string, req group.Request) {
	d.s.Submit(id, req, func(r group.Response) {
		d.said = append(d.said, name+" "+outcome(r))
		d.last[name] = r
	})
}

// ask is a turn with one request.
func (d *driver) ask(name, id string, req group.Request) group.Response {
	d.t.Helper()
	d.turn(func() { d.submit(name, id, req) })
	return d.last[name]
}

// land makes the batches from the given one on durable, in that order.
func (d *driver) land(seqs ...uint64) {
	d.t.Helper()
	for _, seq := range seqs {
		d.turn(func() { d.s.Completed(seq, nil) })
	}
}

// landAll makes all noted appends durable.
func (d *driver) landAll() {
	d.t.Helper()
	for len(d.appends) > 0 {
		a := d.appends[0]
		d.appends = d.appends[1:]
		d.land(a.Seq)
	}
}

// pass lets time go by, waking the shard at each of its deadlines.
func (d *driver) pass(by time.Duration) {
	d.t.Helper()
	end := d.now.Mono + by
	for {
		at, ok := d.s.Deadline()
		if !ok || at > end {
			break
		}
		d.to(max(at, d.now.Mono))
		d.turn(nil)
	}
	d.to(end)
}

func (d *driver) to(mono time.Duration) {
	d.now.Wall += (mono - d.now.Mono).Milliseconds()
	d.now.Mono = mono
}

// expect compares what has been said since the last call.
func (d *driver) expect(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.said); diff != "" {
		d.t.Errorf("said (-want +got):\n%s", diff)
	}
	d.said = nil
}

// outcome is a response in one word.
func outcome(r group.Response) string {
	switch r := r.(type) {
	case group.Joined:
		return fmt.Sprint(r.Code)
	case group.Synced:
		return fmt.Sprint(r.Code)
	case group.Beat:
		return fmt.Sprint(r.Code)
	case group.Left:
		return fmt.Sprint(r.Code)
	case group.Committed:
		return fmt.Sprint(r.Codes[0])
	case group.FetchedOffsets:
		if r.Code == 0 && len(r.Offsets) > 0 {
			return fmt.Sprintf("at %d", r.Offsets[0].Offset)
		}
		return fmt.Sprint(r.Code)
	case group.DeletedOffsets:
		return fmt.Sprint(r.Code)
	case group.Deleted:
		return fmt.Sprint(r.Code)
	case group.Described:
		return fmt.Sprintf("%d %s", r.Code, r.State)
	case group.Forgotten:
		return "forgotten"
	}
	return fmt.Sprintf("%T", r)
}

func commit(offset int64) group.Commit {
	return group.Commit{
		Version: 8, Generation: -1, Retention: -1,
		Offsets: []group.CommitOffset{{TopicPartition: t0, Offset: offset, LeaderEpoch: -1, Timestamp: -1}},
	}
}

var t0 = group.TopicPartition{Topic: "t", Partition: 0}

func fetch() group.FetchOffsets {
	return group.FetchOffsets{Partitions: []group.TopicPartition{t0}}
}

func join(member string, session time.Duration) group.Join {
	return group.Join{
		Version: 9, MemberID: member, NewMemberID: "m1", ClientID: "c", ClientHost: "/127.0.0.1",
		SessionTimeout: session, RebalanceTimeout: 30 * time.Second, ProtocolType: "consumer",
		Protocols: []group.Protocol{{Name: "range", Metadata: []byte("\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff")}},
	}
}

// form brings the group to Stable with one member, whose id it returns.
func (d *driver) form(id string, session time.Duration) string {
	d.t.Helper()
	d.ask("id", id, join("", session))
	d.landAll()
	member := d.last["id"].(group.Joined).MemberID
	d.turn(func() { d.submit("join", id, join(member, session)) })
	d.turn(nil) // the initial delay, which is none, ends with a tick
	joined, ok := d.last["join"].(group.Joined)
	if !ok || joined.Code != 0 {
		d.t.Fatalf("join: %+v", d.last["join"])
	}
	d.turn(func() {
		d.submit("sync", id, group.Sync{Version: 4, MemberID: member, Generation: joined.Generation})
	})
	d.landAll()
	if s, ok := d.last["sync"].(group.Synced); !ok || s.Code != 0 {
		d.t.Fatalf("sync: %+v", d.last["sync"])
	}
	d.said = nil
	return member
}

func TestAnswersLeaveInLogOrder(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.ask("first", "a", commit(1))
	d.ask("second", "b", commit(2))
	if len(d.appends) != 2 || d.appends[0].Base != 0 || d.appends[1].Base != 1 {
		t.Fatalf("appends: %+v", d.appends)
	}
	d.expect()
	d.land(d.appends[1].Seq)
	d.expect()
	d.land(d.appends[0].Seq)
	d.expect("first 0", "second 0", "a group-created", "b group-created")
}

func TestOneTurnSharesOneBatch(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.turn(func() {
		for i := range 5 {
			d.submit(fmt.Sprint("commit", i), fmt.Sprint("g", i), commit(int64(i)))
		}
	})
	if len(d.appends) != 1 {
		t.Fatalf("%d appends, want 1", len(d.appends))
	}
	d.turn(func() { d.s.Completed(d.appends[0].Seq, fmt.Errorf("no")) })
	if d.s.Ended() == nil {
		t.Fatal("the shard goes on after a failed append")
	}
	want := []string{"commit0 16", "commit1 16", "commit2 16", "commit3 16", "commit4 16"}
	for i := range 5 {
		want = append(want, fmt.Sprintf("g%d events-lost", i))
	}
	for i := range 5 {
		want = append(want, fmt.Sprintf("g%d group-unloaded", i))
	}
	d.expect(want...)
}

func TestBigTurnsAreSplit(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	c := commit(1)
	c.Offsets = make([]group.CommitOffset, 2000)
	for i := range c.Offsets {
		c.Offsets[i] = group.CommitOffset{TopicPartition: group.TopicPartition{Topic: "topic", Partition: int32(i)}, LeaderEpoch: -1, Timestamp: -1}
	}
	d.turn(func() {
		for i := range 10 {
			d.submit(fmt.Sprint(i), "g", c)
		}
	})
	if len(d.appends) < 2 {
		t.Fatalf("%d appends of %d bytes", len(d.appends), len(d.appends[0].Batch))
	}
	next := group.Offset(0)
	for _, a := range d.appends {
		if a.Base != next || len(a.Batch) > coalesceLimit+64*2000 {
			t.Errorf("append at %d of %d bytes, want it at %d", a.Base, len(a.Batch), next)
		}
		h := header(t, a.Batch)
		if h.Count%2000 != 0 {
			t.Errorf("a commit was split: %d records", h.Count)
		}
		next += group.Offset(h.Count)
	}
}

func TestReadsWaitForTheirOwnGroup(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.ask("commit a", "a", commit(1))
	d.ask("commit b", "b", commit(2))
	d.ask("fetch a", "a", fetch())
	d.ask("describe b", "b", group.Describe{Version: 5})
	d.ask("fetch c", "c", fetch())
	d.expect("fetch c at -1")
	d.land(d.appends[0].Seq)
	d.expect("commit a 0", "fetch a at 1", "a group-created")
	d.land(d.appends[1].Seq)
	d.expect("commit b 0", "describe b 0 Empty", "b group-created")
}

func TestDeletedGroupIsGoneWhenThatIsDurable(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.ask("commit", "a", commit(1))
	d.landAll()
	d.said = nil
	d.ask("delete", "a", group.Delete{})
	d.ask("fetch", "a", fetch())
	d.expect()
	if len(d.s.order) != 1 || len(d.s.Summaries()) != 0 {
		t.Errorf("%d groups kept, %d listed", len(d.s.order), len(d.s.Summaries()))
	}
	d.landAll()
	d.expect("delete 0", "fetch at -1", "a group-deleted")
	if len(d.s.order) != 0 || len(d.s.machines) != 0 {
		t.Errorf("group is kept: %d, %d", len(d.s.order), len(d.s.machines))
	}
	d.ask("again", "a", commit(2))
	d.ask("fetch", "a", fetch())
	d.landAll()
	d.expect("again 0", "fetch at 2", "a group-created")
}

func TestUnknownGroupLeavesNothing(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.ask("beat", "a", group.Heartbeat{MemberID: "m", Generation: 1})
	d.ask("commit", "a", group.Commit{Version: 8, Generation: 4, MemberID: "m", Retention: -1, Offsets: commit(1).Offsets})
	d.expect("beat 25", "commit 22", "a commit-refused")
	if len(d.s.order)+len(d.s.machines)+d.s.tickets.taken != 0 {
		t.Errorf("left: %d groups, %d tickets", len(d.s.order), d.s.tickets.taken)
	}
}

func TestElsewhereInTheLogEndsTheShard(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.s.Begin(d.now, false)
	d.submit("commit", "a", commit(1))
	for _, a := range d.s.Finish() {
		d.s.Appended(a.Seq, a.Base+1, nil)
	}
	d.take()
	d.expect("commit 16", "a events-lost", "a group-unloaded")
	if want := new(OffsetError); !errors.As(d.s.Ended(), &want) {
		t.Errorf("ended with %v", d.s.Ended())
	}
	d.ask("later", "a", commit(1))
	d.expect("later 16")
}

func TestSilentMemberIsEvicted(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.form("g", 10*time.Second)
	d.pass(10*time.Second - time.Millisecond)
	d.expect()
	d.pass(time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Empty" {
		t.Errorf("group is %s", got)
	}
}

func TestLateDeadlineEvictsNobody(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	member := d.form("g", 10*time.Second)
	d.to(d.now.Mono + 10*time.Second + lateness + time.Millisecond)
	d.ask("beat", "g", group.Heartbeat{MemberID: member, Generation: 1})
	d.expect("beat 0")
	// Without the heartbeat as well, for a full session from then on.
	d.to(d.now.Mono + time.Minute)
	d.turn(nil)
	d.pass(10*time.Second - time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Stable" {
		t.Errorf("group is %s", got)
	}
	d.pass(time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Empty" {
		t.Errorf("group is %s", got)
	}
}

func TestLateJoinDeadlineMovesByTheLateness(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.form("g", 10*time.Second)
	second := join("", 20*time.Second)
	second.Version, second.NewMemberID = 3, "m2"
	d.ask("second", "g", second) // parks; the first has 30 s to join again
	d.to(d.now.Mono + 9*time.Second)
	d.ask("beat", "g", group.Heartbeat{MemberID: "m1", Generation: 1})
	d.said = nil
	d.to(d.now.Mono + 51*time.Second) // a minute after the second came
	d.turn(nil)
	d.expect()
	d.turn(func() { d.submit("first", "g", join("m1", 10*time.Second)) })
	if got := d.s.Summaries()[0].State; got != "CompletingRebalance" {
		t.Errorf("group is %s: the member did not get its time to join", got)
	}
}

func TestStalledAppendKeepsItsMember(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	member := d.form("g", 10*time.Second)
	c := commit(7)
	c.MemberID, c.Generation = member, 1
	d.ask("commit", "g", c)
	d.pass(12 * time.Second)
	if got := d.s.Summaries()[0].State; got != "Stable" {
		t.Fatalf("group is %s: the stall has evicted its member", got)
	}
	d.landAll()
	d.expect("commit 0")
	d.pass(10*time.Second - time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Stable" {
		t.Errorf("group is %s: the session did not begin in full", got)
	}
	d.pass(time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Empty" {
		t.Errorf("group is %s", got)
	}
}

func TestFullLog(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	member := d.form("g", 10*time.Second)
	full := func(f func()) {
		d.s.Begin(d.now, true)
		d.finish(f)
	}
	full(func() {
		d.submit("commit", "g", commit(1))
		d.submit("join", "g", join("", 10*time.Second))
		d.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: 1})
		d.submit("fetch", "g", fetch())
	})
	d.expect("commit 15", "join 15", "beat 0", "fetch at -1")
	for range 100 {
		at, _ := d.s.Deadline()
		d.to(at)
		full(nil)
	}
	d.expect()
	if got := d.s.Summaries()[0].State; got != "Stable" || len(d.appends) > 0 {
		t.Errorf("group is %s after %d appends to a full log", got, len(d.appends))
	}
	d.pass(11 * time.Second)
	if got := d.s.Summaries()[0].State; got != "Empty" {
		t.Errorf("group is %s after there was room again", got)
	}
}

func TestForgetTopicIsAnsweredWhenDurable(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	const groups = 3 * passStep
	for i := range groups {
		d.ask("commit", fmt.Sprint("g", i), commit(1))
	}
	d.landAll()
	d.said = nil
	turns := 0
	d.turn(func() {
		d.s.ForgetTopic(group.ForgetTopic{Topic: "t"}, func(r group.Response) { d.said = append(d.said, outcome(r)) })
	})
	for len(d.s.passes) > 0 {
		if at, ok := d.s.Deadline(); !ok || at > d.now.Mono {
			t.Fatalf("the pass waits until %v", at)
		}
		d.turn(nil)
		turns++
	}
	if turns != 3 {
		t.Errorf("%d more turns for %d groups", turns, groups)
	}
	d.expect()
	for len(d.appends) > 1 {
		d.land(d.appends[0].Seq)
		d.appends = d.appends[1:]
	}
	d.expect()
	d.land(d.appends[0].Seq)
	d.expect("forgotten")
	if len(d.s.order) != 0 {
		t.Errorf("%d groups are kept", len(d.s.order))
	}
	d.turn(func() {
		d.s.ForgetTopic(group.ForgetTopic{Topic: "t"}, func(r group.Response) { d.said = append(d.said, outcome(r)) })
	})
	d.expect("forgotten")
}

func TestPassesOfExpire(t *testing.T) {
	c := testConfig()
	c.OffsetsRetention = 90 * time.Minute
	d := newDriver(t, GroupShardConfig{Group: c})
	const groups = 2*passStep + 1
	for i := range groups {
		d.ask("commit", fmt.Sprint("g", i), commit(1))
	}
	d.landAll()
	d.said = nil
	d.pass(2*time.Hour - time.Millisecond) // the first pass finds nothing
	d.expect()
	d.pass(time.Millisecond) // the second takes all, though groups vanish under it
	d.landAll()
	if len(d.s.order) != 0 || len(d.said) != 2*groups {
		t.Errorf("%d groups are left, %d events", len(d.s.order), len(d.said))
	}
}

func TestDrainRunsNoDeadline(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	d.form("g", 10*time.Second)
	d.turn(func() {
		d.submit("commit", "a", commit(1))
		d.s.Drain()
	})
	if _, ok := d.s.Deadline(); ok || len(d.appends) != 1 {
		t.Errorf("deadline %v, %d appends", ok, len(d.appends))
	}
	d.to(d.now.Mono + time.Hour)
	d.landAll()
	d.expect("commit 0", "a group-created")
	if d.s.InFlight() != 0 {
		t.Errorf("%d batches in flight", d.s.InFlight())
	}
}
