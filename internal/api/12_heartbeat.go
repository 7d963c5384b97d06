package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// Heartbeat (key 12), versions 0-4: a member says that it lives, and hears
// whether the group rebalances.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: InstanceID (KIP-345)
//	v4: flexible
//
// Not done: throttling.
func heartbeatAPI() API {
	return API{Key: kmsg.Heartbeat, Min: 0, Max: 4, Class: Overlaps, Handle: heartbeat}
}

func heartbeat(s *Server, c *Call) {
	req := requestOf[*kmsg.HeartbeatRequest](c)
	beat := group.Heartbeat{MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation}
	s.Coordinator.Submit(req.Group, beat, func(r group.Response) {
		c.Answer.Reply(&kmsg.HeartbeatResponse{Version: c.Version, ErrorCode: int16(answerOf[group.Beat](r).Code)})
	})
}
