package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
	"rota/internal/story"
)

// rig is a history over a store in memory.
type rig struct {
	t      *testing.T
	medium *storagetest.Memory
	store  *storage.Store
	log    *storage.Log
	opened int
	refuse error
}

var part = storage.Partition{Topic: storage.TopicID{9}}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, medium: storagetest.NewMemory()}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	s, err := storage.Open(context.Background(), r.medium, storage.Config{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.store = s
}

func (r *rig) start() *History {
	return Start(Config{
		Existing: func() *storage.Log { return r.log },
		Open: func(context.Context) (*storage.Log, error) {
			r.opened++
			if r.refuse != nil {
				return nil, r.refuse
			}
			log, err := r.store.Create(part, storage.LogConfig{Compression: -1})
			r.log = log
			return log, err
		},
	})
}

func (r *rig) close() {
	if err := r.store.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// written reads the topic.
func (r *rig) written() []string {
	r.t.Helper()
	var lines []string
	batches, _, err := r.log.Read(nil, 0, storage.ReadOptions{MaxBytes: 64 << 20})
	if err != nil {
		r.t.Fatal(err)
	}
	for batch := range record.Batches(batches) {
		for rec, err := range new(record.Codec).Records(batch) {
			if err != nil {
				r.t.Fatal(err)
			}
			e, err := story.Parse(rec.Value)
			if err != nil || rec.Timestamp != e.TimeMillis || string(rec.Key) != e.Group {
				r.t.Errorf("record %q = %s: %v", rec.Key, rec.Value, err)
			}
			lines = append(lines, fmt.Sprintf("%s %s %d", e.Group, e.Kind, e.Repeated))
		}
	}
	return lines
}

// ms is a wall clock near now, for loads go back a day.
func ms(n int64) int64 { return time.Now().UnixMilli() + n }

func started(n int64, why group.Cause) group.Event {
	return group.Event{Kind: group.RebalanceStarted, At: ms(n), Cause: why, Member: group.MemberRef{ID: "m"}, Count: 1}
}

func TestEventsAreWrittenKeptCountedAndWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		h := r.start()
		var mu sync.Mutex
		var seen []string
		stop := h.Watch(func(e *story.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(e.Kind))
		})
		synctest.Wait()
		if r.opened != 0 {
			t.Error("the topic is made though nothing has happened")
		}
		h.Take("g", []group.Event{
			started(0, group.CauseMemberJoined),
			{Kind: group.JoinCompleted, At: ms(5), Generation: 1, Duration: 5 * time.Millisecond, Count: 1},
		})
		h.Take("g", []group.Event{{Kind: group.AssignmentInstalled, At: ms(6), Generation: 1, Duration: time.Millisecond, Count: 1, After: &schema.GroupValue{ProtocolType: "consumer"}}})
		h.Take("h", []group.Event{{Kind: group.GroupLoaded, At: ms(6)}})
		refused := group.Event{Kind: group.CommitRefused, At: ms(7), Member: group.MemberRef{ID: "x"}, Code: 22}
		h.Take("h", []group.Event{refused, refused})
		h.Take("h", []group.Event{refused})
		time.Sleep(2 * linger)
		synctest.Wait()
		want := []string{"g rebalance-started 0", "g join-completed 0", "g assignment-installed 0", "h commit-refused 2"}
		if diff := cmp.Diff(want, r.written()); diff != "" {
			t.Error(diff)
		}
		if all := h.Rebalances("g"); len(all) != 1 || all[0].Ending != story.Installed || all[0].Cause != story.CauseMemberJoined {
			t.Errorf("%+v", all)
		}
		if n := h.Totals(); n.Rebalances[story.CauseMemberJoined] != 1 || n.Join.Count != 1 || n.Sync.Count != 1 || n.RefusedCommits != 3 {
			t.Errorf("%+v", n)
		}
		if n := h.Group("h"); n.RefusedCommits != 3 || n.Join.Count != 0 || h.Group("none").RefusedCommits != 0 {
			t.Errorf("%+v", n)
		}
		if diff := cmp.Diff([]string{"g", "h"}, h.Counted()); diff != "" {
			t.Error(diff)
		}
		stop()
		h.Take("g", []group.Event{{Kind: group.GroupDeleted, Cause: group.CauseOperator}}) // without a time of its own
		h.Close()
		h.Take("g", []group.Event{{Kind: group.GroupDeleted}})
		if w := r.written(); len(w) != 5 || w[4] != "g group-deleted 0" {
			t.Errorf("what was queued when the history closed: %q", w)
		}
		if diff := cmp.Diff([]string{"rebalance-started", "join-completed", "assignment-installed", "commit-refused"}, seen); diff != "" {
			t.Error(diff)
		}
		if c := h.Counts(); c.Written.Load() != 5 || c.Dropped.Load() != 1 || c.Failed.Load() != 0 {
			t.Errorf("%d written, %d dropped, %d failed", c.Written.Load(), c.Dropped.Load(), c.Failed.Load())
		}
		if diff := cmp.Diff([]string{"h"}, h.Counted()); diff != "" {
			t.Errorf("a deleted group is still counted: %s", diff)
		}
	})
}

func TestHistorySurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.start()
		for i := range int64(3) {
			h.Take("g", []group.Event{started(i, group.CauseMemberLeft)})
		}
		h.Close()
		r.close()
		r.open()
		defer r.close()
		var ok bool
		if r.log, ok = r.store.Log(part); !ok {
			var err error
			if r.log, err = r.store.Create(part, storage.LogConfig{Compression: -1}); err != nil {
				t.Fatal(err)
			}
		}
		h = r.start()
		defer h.Close()
		h.Take("g", []group.Event{started(10, group.CauseMemberJoined)})
		h.Take("n", []group.Event{started(10, group.CauseMemberJoined)})
		time.Sleep(2 * linger)
		synctest.Wait()
		all := h.Rebalances("g")
		if len(all) != 4 || all[0].Cause != story.CauseMemberLeft || all[3].Cause != story.CauseMemberJoined || all[3].Ending != story.Running {
			t.Errorf("%d rebalances are known: %+v", len(all), all)
		}
		if len(h.Events("n")) != 1 {
			t.Error("a new group is not known after the load")
		}
		if n := h.Totals().Rebalances[story.CauseMemberLeft]; n != 0 {
			t.Errorf("%d rebalances of before the start are counted", n)
		}
	})
}

func TestOverloadDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		h := r.start()
		for i := range int64(queueLimit + 100) {
			h.Take("g", []group.Event{started(i, group.CauseMemberLeft)})
		}
		h.Close()
		if d, w := h.Counts().Dropped.Load(), h.Counts().Written.Load(); d != 100 || w != queueLimit {
			t.Errorf("%d dropped, %d written", d, w)
		}
		if n := len(h.Events("g")); n == 0 || n > groupLimit {
			t.Errorf("%d events are kept", n)
		}
	})
}

func TestTopicThatCannotBeMadeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.refuse = errors.New("no room")
		h := r.start()
		defer h.Close()
		one := func() {
			h.Take("g", []group.Event{started(0, group.CauseMemberLeft)})
			time.Sleep(2 * linger)
			synctest.Wait()
		}
		one()
		one()
		if r.opened != 1 || h.Counts().Failed.Load() != 2 || len(h.Rebalances("g")) != 2 {
			t.Errorf("tried %d times, %d failed", r.opened, h.Counts().Failed.Load())
		}
		r.refuse = nil
		time.Sleep(retryAfter)
		one()
		if r.opened != 2 || h.Counts().Written.Load() != 1 {
			t.Errorf("tried %d times, %d written", r.opened, h.Counts().Written.Load())
		}
	})
}

func TestIndexIsBounded(t *testing.T) {
	e := story.Event{Kind: story.GroupEmptied}
	one := groupOverhead + len("g000") + sizeOf(&e)
	x := newIndex(100 * one)
	name := func(i int) string { return fmt.Sprintf("g%03d", i) }
	for i := range 150 {
		x.add(name(i), &e)
	}
	if len(x.groups) != 100 || x.events != 100 || x.size > x.limit || x.of(name(0)) != nil || len(x.of(name(149))) != 1 {
		t.Errorf("%d groups of %d bytes", len(x.groups), x.size)
	}
	for range 200 {
		x.add(name(100), &e)
	}
	if n := len(x.of(name(100))); n < 20 || n > 42 || x.size > x.limit {
		t.Errorf("%d events of the busy group, %d bytes", n, x.size)
	}
	if x.of(name(70)) != nil || len(x.of(name(149))) != 1 {
		t.Error("the oldest events have not gone first")
	}
	before := x.of(name(100))
	kept := append([]story.Event(nil), before...)
	for range 50 {
		x.add(name(100), &story.Event{Kind: story.GroupDeleted})
	}
	if diff := cmp.Diff(kept, before); diff != "" {
		t.Errorf("what a reader keeps has changed: %s", diff)
	}
	bytes, events := 0, 0
	for id, p := range x.groups {
		bytes += p.size + groupOverhead + len(id)
		events += len(x.of(id))
	}
	if bytes != x.size || events != x.events {
		t.Errorf("%d bytes and %d events, counted %d and %d", x.size, x.events, bytes, events)
	}
}

// A group that never rests has its share, and what is kept for it does not grow
// behind the one event of a group that is quiet.
func TestBusyGroupBesideQuietOne(t *testing.T) {
	x := newIndex(1 << 20)
	e := story.Event{Kind: story.GroupEmptied}
	x.add("quiet", &e)
	for i := range 50_000 {
		x.add("busy", &story.Event{Kind: story.GroupEmptied, Generation: int32(i)})
	}
	all := x.of("busy")
	if len(x.of("quiet")) != 1 || len(all) == 0 || all[len(all)-1].Generation != 49_999 {
		t.Errorf("%d events of the quiet group, %d of the busy one", len(x.of("quiet")), len(all))
	}
	if x.size > x.limit/2 || x.order.n > 2*x.events+minRing || len(x.order.ring) > 4*x.events+2*minRing {
		t.Errorf("%d bytes, %d entries for %d events", x.size, x.order.n, x.events)
	}
	old := newIndex(1 << 20)
	old.add("busy", &e)
	old.addAll(x)
	if n := len(old.of("busy")); n < len(all)-pieceLength || n > len(all)+1 || old.of("busy")[n-1].Generation != 49_999 || len(old.of("quiet")) != 1 {
		t.Errorf("%d events of %d after addAll", n, len(all)+1)
	}
}

// What the index says it takes is what it takes.
// What memory does not suffice for is not passed over in silence.
func TestForgottenEventsAreKnown(t *testing.T) {
	at := func(n int64) *story.Event { return &story.Event{Kind: story.GroupEmptied, TimeMillis: n} }
	x := newIndex(8 << 20)
	x.add("quiet", at(1))
	for i := range int64(groupLimit + 5) {
		x.add("busy", at(10+i))
	}
	if q, b := x.forgottenOf("quiet"), x.forgottenOf("busy"); q != 0 || b != 14 {
		t.Errorf("of the quiet group up to %d is missing, of the busy one up to %d", q, b)
	}
	old := newIndex(8 << 20)
	old.add("busy", at(5))
	old.addAll(x)
	if q, b := old.forgottenOf("quiet"), old.forgottenOf("busy"); q != 0 || b != 14 {
		t.Errorf("after addAll up to %d and %d", q, b)
	}
	for i := range int64(100_000) { // more than there is room for: what is oldest goes
		old.add(fmt.Sprint("g", i%100), at(10_000+i))
	}
	newest := int64(0)
	for i := range int64(100) {
		if first := old.of(fmt.Sprint("g", i))[0].TimeMillis; first <= old.forgottenOf("g0") {
			newest = first
		}
	}
	if old.of("quiet") != nil || old.forgottenOf("quiet") < 10_000 || newest != 0 {
		t.Errorf("up to %d is missing, and %d is there", old.forgottenOf("quiet"), newest)
	}
}

// After a restart with less memory than a day takes, the time is known from
// which on everything was read.
func TestLoadOfThePartThatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.start()
		const events = 400
		for i := range int64(events) {
			h.Take(fmt.Sprint("group-", i%7), []group.Event{started(i, group.CauseMemberLeft)})
			time.Sleep(time.Second)
		}
		h.Close()
		load := func(maxBytes int) (first, forgotten int64, n int) {
			h := Start(Config{Existing: func() *storage.Log { return r.log }, MaxBytes: maxBytes})
			defer h.Close()
			forgotten = h.Forgotten("group-3")
			all := h.Events("group-3")
			return all[0].TimeMillis, forgotten, len(all)
		}
		if _, forgotten, n := load(0); forgotten != 0 || n != events/7 {
			t.Errorf("%d events are there, up to %d they are missing", n, forgotten)
		}
		first, forgotten, n := load(20_000)
		if n == 0 || n >= events/7 || forgotten == 0 || first <= forgotten || first > forgotten+8000 {
			t.Errorf("%d events from %d on, up to %d they are missing", n, first, forgotten)
		}
		time.Sleep(25 * time.Hour)
		h = Start(Config{Existing: func() *storage.Log { return r.log }, MaxBytes: 20_000})
		defer h.Close()
		if at := h.Forgotten("group-3"); at != 0 {
			t.Errorf("nothing of the last day is there, and up to %d it is missing", at)
		}
		r.close()
	})
}

func TestSizeOfEvents(t *testing.T) {
	const limit = 4 << 20
	installed := func(i int) *story.Event {
		const members = 10
		e := story.Event{
			Kind: story.AssignmentInstalled, WaitedFor: make([]story.Waited, 0, members),
			Assignment: &story.Assignment{Members: make([]story.MemberAssignment, 0, members)},
		}
		for m := range members {
			who := story.Member{ID: fmt.Sprintf("member-%d-%d", i, m), ClientID: fmt.Sprintf("client-%d", m), Host: fmt.Sprintf("/10.0.0.%d", m)}
			e.WaitedFor = append(e.WaitedFor, story.Waited{Member: who})
			e.Assignment.Members = append(e.Assignment.Members, story.MemberAssignment{Member: who, Gained: []story.TopicPartitions{{Topic: "t", Partitions: []int32{1, 2}}}})
		}
		return &e
	}
	before := liveHeap()
	x := newIndex(limit)
	for i := range 5000 {
		x.add(fmt.Sprint("g", i%20), installed(i))
	}
	took := liveHeap() - before
	if took < x.size*6/10 || took > x.size*14/10 || x.size > limit {
		t.Errorf("the index takes %d bytes and counts %d, of %d", took, x.size, limit)
	}
	runtime.KeepAlive(x)
}

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestTranslate(t *testing.T) {
	long := strings.Repeat("\u00e9", 1000)
	sub := func(s schema.Subscription) []byte { return schema.AppendSubscription(nil, s) }
	old := []group.Protocol{{Name: "range", Metadata: sub(schema.Subscription{Version: 1, Topics: []string{"a", "b"}, Owned: []schema.TopicPartitions{{Topic: "a", Partitions: []int32{1}}}})}}
	now := []group.Protocol{{Name: "range", Metadata: sub(schema.Subscription{Version: 1, Topics: []string{"b", "c"}})}, {Name: "sticky"}}
	e := group.Event{
		Kind: group.RebalanceStarted, At: 5000, Cause: group.CauseProtocolsChanged, Count: 3, Timeout: time.Minute,
		Member:       group.MemberRef{ID: "\xff", ClientID: long, ClientHost: "/h", InstanceID: "i", Reason: long + long},
		OldProtocols: old, NewProtocols: now,
	}
	got := Translate("g\xff", &e)
	if got.Group != "g\ufffd" || got.Member.ID != "\ufffd" || len(got.Member.ClientID) > maxID || len(got.Member.Reason) > maxReason ||
		!strings.HasSuffix(got.Member.Reason, "\u00e9...") || got.Members != 3 || got.Timeout != story.Millis(time.Minute) {
		t.Errorf("%+v %+v", got, got.Member)
	}
	want := &story.Change{ProtocolsBefore: []string{"range"}, ProtocolsAfter: []string{"range", "sticky"}, TopicsAdded: []string{"c"}, TopicsRemoved: []string{"a"}, Owned: true}
	if diff := cmp.Diff(want, got.Changed); diff != "" {
		t.Error(diff)
	}
	now[0].Metadata = []byte{1}
	if c := Translate("g", &e).Changed; !c.Opaque {
		t.Errorf("%+v", c)
	}
	lost := Translate("g", &group.Event{Kind: group.MemberExpired, At: 50_000, Silent: 10 * time.Second, Code: 25, Member: group.MemberRef{ID: "m"}})
	if lost.LastHeardMillis != 40_000 || lost.Error != "UNKNOWN_MEMBER_ID" || lost.ErrorCode != 25 {
		t.Errorf("%+v", lost)
	}
	if e := Translate("g", &group.Event{Kind: group.OffsetsExpired, Count: 7}); e.Offsets != 7 || e.Members != 0 || e.Member != nil {
		t.Errorf("%+v", e)
	}
	if e := Translate("g", &group.Event{Kind: group.EventsLost, Count: 7}); e.Events != 7 || e.Members != 0 {
		t.Errorf("%+v", e)
	}
}

// A leader whose metadata differs in no more than the generation and the
// assignor's own bytes joins again as leaders do.
func TestLeaderThatOnlyJoinsAgain(t *testing.T) {
	offer := func(s schema.Subscription) []group.Protocol {
		s.Version = 3
		return []group.Protocol{{Name: "sticky", Metadata: schema.AppendSubscription(nil, s)}}
	}
	topics := []string{"a"}
	old := offer(schema.Subscription{Topics: topics, Generation: 1, UserData: []byte{1}})
	for _, c := range []struct {
		now  []group.Protocol
		want story.Cause
	}{
		{offer(schema.Subscription{Topics: topics, Generation: 2, UserData: []byte{2}}), story.CauseLeaderRejoined},
		{offer(schema.Subscription{Topics: []string{"a", "b"}, Generation: 2}), story.CauseProtocolsChanged},
		{offer(schema.Subscription{Topics: topics, Owned: []schema.TopicPartitions{{Topic: "a", Partitions: []int32{0}}}}), story.CauseProtocolsChanged},
		{[]group.Protocol{{Name: "sticky", Metadata: []byte{9}}}, story.CauseProtocolsChanged},
	} {
		e := group.Event{Kind: group.RebalanceStarted, Cause: group.CauseProtocolsChanged, Leader: true, OldProtocols: old, NewProtocols: c.now}
		got := Translate("g", &e)
		if got.Cause != c.want || (got.Changed == nil) != (c.want == story.CauseLeaderRejoined) {
			t.Errorf("%s, %+v; want %s", got.Cause, got.Changed, c.want)
		}
		if e.Leader = false; Translate("g", &e).Cause != story.CauseProtocolsChanged {
			t.Error("one that does not lead has changed nothing")
		}
	}
}

// TestNamesAreThoseOfTheStory holds the two vocabularies together.
func TestNamesAreThoseOfTheStory(t *testing.T) {
	kinds := []story.Kind{
		story.GroupCreated, story.GroupLoaded, story.GroupUnloaded, story.GroupEmptied, story.GroupDeleted, story.RebalanceStarted,
		story.RebalanceSuperseded, story.JoinCompleted, story.AssignmentInstalled, story.MemberJoined, story.MemberRejoined, story.MemberReplaced,
		story.MemberLeft, story.MemberExpired, story.MemberDropped, story.MemberRefused, story.PendingExpired, story.CommitRefused,
		story.OffsetsExpired, story.EventsLost,
	}
	for i, k := range kinds {
		if got := (group.GroupCreated + group.EventKind(i)).String(); got != string(k) {
			t.Errorf("%s is called %s", k, got)
		}
	}
	if n := group.EventKind(len(kinds) + 1).String(); n != "unknown" {
		t.Errorf("the story does not know %s", n)
	}
	causes := []story.Cause{
		"", story.CauseMemberJoined, story.CauseMemberLeft, story.CauseSessionExpired, story.CauseNewMemberTimeout, story.CauseJoinDeadline,
		story.CauseSyncDeadline, story.CauseProtocolsChanged, story.CauseLeaderRejoined, story.CauseStaticReplaced, story.CauseAssignmentTooLarge,
		story.CauseGroupFull, story.CauseMoved, story.CauseOperator, story.CauseRetention,
	}
	for i, c := range causes {
		if got := group.Cause(i).String(); got != string(c) {
			t.Errorf("%s is called %s", c, got)
		}
	}
	outcomes := []story.Outcome{"", story.OutcomeJoined, story.OutcomeLeft, story.OutcomeExpired, story.OutcomeDropped, story.OutcomeAbsent, story.OutcomeRefused}
	for i, o := range outcomes {
		if got := group.Outcome(i).String(); got != string(o) {
			t.Errorf("%s is called %s", o, got)
		}
	}
}
