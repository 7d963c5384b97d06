package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// LeaveGroup (key 13), versions 0-5: members go, of themselves or by the hand
// of an operator.
//
//	v0: one member, whose error is that of the response
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: a list of members, each with its error; static ones by instance id (KIP-345)
//	v4: flexible
//	v5: Reason for each member (KIP-800)
//
// Not done: throttling.
func leaveGroupAPI() API {
	return API{Key: kmsg.LeaveGroup, Min: 0, Max: 5, Class: Overlaps, Handle: leaveGroup}
}

func leaveGroup(s *Server, c *Call) {
	req := requestOf[*kmsg.LeaveGroupRequest](c)
	leave := group.Leave{Version: c.Version}
	if c.Version < 3 {
		leave.Members = []group.LeavingMember{{MemberID: req.MemberID}}
	} else {
		leave.Members = make([]group.LeavingMember, len(req.Members))
		for i, m := range req.Members {
			leave.Members[i] = group.LeavingMember{MemberID: m.MemberID, InstanceID: m.InstanceID}
			if m.Reason != nil {
				leave.Members[i].Reason = *m.Reason
			}
		}
	}
	s.Coordinator.Submit(req.Group, leave, func(r group.Response) {
		c.Answer.Reply(leaveResponse(c.Version, answerOf[group.Left](r)))
	})
}

func leaveResponse(version int16, l group.Left) *kmsg.LeaveGroupResponse {
	resp := &kmsg.LeaveGroupResponse{Version: version, ErrorCode: int16(l.Code)}
	if l.Code != 0 {
		return resp
	}
	if version < 3 {
		resp.ErrorCode = int16(l.Members[0].Code)
		return resp
	}
	resp.Members = make([]kmsg.LeaveGroupResponseMember, len(l.Members))
	for i, m := range l.Members {
		resp.Members[i] = kmsg.LeaveGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ErrorCode: int16(m.Code)}
	}
	return resp
}
