package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestJoinGroupInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		eachVersion(r, kmsg.JoinGroup, func(v int16) {
			c := r.client("c1")
			req := joinRequest(fmt.Sprint("join-", v), "", []byte("sub"))
			req.Reason = new("just started")
			resp := ask[*kmsg.JoinGroupResponse](c, v, req)
			if v >= 4 {
				if !strings.HasPrefix(resp.MemberID, "c1-") {
					t.Errorf("v%d: the member id %q does not begin with the client id", v, resp.MemberID)
				}
				want := kmsg.NewPtrJoinGroupResponse()
				want.ErrorCode, want.Generation, want.MemberID = 79, -1, resp.MemberID
				equal(t, resp, want)
				again := *req
				again.MemberID = resp.MemberID
				resp = ask[*kmsg.JoinGroupResponse](c, v, &again)
			}
			want := kmsg.NewPtrJoinGroupResponse()
			want.Generation, want.ProtocolType, want.Protocol = 1, new("consumer"), new("range")
			want.MemberID, want.LeaderID = resp.MemberID, resp.MemberID
			want.Members = []kmsg.JoinGroupResponseMember{{MemberID: resp.MemberID, ProtocolMetadata: []byte("sub")}}
			equal(t, resp, want)
		})
	})
}

func TestStaticMemberIsNotSentBackForAnID(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for v := int16(5); v <= 9; v++ {
			c := r.client("c1")
			req := joinRequest(fmt.Sprint("static-", v), "", []byte("sub"))
			req.InstanceID = new("i1")
			resp := ask[*kmsg.JoinGroupResponse](c, v, req)
			if !strings.HasPrefix(resp.MemberID, "i1-") {
				t.Errorf("v%d: the member id %q does not begin with the instance id", v, resp.MemberID)
			}
			want := kmsg.NewPtrJoinGroupResponse()
			want.Generation, want.ProtocolType, want.Protocol = 1, new("consumer"), new("range")
			want.MemberID, want.LeaderID = resp.MemberID, resp.MemberID
			want.Members = []kmsg.JoinGroupResponseMember{{MemberID: resp.MemberID, InstanceID: new("i1"), ProtocolMetadata: []byte("sub")}}
			equal(t, resp, want)
		}
	})
}

// The error body of a join, and which member id it carries.
func TestRefusedJoins(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kmsg.JoinGroupRequest)
		code   int16
		echoed string
	}{
		{"no group id", func(r *kmsg.JoinGroupRequest) { r.Group = "" }, 24, "m"},
		{"session too short", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 5999 }, 26, "m"},
		{"session too long", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1_800_001 }, 26, "m"},
		{"unknown member", func(*kmsg.JoinGroupRequest) {}, 25, "m"},
		{"no protocols", func(r *kmsg.JoinGroupRequest) { r.MemberID, r.Protocols = "", nil }, 23, ""},
		{"no protocol type", func(r *kmsg.JoinGroupRequest) { r.MemberID, r.ProtocolType = "", "" }, 23, ""},
	}
	inBubble(t, nil, func(r *rig) {
		for _, test := range tests {
			eachVersion(r, kmsg.JoinGroup, func(v int16) {
				req := joinRequest("refused", "m", []byte("sub"))
				test.change(req)
				resp := ask[*kmsg.JoinGroupResponse](r.client("c"), v, req)
				want := kmsg.NewPtrJoinGroupResponse()
				want.ErrorCode, want.Generation, want.MemberID = test.code, -1, test.echoed
				equal(t, resp, want)
			})
		}
	})
}

func TestSyncGroupInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		eachVersion(r, kmsg.SyncGroup, func(v int16) {
			c := r.client("c")
			group := fmt.Sprint("sync-", v)
			c.enter(joinRequest(group, "", []byte("sub")))
			id := c.joined().MemberID
			req := syncRequest(group, id, 1)
			assign(req, id, []byte("part"))
			want := kmsg.NewPtrSyncGroupResponse()
			want.ProtocolType, want.Protocol, want.MemberAssignment = new("consumer"), new("range"), []byte("part")
			equal(t, ask[*kmsg.SyncGroupResponse](c, v, req), want)

			wrong := syncRequest(group, id, 2)
			refused := kmsg.NewPtrSyncGroupResponse()
			refused.ErrorCode = 22
			equal(t, ask[*kmsg.SyncGroupResponse](c, v, wrong), refused)
		})
	})
}

// T34: version 5 must name the protocol; null is refused before anything else
// is looked at.
func TestSyncGroupNamesTheProtocol(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		m := alone(r.client("c"), "g", "t")
		refused := kmsg.NewPtrSyncGroupResponse()
		refused.ErrorCode = 23

		for _, req := range []*kmsg.SyncGroupRequest{
			syncRequest("g", m.id, m.generation),
			syncRequest("", "nobody", -5), // what else is wrong does not count
		} {
			req.ProtocolType, req.Protocol = nil, nil
			equal(t, ask[*kmsg.SyncGroupResponse](m.client, 5, req), refused)
		}
		half := syncRequest("g", m.id, m.generation)
		half.Protocol = nil
		equal(t, ask[*kmsg.SyncGroupResponse](m.client, 5, half), refused)

		wrong := syncRequest("g", m.id, m.generation)
		wrong.Protocol = new("roundrobin")
		equal(t, ask[*kmsg.SyncGroupResponse](m.client, 5, wrong), refused)

		old := syncRequest("g", m.id, m.generation)
		old.ProtocolType, old.Protocol = nil, nil
		if resp := ask[*kmsg.SyncGroupResponse](m.client, 4, old); resp.ErrorCode != 0 {
			t.Errorf("v4 without a protocol: error %d", resp.ErrorCode)
		}
	})
}

func TestHeartbeatInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		m := alone(r.client("c"), "g", "t")
		eachVersion(r, kmsg.Heartbeat, func(v int16) {
			for _, test := range []struct {
				req  *kmsg.HeartbeatRequest
				code int16
			}{
				{heartbeatRequest("g", m.id, m.generation), 0},
				{heartbeatRequest("g", m.id, m.generation+1), 22},
				{heartbeatRequest("g", "nobody", m.generation), 25},
				{heartbeatRequest("absent", m.id, m.generation), 25},
				{heartbeatRequest("", m.id, m.generation), 24},
			} {
				want := kmsg.NewPtrHeartbeatResponse()
				want.ErrorCode = test.code
				equal(t, ask[*kmsg.HeartbeatResponse](m.client, v, test.req), want)
			}
		})
		static := heartbeatRequest("g", m.id, m.generation)
		static.InstanceID = new("i9")
		if resp := ask[*kmsg.HeartbeatResponse](m.client, 3, static); resp.ErrorCode != 25 {
			t.Errorf("a heartbeat of an unknown instance: error %d, want 25", resp.ErrorCode)
		}
	})
}

func TestLeaveGroupInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		eachVersion(r, kmsg.LeaveGroup, func(v int16) {
			m := alone(r.client("c"), fmt.Sprint("leave-", v), "t")
			unknown := kmsg.NewPtrLeaveGroupResponse()
			left := kmsg.NewPtrLeaveGroupResponse()
			if v < 3 {
				unknown.ErrorCode = 25
			} else {
				unknown.Members = []kmsg.LeaveGroupResponseMember{{MemberID: "nobody", ErrorCode: 25}}
				left.Members = []kmsg.LeaveGroupResponseMember{{MemberID: m.id}}
			}
			equal(t, ask[*kmsg.LeaveGroupResponse](m.client, v, leaveRequest("absent", "nobody")), unknown)
			equal(t, ask[*kmsg.LeaveGroupResponse](m.client, v, leaveRequest(m.group, "nobody")), unknown)
			equal(t, ask[*kmsg.LeaveGroupResponse](m.client, v, leaveRequest(m.group, m.id)), left)
			if code := m.heartbeat(); code != 25 {
				t.Errorf("v%d: heartbeat after leaving: error %d, want 25", v, code)
			}
			refused := kmsg.NewPtrLeaveGroupResponse()
			refused.ErrorCode = 24
			equal(t, ask[*kmsg.LeaveGroupResponse](m.client, v, leaveRequest("", m.id)), refused)
		})
	})
}

// An operator removes static members by their instance ids (KIP-345).
func TestLeaveGroupOfStaticMembers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		req := joinRequest("g", "", []byte("sub"))
		req.InstanceID = new("i1")
		id := ask[*kmsg.JoinGroupResponse](c, 7, req).MemberID

		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group = "g"
		leave.Members = []kmsg.LeaveGroupRequestMember{
			{InstanceID: new("i2"), Reason: new("scaled down")},
			{MemberID: "other", InstanceID: new("i1")},
			{InstanceID: new("i1")},
			{MemberID: id},
		}
		want := kmsg.NewPtrLeaveGroupResponse()
		want.Members = []kmsg.LeaveGroupResponseMember{
			{InstanceID: new("i2"), ErrorCode: 25},
			{MemberID: "other", InstanceID: new("i1"), ErrorCode: 82},
			{InstanceID: new("i1")},
			{MemberID: id, ErrorCode: 25},
		}
		equal(t, ask[*kmsg.LeaveGroupResponse](r.client("admin"), 5, leave), want)
	})
}

// What members offer and are assigned belongs to them: the broker copies the
// bytes out of its buffer and gives them back as they were (B47).
func TestMetadataAndAssignmentsAreOpaque(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		a, b := r.client("a"), r.client("b")
		first, second := bytes.Repeat([]byte{0xff, 0, 1}, 100), []byte{9}
		req := func(id string) *kmsg.JoinGroupRequest {
			req := joinRequest("g", id, first)
			req.ProtocolType = "custom"
			p := kmsg.NewJoinGroupRequestProtocol()
			p.Name, p.Metadata = "other", second
			req.Protocols = append(req.Protocols, p)
			return req
		}
		a.enter(req(""))
		ida := a.joined().MemberID
		b.enter(req(""))
		b.parked()
		a.send(5, req(ida))
		lead, follow := a.joined(), b.joined()
		for _, m := range lead.Members {
			if !bytes.Equal(m.ProtocolMetadata, first) {
				t.Errorf("the leader got metadata %x for %s", m.ProtocolMetadata, m.MemberID)
			}
		}

		// The leader gives itself nothing, a stranger something, and the
		// other member no entry at all.
		b.send(4, syncRequest("g", follow.MemberID, follow.Generation))
		sync := syncRequest("g", ida, lead.Generation)
		assign(sync, ida, nil)
		assign(sync, "stranger", []byte("x"))
		for _, resp := range []*kmsg.SyncGroupResponse{
			ask[*kmsg.SyncGroupResponse](a, 4, sync), received[*kmsg.SyncGroupResponse](b),
		} {
			if resp.ErrorCode != 0 || len(resp.MemberAssignment) != 0 {
				t.Errorf("sync: error %d, assignment %x, want an empty one", resp.ErrorCode, resp.MemberAssignment)
			}
		}
		d := describe(a, 5, "g")
		if len(d.Members) != 2 || d.Protocol != "range" || d.ProtocolType != "custom" {
			t.Fatalf("described: %+v", d)
		}
		for _, m := range d.Members {
			if !bytes.Equal(m.ProtocolMetadata, first) || len(m.MemberAssignment) != 0 {
				t.Errorf("described member: metadata %x, assignment %x", m.ProtocolMetadata, m.MemberAssignment)
			}
		}
	})
}

// B47: rubbish under type consumer means that the subscription is unknown, and
// unknown is read as "every topic".
func TestUnreadableSubscriptionCountsAsEveryTopic(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		m := aloneWith(r.client("c"), joinRequest("g", "", []byte{0, 9, 9}), []byte("part"))
		m.must(8, by(m, commitRequest("g", commit{topic: "t", offset: 5})))
		if got := deleteOffsets(m.client, "g", named{"t", []int32{0}}); got.ErrorCode != 0 || got.Topics[0].Partitions[0].ErrorCode != 86 {
			t.Errorf("OffsetDelete: %+v, want 86 for the partition", got)
		}
		if got := m.offset("g", "t", 0); got != 5 {
			t.Errorf("the offset is %d, want 5", got)
		}
	})
}

// B46: what the schema lets be null may be null, and nothing else.
func TestNullsWhereTheyAreAllowed(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 2)
		c := r.client("c")
		c.must(2, commitRequest("g", commit{topic: "t", offset: 1}))
		c.must(8, commitRequest("g", commit{topic: "t", partition: 1, offset: 2}))
		if _, list := c.offsets(1, "g", []named{{"t", []int32{0, 1}}}); list[0].Metadata != "" || list[1].Metadata != "" || list[1].Offset != 2 {
			t.Errorf("fetched %+v", list)
		}

		m := aloneWith(r.client("d"), joinRequest("h", "", nil), nil)
		beat := heartbeatRequest("h", m.id, m.generation)
		beat.InstanceID = nil
		if resp := ask[*kmsg.HeartbeatResponse](m.client, 3, beat); resp.ErrorCode != 0 {
			t.Errorf("heartbeat with a null instance id: error %d", resp.ErrorCode)
		}
		if d := describe(m.client, 5, "h"); len(d.Members) != 1 || len(d.Members[0].ProtocolMetadata) != 0 {
			t.Errorf("described %+v, want one member with empty metadata", d)
		}

		// A null member id cannot be said: the connection ends, others live.
		bad := r.client("bad")
		frame := bad.format.AppendRequest(nil, versioned(joinRequest("h", "", nil), 1), 1)
		null := bytes.Replace(frame, []byte("\x00\x01h\x00\x00\x27\x10\x00\x00\xea\x60\x00\x00"), []byte("\x00\x01h\x00\x00\x27\x10\x00\x00\xea\x60\xff\xff"), 1)
		if bytes.Equal(frame, null) {
			t.Fatal("the member id was not found in the frame")
		}
		if _, err := bad.nc.Write(null); err != nil {
			t.Fatal(err)
		}
		bad.closed()
		if code := m.heartbeat(); code != 0 {
			t.Errorf("heartbeat of another member afterwards: error %d", code)
		}
	})
}

func versioned[T kmsg.Request](req T, v int16) T {
	req.SetVersion(v)
	return req
}
