package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// JoinGroup (key 11), versions 0-9: a member enters a group and is answered
// when everyone has, or when the time to do so is over.
//
//	v0: the session timeout is the rebalance timeout too
//	v1: RebalanceTimeoutMillis
//	v2: ThrottleMillis in the response
//	v3: clients throttle themselves
//	v4: MEMBER_ID_REQUIRED: a dynamic member comes back with the id it was given (KIP-394)
//	v5: InstanceID: static members (KIP-345)
//	v6: flexible
//	v7: ProtocolType in the response, a protocol may be null (KIP-559)
//	v8: Reason (KIP-800)
//	v9: SkipAssignment for a static leader that came back (KIP-814)
//
// Not done: throttling.
func joinGroupAPI() API {
	return API{Key: kmsg.JoinGroup, Min: 0, Max: 9, Class: Overlaps, Handle: joinGroup}
}

func joinGroup(s *Server, c *Call) {
	req := requestOf[*kmsg.JoinGroupRequest](c)
	join := group.Join{
		Version:        c.Version,
		MemberID:       req.MemberID,
		InstanceID:     req.InstanceID,
		ClientID:       c.ClientID,
		ClientHost:     c.Host,
		SessionTimeout: time.Duration(req.SessionTimeoutMillis) * time.Millisecond,
		ProtocolType:   req.ProtocolType,
		Protocols:      joinProtocols(req.Protocols),
	}
	if c.Version >= 1 {
		join.RebalanceTimeout = time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond
	}
	if req.Reason != nil {
		join.Reason = *req.Reason
	}
	s.Coordinator.Submit(req.Group, join, func(r group.Response) {
		c.Answer.Reply(joinResponse(c.Version, answerOf[group.Joined](r)))
	})
}

// joinProtocols copies the list: the group keeps it, and the metadata lies in
// the connection's buffer.
func joinProtocols(from []kmsg.JoinGroupRequestProtocol) []group.Protocol {
	size := 0
	for i := range from {
		size += len(from[i].Metadata)
	}
	kept := make([]byte, 0, size)
	to := make([]group.Protocol, len(from))
	for i := range from {
		start := len(kept)
		kept = append(kept, from[i].Metadata...)
		to[i] = group.Protocol{Name: from[i].Name, Metadata: kept[start:len(kept):len(kept)]}
	}
	return to
}

func joinResponse(version int16, j group.Joined) *kmsg.JoinGroupResponse {
	resp := &kmsg.JoinGroupResponse{
		Version:        version,
		ErrorCode:      int16(j.Code),
		Generation:     j.Generation,
		ProtocolType:   j.ProtocolType,
		Protocol:       j.ProtocolName,
		LeaderID:       j.Leader,
		SkipAssignment: j.SkipAssignment,
		MemberID:       j.MemberID,
	}
	if version >= 7 && j.ProtocolName != nil && *j.ProtocolName == "" {
		resp.Protocol = nil
	}
	if len(j.Members) > 0 {
		resp.Members = make([]kmsg.JoinGroupResponseMember, len(j.Members))
	}
	for i, m := range j.Members {
		resp.Members[i] = kmsg.JoinGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ProtocolMetadata: m.Metadata}
	}
	return resp
}
