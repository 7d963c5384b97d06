package api

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// DescribeGroups (key 15), versions 0-6: the state of classic groups, their
// members, what they subscribed to and what they were assigned.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: AuthorizedOperations, if asked for (KIP-430)
//	v4: InstanceID of static members (KIP-345)
//	v5: flexible
//	v6: ErrorMessage, and GROUP_ID_NOT_FOUND where earlier versions say Dead (KIP-1043)
//
// Not done: throttling.
func describeGroupsAPI() API {
	return API{Key: kmsg.DescribeGroups, Min: 0, Max: 6, Class: Overlaps, Handle: describeGroups}
}

func describeGroups(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeGroupsRequest](c)
	resp := &kmsg.DescribeGroupsResponse{Version: c.Version, Groups: make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))}
	if len(req.Groups) == 0 {
		c.Answer.Reply(resp)
		return
	}
	operations := notAsked
	if req.IncludeAuthorizedOperations {
		operations = groupOperations
	}
	var open atomic.Int64
	open.Store(int64(len(req.Groups)))
	for i, id := range req.Groups {
		s.Coordinator.Submit(id, group.Describe{Version: c.Version}, func(r group.Response) {
			resp.Groups[i] = describedGroup(id, answerOf[group.Described](r), operations)
			if open.Add(-1) == 0 {
				c.Answer.Reply(resp)
			}
		})
	}
}

func describedGroup(id string, d group.Described, operations int32) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.DescribeGroupsResponseGroup{
		ErrorCode:            int16(d.Code),
		Group:                id,
		State:                d.State,
		ProtocolType:         d.ProtocolType,
		Protocol:             d.ProtocolData,
		Members:              make([]kmsg.DescribeGroupsResponseGroupMember, len(d.Members)),
		AuthorizedOperations: operations,
	}
	if d.Code != 0 {
		g.AuthorizedOperations = notAsked
	}
	if d.ErrorMessage != "" {
		g.ErrorMessage = &d.ErrorMessage
	}
	for i, m := range d.Members {
		g.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID:         m.MemberID,
			InstanceID:       m.InstanceID,
			ClientID:         m.ClientID,
			ClientHost:       m.ClientHost,
			ProtocolMetadata: m.Metadata,
			MemberAssignment: m.Assignment,
		}
	}
	return g
}
