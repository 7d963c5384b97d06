package api

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups (key 16), versions 0-5: the groups that this broker coordinates,
// those that only keep offsets included.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: flexible
//	v4: StatesFilter, GroupState (KIP-518)
//	v5: TypesFilter, GroupType (KIP-848)
//
// Filters match whatever the case; an unknown state or type matches nothing.
//
// Not done: throttling.
func listGroupsAPI() API {
	return API{Key: kmsg.ListGroups, Min: 0, Max: 5, Class: Alone, Handle: listGroups}
}

func listGroups(s *Server, c *Call) {
	req := requestOf[*kmsg.ListGroupsRequest](c)
	resp := &kmsg.ListGroupsResponse{Version: c.Version, Groups: []kmsg.ListGroupsResponseGroup{}}
	groups, code, err := s.Coordinator.List(c.Context)
	if err != nil {
		c.Answer.Drop(err)
		return
	}
	if code != 0 {
		resp.ErrorCode = int16(code)
		c.Answer.Reply(resp)
		return
	}
	for _, g := range groups {
		if !matches(req.StatesFilter, g.State) || !matches(req.TypesFilter, g.GroupType) {
			continue
		}
		resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
			Group: g.ID, ProtocolType: g.ProtocolType, GroupState: g.State, GroupType: g.GroupType,
		})
	}
	c.Answer.Reply(resp)
}

// matches reports whether a filter lets value through; an empty one lets all.
func matches(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool {
		return strings.EqualFold(strings.TrimSpace(f), value)
	})
}
