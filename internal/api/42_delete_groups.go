package api

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// DeleteGroups (key 42), versions 0-3: empty groups go, with their offsets. It
// is answered when the tombstones are durable.
//
//	v1: clients throttle themselves
//	v2: flexible
//	v3: ErrorMessage for each group
//
// Not done: throttling.
func deleteGroupsAPI() API {
	return API{Key: kmsg.DeleteGroups, Min: 0, Max: 3, Class: Overlaps, Handle: deleteGroups}
}

func deleteGroups(s *Server, c *Call) {
	req := requestOf[*kmsg.DeleteGroupsRequest](c)
	resp := &kmsg.DeleteGroupsResponse{Version: c.Version}
	seen := make(map[string]bool, len(req.Groups))
	for _, id := range req.Groups {
		if !seen[id] {
			seen[id] = true
			resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{Group: id})
		}
	}
	if len(resp.Groups) == 0 {
		c.Answer.Reply(resp)
		return
	}
	var open atomic.Int64
	open.Store(int64(len(resp.Groups)))
	for i := range resp.Groups {
		answer := &resp.Groups[i]
		s.Coordinator.Submit(answer.Group, group.Delete{}, func(r group.Response) {
			answer.ErrorCode = int16(answerOf[group.Deleted](r).Code)
			answer.ErrorMessage = deleteGroupMessage(answer.ErrorCode)
			if open.Add(-1) == 0 {
				c.Answer.Reply(resp)
			}
		})
	}
}

// deleteGroupMessage says in words why a group was not deleted.
func deleteGroupMessage(code int16) *string {
	switch code {
	case 0:
		return nil
	case kerr.NonEmptyGroup.Code:
		return new("The group still has members.")
	case kerr.GroupIDNotFound.Code:
		return new("There is no such group.")
	case kerr.InvalidGroupID.Code:
		return new("The group id is not allowed.")
	default:
		return new("The coordinator of the group cannot answer at this moment; try again.")
	}
}
