package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FindCoordinator (key 10), versions 0-6: tells where a group, or the
// transactions of a transactional id, are coordinated.
//
//	v0: groups only
//	v1: CoordinatorType; ErrorMessage in the response (KIP-98)
//	v2: clients throttle themselves
//	v3: flexible
//	v4: CoordinatorKeys: several at once (KIP-699)
//	v5: TRANSACTION_ABORTABLE is possible (KIP-890)
//	v6: share groups (KIP-932)
//
// Not done: share groups are refused with INVALID_REQUEST; throttling.
func findCoordinatorAPI() API {
	return API{Key: kmsg.FindCoordinator, Min: 0, Max: 6, Class: Alone, Handle: findCoordinator}
}

// The types of coordinators.
const (
	groupCoordinator = 0
	txnCoordinator   = 1
	shareCoordinator = 2
)

func findCoordinator(s *Server, c *Call) {
	req := requestOf[*kmsg.FindCoordinatorRequest](c)
	resp := &kmsg.FindCoordinatorResponse{}
	refused := checkCoordinatorType(req.CoordinatorType)
	if c.Version >= 4 {
		resp.Coordinators = make([]kmsg.FindCoordinatorResponseCoordinator, 0, len(req.CoordinatorKeys))
		for _, key := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, coordinatorOf(s, c, key, refused))
		}
		c.Answer.Reply(resp)
		return
	}
	one := coordinatorOf(s, c, req.CoordinatorKey, refused)
	resp.ErrorCode, resp.ErrorMessage = one.ErrorCode, one.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = one.NodeID, one.Host, one.Port
	c.Answer.Reply(resp)
}

// checkCoordinatorType returns nil for groups and transactional ids.
func checkCoordinatorType(t int8) *refusal {
	var r refusal
	switch t {
	case groupCoordinator, txnCoordinator:
		return nil
	case shareCoordinator:
		r = refuse(kerr.InvalidRequest, "This broker does not support share groups yet.")
	default:
		r = refuse(kerr.InvalidRequest, "There is no such type of coordinator.")
	}
	return &r
}

func coordinatorOf(s *Server, c *Call, key string, refused *refusal) kmsg.FindCoordinatorResponseCoordinator {
	if refused != nil {
		return kmsg.FindCoordinatorResponseCoordinator{
			Key: key, NodeID: -1, Port: -1, ErrorCode: refused.code, ErrorMessage: refused.message,
		}
	}
	return kmsg.FindCoordinatorResponseCoordinator{
		Key: key, NodeID: s.Broker.Config.NodeID, Host: c.Listener.Host, Port: c.Listener.Port,
	}
}
