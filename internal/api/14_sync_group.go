package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// SyncGroup (key 14), versions 0-5: the leader hands in the assignment, and
// every member is answered with its own once that is durable.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: InstanceID (KIP-345)
//	v4: flexible
//	v5: ProtocolType and Protocol, which a request must carry (KIP-559)
//
// Not done: throttling.
func syncGroupAPI() API {
	return API{Key: kmsg.SyncGroup, Min: 0, Max: 5, Class: Overlaps, Handle: syncGroup}
}

func syncGroup(s *Server, c *Call) {
	req := requestOf[*kmsg.SyncGroupRequest](c)
	if c.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		c.Answer.Reply(&kmsg.SyncGroupResponse{Version: c.Version, ErrorCode: kerr.InconsistentGroupProtocol.Code})
		return
	}
	sync := group.Sync{
		Version:      c.Version,
		MemberID:     req.MemberID,
		InstanceID:   req.InstanceID,
		Generation:   req.Generation,
		ProtocolType: req.ProtocolType,
		ProtocolName: req.Protocol,
		Assignments:  syncAssignments(req.GroupAssignment),
	}
	s.Coordinator.Submit(req.Group, sync, func(r group.Response) {
		d := answerOf[group.Synced](r)
		c.Answer.Reply(&kmsg.SyncGroupResponse{
			Version:          c.Version,
			ErrorCode:        int16(d.Code),
			ProtocolType:     d.ProtocolType,
			Protocol:         d.ProtocolName,
			MemberAssignment: d.Assignment,
		})
	})
}

// syncAssignments copies the leader's plan: the group keeps it, and it lies in
// the connection's buffer.
func syncAssignments(from []kmsg.SyncGroupRequestGroupAssignment) []group.Assignment {
	if len(from) == 0 {
		return nil
	}
	size := 0
	for i := range from {
		size += len(from[i].MemberAssignment)
	}
	kept := make([]byte, 0, size)
	to := make([]group.Assignment, len(from))
	for i := range from {
		start := len(kept)
		kept = append(kept, from[i].MemberAssignment...)
		to[i] = group.Assignment{MemberID: from[i].MemberID, Data: kept[start:len(kept):len(kept)]}
	}
	return to
}
