package broker

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
)

func fetchParts(from, to int32) []FetchPartition {
	var parts []FetchPartition
	for i := from; i < to; i++ {
		parts = append(parts, FetchPartition{Topic: TopicRef{Name: "t"}, Index: i, MaxBytes: 1})
	}
	return parts
}

func indexes(s *fetchSession) []int32 {
	var all []int32
	for _, p := range s.snapshot(nil) {
		all = append(all, p.Index)
	}
	return all
}

// sessionClock is a clock that stands still.
type sessionClock struct{ now time.Time }

func (c *sessionClock) read() time.Time { return c.now }

func newTestSessions(slots int) (*fetchSessions, *sessionClock) {
	clock := &sessionClock{now: time.UnixMilli(0)}
	return newFetchSessions(slots, clock.read, 1), clock
}

func TestSessionEpochsWrapToOne(t *testing.T) {
	c, _ := newTestSessions(1)
	s, _, err := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, 1))
	if err != nil || s == nil {
		t.Fatalf("no session: %v", err)
	}
	s.epoch = math.MaxInt32
	for _, epoch := range []int32{math.MaxInt32, 1, 2} {
		if _, incremental, err := c.resolve(FetchSession{ID: s.id, Epoch: epoch}, nil); err != nil || !incremental {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
}

func TestSessionKeepsTheOrderInWhichPartitionsAreRead(t *testing.T) {
	c, _ := newTestSessions(1)
	s, _, _ := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, 4))
	key := func(i int32) partitionKey { return partitionKey{name: "t", index: i} }
	s.sent(key(1), 5, 0, true)
	s.sent(key(0), 5, 0, false)
	s.sent(key(9), 5, 0, true) // not there
	if diff := cmp.Diff([]int32{0, 2, 3, 1}, indexes(s)); diff != "" {
		t.Errorf("after 1 gave records (-want +got):\n%s", diff)
	}
	req := FetchSession{ID: s.id, Epoch: 1, Forgotten: fetchParts(2, 3)}
	if _, _, err := c.resolve(req, fetchParts(4, 6)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 3, 1, 4, 5}, indexes(s)); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
	told := slices.IndexFunc(s.snapshot(nil), func(p FetchPartition) bool { return p.Index == 1 && p.sentHW == 5 })
	if told != 2 {
		t.Error("what partition 1 was told is forgotten")
	}
}

func TestARefusedRequestChangesNothing(t *testing.T) {
	c, _ := newTestSessions(1)
	s, _, _ := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, 2))
	for want, req := range map[*kerr.Error]FetchSession{
		kerr.InvalidFetchSessionEpoch: {ID: s.id, Epoch: 2},
		kerr.FetchSessionTopicIDError: {ID: s.id, Epoch: 1, ByID: true},
		kerr.FetchSessionIDNotFound:   {ID: s.id + 1, Epoch: 1},
	} {
		req.Forgotten = fetchParts(0, 1)
		if _, _, err := c.resolve(req, fetchParts(5, 9)); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if diff := cmp.Diff([]int32{0, 1}, indexes(s)); diff != "" || s.epoch != 1 {
		t.Errorf("epoch %d, partitions (-want +got):\n%s", s.epoch, diff)
	}
}

func TestPartitionsOfAllSessionsAreBounded(t *testing.T) {
	c, clock := newTestSessions(1000)
	const each = 40
	c.most = 5 * each
	var first *fetchSession
	made := 0
	for i := range 7 {
		s, _, err := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, each))
		if err != nil {
			t.Fatal(err)
		}
		if s != nil {
			made++
		}
		if i == 0 {
			first = s
		}
	}
	if sessions, parts := c.count(); made != 5 || sessions != 5 || parts != 5*each {
		t.Errorf("%d made, %d sessions with %d partitions", made, sessions, parts)
	}
	// A session that grows beyond the bound ends; what is left is counted right.
	if _, _, err := c.resolve(FetchSession{ID: first.id, Epoch: 1}, fetchParts(each, each+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.resolve(FetchSession{ID: first.id, Epoch: 2}, nil); err != kerr.FetchSessionIDNotFound {
		t.Errorf("the session that grew: %v", err)
	}
	if sessions, parts := c.count(); sessions != 4 || parts != 4*each {
		t.Errorf("%d sessions with %d partitions", sessions, parts)
	}
	// Those that rest give way, as many as it takes.
	clock.now = clock.now.Add(sessionRest)
	if s, _, _ := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, 4*each)); s == nil {
		t.Error("no session though all others rest")
	}
	if sessions, parts := c.count(); parts > c.most || sessions != 2 {
		t.Errorf("%d sessions with %d partitions", sessions, parts)
	}
}

func TestSessionIDsDiffer(t *testing.T) {
	c, _ := newTestSessions(1000)
	seen := map[int32]bool{}
	for range 1000 {
		s, _, _ := c.resolve(FetchSession{Epoch: firstEpoch}, fetchParts(0, 1))
		if s == nil || s.id <= 0 || seen[s.id] {
			t.Fatalf("session %+v", s)
		}
		seen[s.id] = true
	}
}

func TestCheckEpoch(t *testing.T) {
	for _, c := range []struct {
		known, current int32
		want           *kerr.Error
	}{{-1, 5, nil}, {5, 5, nil}, {4, 5, kerr.FencedLeaderEpoch}, {6, 5, kerr.UnknownLeaderEpoch}} {
		if got := CheckEpoch(c.known, c.current); got != c.want {
			t.Errorf("CheckEpoch(%d, %d) = %v, want %v", c.known, c.current, got, c.want)
		}
	}
}
