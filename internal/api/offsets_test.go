package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetCommitAndFetchInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		c := r.client("c")
		eachVersion(r, kmsg.OffsetCommit, func(v int16) {
			group := fmt.Sprint("g", v)
			req := commitRequest(group,
				commit{topic: "t", offset: 7, epoch: 3, metadata: new("m")}, commit{topic: "t", partition: 1, offset: 8, epoch: -1})
			req.Topics[0].TopicID = topic.ID
			want := kmsg.NewPtrOffsetCommitResponse()
			want.Topics = []kmsg.OffsetCommitResponseTopic{{
				Topic: "t", TopicID: topic.ID, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0}, {Partition: 1}},
			}}
			equal(t, ask[*kmsg.OffsetCommitResponse](c, v, req), want)

			eachVersion(r, kmsg.OffsetFetch, func(fv int16) {
				epoch := int32(-1)
				if v >= 6 && fv >= 5 {
					epoch = 3
				}
				want := []fetched{{"t", 0, 7, epoch, "m", 0}, {"t", 1, 8, -1, "", 0}}
				asked := [][]named{{{"t", []int32{0, 1}}}}
				if fv >= 2 {
					asked = append(asked, nil) // all
				}
				for _, topics := range asked {
					code, got := c.offsets(fv, group, topics)
					if diff := cmp.Diff(want, got); code != 0 || diff != "" {
						t.Errorf("commit v%d, fetch v%d of %v: error %d (-want +got):\n%s", v, fv, topics, code, diff)
					}
				}
			})
		})
	})
}

// B25, O8: partitions are refused one by one, and every one is answered once.
func TestOffsetCommitRefusesPartitionsOneByOne(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 3)
		c := r.client("c")
		resp := ask[*kmsg.OffsetCommitResponse](c, 6, commitRequest("g",
			commit{topic: "t", offset: 7, epoch: 3, metadata: new("m")},
			commit{topic: "t", partition: 1, offset: 8, epoch: -1},
			commit{topic: "nosuch", offset: 1},
			commit{topic: "t", partition: 2, metadata: new(strings.Repeat("x", 4097))},
			commit{topic: "t", partition: 3},
			commit{topic: "t", partition: -1},
		))
		want := kmsg.NewPtrOffsetCommitResponse()
		want.Topics = []kmsg.OffsetCommitResponseTopic{
			{Topic: "t", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0}, {Partition: 1}}},
			{Topic: "nosuch", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0, ErrorCode: 3}}},
			{Topic: "t", Partitions: []kmsg.OffsetCommitResponseTopicPartition{
				{Partition: 2, ErrorCode: 12}, {Partition: 3, ErrorCode: 3}, {Partition: -1, ErrorCode: 3},
			}},
		}
		equal(t, resp, want)

		stored := []fetched{{"t", 0, 7, 3, "m", 0}, {"t", 1, 8, -1, "", 0}}
		for _, test := range []struct {
			version int16
			topics  []named
		}{{5, []named{{"t", []int32{0, 1}}}}, {5, nil}, {8, []named{{"t", []int32{0, 1}}}}, {8, nil}} {
			if _, got := c.offsets(test.version, "g", test.topics); !cmp.Equal(stored, got) {
				t.Errorf("fetch v%d of %v:\n%s", test.version, test.topics, cmp.Diff(stored, got))
			}
		}
		// 4096 units are allowed, whatever they take in bytes.
		c.must(6, commitRequest("g", commit{topic: "t", partition: 2, metadata: new(strings.Repeat("ü", 4096))}))
	})
}

// Version 10 names topics by id, and a topic that was made anew is another one.
func TestOffsetsByTopicID(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		c := r.client("c")
		unknown := [16]byte{1, 2, 3}
		req := commitRequest("g", commit{offset: 4}, commit{offset: 5})
		req.Topics = append(req.Topics, req.Topics[0])
		req.Topics[0].TopicID, req.Topics[0].Partitions = topic.ID, req.Topics[0].Partitions[:1]
		req.Topics[1].TopicID, req.Topics[1].Partitions = unknown, req.Topics[1].Partitions[1:]
		want := kmsg.NewPtrOffsetCommitResponse()
		want.Topics = []kmsg.OffsetCommitResponseTopic{
			{TopicID: topic.ID, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0}}},
			{TopicID: unknown, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0, ErrorCode: 100}}},
		}
		equal(t, ask[*kmsg.OffsetCommitResponse](c, 10, req), want)

		fetch := fetchGroups(fetchGroup("g", []named{{"", []int32{0}}, {"", []int32{0, 1}}}))
		fetch.Groups[0].Topics[0].TopicID, fetch.Groups[0].Topics[1].TopicID = unknown, topic.ID
		wantFetch := kmsg.NewPtrOffsetFetchResponse()
		wantFetch.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", Topics: []kmsg.OffsetFetchResponseGroupTopic{
			{TopicID: unknown, Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{
				{Partition: 0, Offset: -1, LeaderEpoch: -1, Metadata: new(""), ErrorCode: 100},
			}},
			{TopicID: topic.ID, Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{
				{Partition: 0, Offset: 4, LeaderEpoch: 0, Metadata: new("")},
				{Partition: 1, Offset: -1, LeaderEpoch: -1, Metadata: new("")},
			}},
		}}}
		equal(t, ask[*kmsg.OffsetFetchResponse](c, 10, fetch), wantFetch)
	})
}

// O1-O6 and B23: who may commit for a group in which state.
func TestWhoMayCommit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		a, x := r.client("a"), r.client("x")
		m := alone(a, "g", "t")
		at := func(group string, generation int32, member string, instance *string) *kmsg.OffsetCommitRequest {
			req := commitRequest(group, commit{topic: "t"})
			req.Generation, req.MemberID, req.InstanceID = generation, member, instance
			return req
		}
		completing := r.client("completing")
		completing.enter(joinRequest("completing", "", subscription("t")))
		waiting := completing.joined()

		tests := []struct {
			name    string
			version int16
			req     *kmsg.OffsetCommitRequest
			want    int16
		}{
			{"O1: nobody, unknown group", 8, at("simple", -1, "", nil), 0},
			{"O2: a generation of an unknown group, v8", 8, at("k", 3, "z", nil), 22},
			{"O2: a generation of an unknown group, v9", 9, at("k", 3, "z", nil), 69},
			{"O3: a member without generation, empty group", 8, at("simple", -1, "x", nil), 0},
			{"a generation of an empty group", 8, at("simple", 0, "x", nil), 25},
			{"O4: nobody, live group", 8, at("g", -1, "", nil), 25},
			{"nobody of a generation, live group", 8, at("g", 5, "", nil), 25},
			{"O5: another member", 8, at("g", m.generation, "nobody", nil), 25},
			{"O5: another generation", 8, at("g", m.generation+1, m.id, nil), 22},
			{"no generation, live group", 8, at("g", -1, m.id, nil), 22},
			{"an unknown instance", 8, at("g", m.generation, m.id, new("i9")), 25},
			{"the member itself", 8, at("g", m.generation, m.id, nil), 0},
			{"O6: before the assignment, member", 8, at("completing", waiting.Generation, waiting.MemberID, nil), 27},
			{"O6: before the assignment, somebody else", 8, at("completing", waiting.Generation, "nobody", nil), 25},
		}
		for _, test := range tests {
			if got := x.code(test.version, test.req); got != test.want {
				t.Errorf("%s: error %d, want %d", test.name, got, test.want)
			}
		}
		if lines := list(x, 5, []string{"empty"}, nil); !cmp.Equal(lines, []string{`simple "" Empty classic`}) {
			t.Errorf("empty groups: %v", lines)
		}
		m.leave()
		if got := x.code(8, at("g", -1, "", nil)); got != 0 {
			t.Errorf("nobody, after the member left: error %d", got)
		}
	})
}

// O5: an instance id that belongs to another member fences the commit.
func TestCommitOfReplacedStaticMemberIsFenced(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		join := joinRequest("g", "", subscription("t"))
		join.InstanceID = new("i1")
		id := ask[*kmsg.JoinGroupResponse](c, 7, join).MemberID
		if s := ask[*kmsg.SyncGroupResponse](c, 4, syncRequest("g", id, 1)); s.ErrorCode != 0 {
			t.Fatalf("sync: error %d", s.ErrorCode)
		}
		req := commitRequest("g", commit{topic: "t"})
		req.Generation, req.MemberID, req.InstanceID = 1, "another", new("i1")
		if got := c.code(7, req); got != 82 {
			t.Errorf("error %d, want 82", got)
		}
	})
}

// B13: an empty group takes a commit without generation whatever names it has.
func TestEmptyGroupTakesCommitsOfAnyInstance(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		join := joinRequest("g", "", subscription("t"))
		join.InstanceID = new("once")
		id := ask[*kmsg.JoinGroupResponse](c, 7, join).MemberID
		leave := leaveRequest("g", id)
		leave.Members[0].InstanceID = new("once")
		if resp := ask[*kmsg.LeaveGroupResponse](c, 4, leave); resp.Members[0].ErrorCode != 0 {
			t.Fatalf("leave: error %d", resp.Members[0].ErrorCode)
		}
		for i, instance := range []string{"i9", "once"} {
			req := commitRequest("g", commit{topic: "t", offset: int64(10 + i)})
			req.InstanceID = &instance
			if got := c.code(7, req); got != 0 {
				t.Errorf("instance %s: error %d", instance, got)
			}
			if got := c.offset("g", "t", 0); got != int64(10+i) {
				t.Errorf("instance %s: offset %d", instance, got)
			}
		}
		live := alone(r.client("d"), "live", "t")
		req := commitRequest("live", commit{topic: "t"})
		if got := live.code(7, req); got != 25 {
			t.Errorf("a live group: error %d, want 25", got)
		}
	})
}

// O9: a commit of nothing that exists never gets to the coordinator, one that
// is refused by it is refused for each partition. B43: where the error of the
// group stands in each version of OffsetFetch.
func TestWhenTheCoordinatorDoesNotServe(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 2)
		c := r.client("c")
		c.must(8, commitRequest("g", commit{topic: "t", offset: 77}))
		r.check(r.co.Drain(context.Background()))

		if got := c.code(8, commitRequest("g", commit{topic: "nosuch"})); got != 3 {
			t.Errorf("commit to a missing topic: error %d, want 3", got)
		}
		if got := c.codes(8, commitRequest("g", commit{topic: "t"}, commit{topic: "nosuch"}, commit{topic: "t", partition: 1})); !cmp.Equal(got, []int16{16, 3, 16}) {
			t.Errorf("commit: errors %v, want 16, 3, 16", got)
		}
		eachVersion(r, kmsg.OffsetFetch, func(v int16) {
			want := kmsg.NewPtrOffsetFetchResponse()
			switch {
			case v == 1:
				none := kmsg.OffsetFetchResponseTopicPartition{Offset: -1, LeaderEpoch: -1, Metadata: new(""), ErrorCode: 16}
				one := none
				one.Partition = 1
				want.Topics = []kmsg.OffsetFetchResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetFetchResponseTopicPartition{none, one}}}
			case v < 8:
				want.ErrorCode = 16
			default:
				want.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", ErrorCode: 16}, {Group: "h", ErrorCode: 16}}
			}
			topics := []named{{"t", []int32{0, 1}}}
			req := fetchRequest("g", topics)
			if v >= 8 {
				req = fetchGroups(fetchGroup("g", topics), fetchGroup("h", nil))
			}
			equal(t, ask[*kmsg.OffsetFetchResponse](c, v, req), want)
		})
		if got := describe(c, 5, "g"); got.ErrorCode != 16 || got.State != "" {
			t.Errorf("describe: %+v, want error 16", got)
		}
		if got := deleteGroups(c, 3, "g"); got["g"] != 16 {
			t.Errorf("delete: %v, want 16", got)
		}
		if got := deleteOffsets(c, "g", named{"t", []int32{0}}); got.ErrorCode != 16 || len(got.Topics) != 0 {
			t.Errorf("offset delete: %+v, want 16", got)
		}
		if got := ask[*kmsg.LeaveGroupResponse](c, 4, leaveRequest("g", "m")); got.ErrorCode != 16 || len(got.Members) != 0 {
			t.Errorf("leave: %+v, want 16", got)
		}
		if got := ask[*kmsg.LeaveGroupResponse](c, 1, leaveRequest("g", "m")); got.ErrorCode != 16 {
			t.Errorf("leave v1: %+v, want 16", got)
		}
	})
}

// O34, T39: what is answered while groups are read from the log.
func TestWhileLoading(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		r.client("c").must(8, commitRequest("g", commit{topic: "t", offset: 7}))
		r.stop()
		r.hold = make(chan struct{})
		r.start()
		c := r.client("c")
		if got := ask[*kmsg.HeartbeatResponse](c, 4, heartbeatRequest("g", "m", 1)).ErrorCode; got != 0 {
			t.Errorf("heartbeat: error %d, want 0", got)
		}
		if code, _ := c.offsets(7, "g", nil); code != 14 {
			t.Errorf("fetch v7: error %d, want 14", code)
		}
		if _, list := c.offsets(1, "g", []named{{"t", []int32{0}}}); len(list) != 1 || list[0].Code != 14 || list[0].Offset != -1 {
			t.Errorf("fetch v1: %+v, want error 14", list)
		}
		if got := c.code(8, commitRequest("g", commit{topic: "t"})); got != 14 {
			t.Errorf("commit: error %d, want 14", got)
		}
		if got := ask[*kmsg.SyncGroupResponse](c, 5, syncRequest("g", "m", 1)).ErrorCode; got != 27 {
			t.Errorf("sync: error %d, want 27", got)
		}
		if got := ask[*kmsg.JoinGroupResponse](c, 5, joinRequest("g", "", nil)); got.ErrorCode != 14 || got.MemberID != "" {
			t.Errorf("join: %+v, want error 14", got)
		}
		listed := ask[*kmsg.ListGroupsResponse](c, 5, kmsg.NewPtrListGroupsRequest())
		if listed.ErrorCode != 14 || len(listed.Groups) != 0 {
			t.Errorf("list: %+v, want error 14 and nothing", listed)
		}
		close(r.hold)
		<-r.co.Loaded()
		if got := c.offset("g", "t", 0); got != 7 {
			t.Errorf("offset after loading: %d, want 7", got)
		}
		r.hold = nil
	})
}

// O13, B43: in one request a group can fail while another one answers.
func TestFetchOfSeveralGroupsFailsOneByOne(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		r.client("c").must(8, commitRequest("g", commit{topic: "t", offset: 7}))
		r.stop()
		loading := r.co.PartitionOf("h")
		if r.co.PartitionOf("g") == loading {
			t.Fatal("both groups are kept in one partition: the test has lost its point")
		}
		r.hold, r.held = make(chan struct{}), func(p int32) bool { return p == loading }
		r.start()
		synctest.Wait()
		c := r.client("c")
		topics := []named{{"t", []int32{0}}}
		want := kmsg.NewPtrOffsetFetchResponse()
		want.Groups = []kmsg.OffsetFetchResponseGroup{
			{Group: "h", ErrorCode: 14},
			{Group: "g", Topics: []kmsg.OffsetFetchResponseGroupTopic{{Topic: "t", Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{
				{Offset: 7, LeaderEpoch: 0, Metadata: new("")},
			}}}},
		}
		equal(t, ask[*kmsg.OffsetFetchResponse](c, 8, fetchGroups(fetchGroup("h", topics), fetchGroup("g", topics))), want)
		described := ask[*kmsg.DescribeGroupsResponse](c, 5, describeRequest("g", "h"))
		if a, b := described.Groups[0], described.Groups[1]; a.ErrorCode != 0 || a.State != "Empty" || b.ErrorCode != 14 || b.State != "" {
			t.Errorf("described: %+v", described.Groups)
		}
		if got := deleteGroups(c, 3, "h", "g"); got["h"] != 14 || got["g"] != 0 {
			t.Errorf("deleted: %v, want 14 for h and no error for g", got)
		}
		close(r.hold)
		r.hold, r.held = nil, nil
		<-r.co.Loaded()
	})
}

// O12, B52: what is not committed is -1 without error, whatever does not exist.
func TestFetchOfWhatWasNeverCommitted(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		c.must(8, commitRequest("h", commit{topic: "t", offset: 5}))
		eachVersion(r, kmsg.OffsetFetch, func(v int16) {
			if v >= 10 {
				return // an id must exist
			}
			want := []fetched{{"t", 0, -1, -1, "", 0}, {"t", 1, -1, -1, "", 0}, {"nosuch", 9, -1, -1, "", 0}}
			code, got := c.offsets(v, "absent", []named{{"t", []int32{0, 1}}, {"nosuch", []int32{9}}})
			if diff := cmp.Diff(want, got); code != 0 || diff != "" {
				t.Errorf("v%d: error %d (-want +got):\n%s", v, code, diff)
			}
			if code, got := c.offsets(v, "h", []named{}); code != 0 || len(got) != 0 {
				t.Errorf("v%d, no topics: error %d, %+v", v, code, got)
			}
			if v >= 2 {
				if code, got := c.offsets(v, "absent", nil); code != 0 || len(got) != 0 {
					t.Errorf("v%d, all: error %d, %+v", v, code, got)
				}
			}
		})
		two := fetchGroups(fetchGroup("h", []named{{"t", []int32{0, 1, 999}}}), fetchGroup("h", []named{{"u", []int32{0}}}))
		two.RequireStable = true
		none := kmsg.OffsetFetchResponseGroupTopicPartition{Offset: -1, LeaderEpoch: -1, Metadata: new("")}
		at := func(p int32) kmsg.OffsetFetchResponseGroupTopicPartition { n := none; n.Partition = p; return n }
		want := kmsg.NewPtrOffsetFetchResponse()
		want.Groups = []kmsg.OffsetFetchResponseGroup{
			{Group: "h", Topics: []kmsg.OffsetFetchResponseGroupTopic{{Topic: "t", Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{
				{Partition: 0, Offset: 5, LeaderEpoch: 0, Metadata: new("")}, at(1), at(999),
			}}}},
			{Group: "h", Topics: []kmsg.OffsetFetchResponseGroupTopic{{Topic: "u", Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{at(0)}}}},
		}
		for v := int16(8); v <= 9; v++ {
			equal(t, ask[*kmsg.OffsetFetchResponse](c, v, two), want)
			if got := ask[*kmsg.OffsetFetchResponse](c, v, fetchGroups()); len(got.Groups) != 0 {
				t.Errorf("v%d, no groups: %+v", v, got.Groups)
			}
		}
	})
}

// O33: offsets may be kept for the group "", which nobody can join.
func TestGroupWithoutName(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		c.must(8, commitRequest("", commit{topic: "t", offset: 4}))
		if got := c.offset("", "t", 0); got != 4 {
			t.Errorf("offset %d, want 4", got)
		}
		if got := ask[*kmsg.JoinGroupResponse](c, 5, joinRequest("", "", nil)).ErrorCode; got != 24 {
			t.Errorf("join: error %d, want 24", got)
		}
		if got := deleteGroups(c, 2, ""); got[""] != 0 {
			t.Errorf("delete: %v, want no error", got)
		}
	})
}

// O7: while members are awaited, the old generation may still commit, and the
// commit keeps the session.
func TestCommitWhileTheGroupPrepares(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := alone(r.client("a"), "g", "t")
		b := r.client("b")
		b.enter(joinRequest("g", "", subscription("t")))
		b.parked()
		m.must(8, by(m, commitRequest("g", commit{topic: "t", offset: 3})))
		if got := m.heartbeat(); got != 27 {
			t.Errorf("heartbeat: error %d, want 27", got)
		}
		if got := m.offset("g", "t", 0); got != 3 {
			t.Errorf("offset %d, want 3", got)
		}
	})
}

// B19, O10: retention of the commit itself; -1 means the broker's, 0 none.
func TestRetentionOfACommit(t *testing.T) {
	settings := map[string]string{"offsets.retention.check.interval.ms": "2000"}
	inBubble(t, settings, func(r *rig) {
		r.topic("t", 5)
		c := r.client("c")
		kept := func(v int16, partition int32, retention int64) {
			req := commitRequest("g", commit{topic: "t", partition: partition, offset: 5})
			req.RetentionTimeMillis = retention
			c.must(v, req)
		}
		kept(2, 0, -1)
		kept(2, 1, 0)
		kept(2, 2, 3000)
		kept(5, 3, 1)
		kept(4, 4, 1<<62)
		r.passes(2500)
		after := func() map[int32]int64 {
			_, all := c.offsets(7, "g", []named{{"t", []int32{0, 1, 2, 3, 4}}})
			offsets := map[int32]int64{}
			for _, o := range all {
				offsets[o.Partition] = o.Offset
			}
			return offsets
		}
		if diff := cmp.Diff(map[int32]int64{0: 5, 1: -1, 2: 5, 3: 5, 4: 5}, after(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after the first pass (-want +got):\n%s", diff)
		}
		r.passes(2000)
		if diff := cmp.Diff(map[int32]int64{0: 5, 1: -1, 2: -1, 3: 5, 4: 5}, after()); diff != "" {
			t.Errorf("after the second pass (-want +got):\n%s", diff)
		}
	})
}

// B50: any text is a group id, byte for byte, also over a restart.
func TestGroupIDs(t *testing.T) {
	ids := []string{
		"a/b", "a b", "..", "%2e%2e", "x\x00y", "группа-7", "emoji 🙂", "Case", "case",
		strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("n", 32767),
	}
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		for i, id := range ids {
			m := alone(r.client("c"), id, "t")
			m.must(7, by(m, commitRequest(id, commit{topic: "t", offset: int64(i)})))
		}
		r.restart()
		c := r.client("d")
		if lines := list(c, 4, nil, nil); len(lines) != len(ids) {
			t.Errorf("%d groups are listed, want %d", len(lines), len(ids))
		}
		for i, id := range ids {
			if got := c.offset(id, "t", 0); got != int64(i) {
				t.Errorf("group %.20q: offset %d, want %d", id, got, i)
			}
			d := describe(c, 4, id)
			if d.State != "Stable" || d.Group != id || len(d.Members) != 1 {
				t.Fatalf("group %.20q: described as %+v", id, d)
			}
			if resp := ask[*kmsg.LeaveGroupResponse](c, 2, leaveRequest(id, d.Members[0].MemberID)); resp.ErrorCode != 0 {
				t.Errorf("group %.20q: leave: error %d", id, resp.ErrorCode)
			}
			if got := deleteGroups(c, 1, id); got[id] != 0 {
				t.Errorf("group %.20q: delete: error %d", id, got[id])
			}
		}
		if lines := list(c, 4, nil, nil); len(lines) != 0 {
			t.Errorf("%v are left", lines)
		}
		// One byte more cannot be a string of the protocol.
		bad := r.client("bad")
		bad.send(5, describeRequest(strings.Repeat("n", 32768)))
		bad.closed()
	})
}

func describeRequest(groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	return req
}
