package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Public fault reports over the wire, as far as their scenario files play
// against the rules alone.

// B24: a commit is answered once it is stored, in the order of the requests;
// one that cannot be stored is refused and leaves the value before it.
func TestACommitIsStoredWhenItIsAnswered(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := alone(r.client("a"), "g", "t")
		other := r.client("x")
		m.must(8, by(m, commitRequest("g", commit{topic: "t", offset: 10})))
		if got := other.offset("g", "t", 0); got != 10 {
			t.Errorf("read at once: %d, want 10", got)
		}
		for at := int64(11); at <= 60; at++ {
			m.send(8, by(m, commitRequest("g", commit{topic: "t", offset: at})))
		}
		m.send(7, fetchRequest("g", []named{{"t", []int32{0}}}))
		for range 50 {
			if p := received[*kmsg.OffsetCommitResponse](m.client).Topics[0].Partitions[0]; p.ErrorCode != 0 {
				t.Fatalf("pipelined commit: error %d", p.ErrorCode)
			}
		}
		if got := received[*kmsg.OffsetFetchResponse](m.client).Topics[0].Partitions[0].Offset; got != 60 {
			t.Errorf("read behind the commits: %d, want 60", got)
		}
		r.flaky.failIn(1)
		if got := m.code(8, by(m, commitRequest("g", commit{topic: "t", offset: 70}))); got != 16 {
			t.Errorf("commit that cannot be stored: error %d, want 16", got)
		}
		r.passes(1000)
		if got := other.offset("g", "t", 0); got != 60 {
			t.Errorf("read after a failed commit: %d, want 60", got)
		}
		r.restart()
		if got := r.client("x").offset("g", "t", 0); got != 60 {
			t.Errorf("read after a restart: %d, want 60", got)
		}
	})
}

// B32: while groups are read from the log nobody is sent elsewhere, and no
// member is told that it is unknown.
func TestNobodyIsSentAwayWhileLoading(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := alone(r.client("a"), "g", "t")
		r.stop()
		r.hold = make(chan struct{})
		r.start()
		c := r.client("c")
		const loading = 14
		if got := ask[*kmsg.LeaveGroupResponse](c, 4, leaveRequest("g", m.id)); got.ErrorCode != loading || len(got.Members) != 0 {
			t.Errorf("leave: %+v", got)
		}
		batch := ask[*kmsg.OffsetFetchResponse](c, 8, fetchGroups(fetchGroup("g", nil), fetchGroup("h", nil)))
		for _, g := range batch.Groups {
			if g.ErrorCode != loading {
				t.Errorf("fetch v8 of %s: error %d", g.Group, g.ErrorCode)
			}
		}
		describe := kmsg.NewPtrDescribeGroupsRequest()
		describe.Groups = []string{"g"}
		if got := ask[*kmsg.DescribeGroupsResponse](c, 5, describe).Groups[0]; got.ErrorCode != loading || got.State != "" {
			t.Errorf("describe: %+v", got)
		}
		remove := kmsg.NewPtrDeleteGroupsRequest()
		remove.Groups = []string{"g"}
		if got := ask[*kmsg.DeleteGroupsResponse](c, 2, remove).Groups[0].ErrorCode; got != loading {
			t.Errorf("delete: error %d", got)
		}
		forget := kmsg.NewPtrOffsetDeleteRequest()
		forget.Group = "g"
		forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
		if got := ask[*kmsg.OffsetDeleteResponse](c, 0, forget); got.ErrorCode != loading || len(got.Topics) != 0 {
			t.Errorf("delete of an offset: %+v", got)
		}
		if got := ask[*kmsg.FindCoordinatorResponse](c, 3, findRequest(0, "g")); got.ErrorCode != 0 || got.NodeID != 1 {
			t.Errorf("coordinator: %+v", got)
		}
		m.client = c
		if got := m.heartbeat(); got != 0 {
			t.Errorf("heartbeat while loading: error %d", got)
		}
		close(r.hold)
		r.hold = nil
		<-r.co.Loaded()
		if got := m.heartbeat(); got != 0 {
			t.Errorf("heartbeat of a member: error %d", got)
		}
		if got := (member{c, "g", "stranger", 1}).heartbeat(); got != 25 {
			t.Errorf("heartbeat of a stranger: error %d", got)
		}
	})
}

// B33: members of a group that was read back are members, with their
// assignments, and with a session in full but not more.
func TestMembersOutliveARestart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		a, b := pair(r.client("a"), r.client("b"), "g")
		r.restart()
		a.client, b.client = r.client("a"), r.client("b")
		if got := a.heartbeat(); got != 0 {
			t.Errorf("heartbeat: error %d", got)
		}
		if got := ask[*kmsg.SyncGroupResponse](b.client, 4, syncRequest("g", b.id, b.generation)); got.ErrorCode != 0 || string(got.MemberAssignment) != "part b" {
			t.Errorf("sync: %+v", got)
		}
		if got := a.code(8, by(a, commitRequest("g", commit{topic: "t", offset: 1}))); got != 0 {
			t.Errorf("commit: error %d", got)
		}
		for range 3 { // nobody has heard of b since its sync
			r.passes(3000)
			if got := a.heartbeat(); got != 0 {
				t.Fatalf("heartbeat while both are in: error %d", got)
			}
		}
		r.passes(2000)
		if got := a.heartbeat(); got != 27 {
			t.Errorf("heartbeat once b is silent for its session: error %d, want 27", got)
		}
		if got := b.heartbeat(); got != 25 {
			t.Errorf("heartbeat of b: error %d, want 25", got)
		}
	})
}

// B36: an empty group is the group it was.
func TestEmptyGroupKeepsItsTypeOverARestart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := alone(r.client("a"), "g", "t")
		m.must(8, by(m, commitRequest("g", commit{topic: "t", offset: 5})))
		m.leave()
		list := func() kmsg.ListGroupsResponseGroup {
			t.Helper()
			resp := ask[*kmsg.ListGroupsResponse](r.client("x"), 5, kmsg.NewPtrListGroupsRequest())
			if len(resp.Groups) != 1 {
				t.Fatalf("%d groups", len(resp.Groups))
			}
			return resp.Groups[0]
		}
		want := list()
		if want.ProtocolType != "consumer" || want.GroupState != "Empty" {
			t.Errorf("before: %+v", want)
		}
		r.restart()
		if got := list(); got.ProtocolType != want.ProtocolType || got.GroupState != want.GroupState || got.Group != want.Group {
			t.Errorf("after: %+v, want %+v", got, want)
		}
		c := r.client("x")
		c.must(8, commitRequest("g", commit{topic: "t", offset: 3}))
		if got := c.offset("g", "t", 0); got != 3 {
			t.Errorf("offset %d, want 3", got)
		}
	})
}
