package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteACLs (key 31), versions 1-3: removes rules about who may do what.
// Without an authorizer every filter is refused: SECURITY_DISABLED.
//
//	v1: ResourcePatternType (KIP-290)
//	v2: flexible
//	v3: resources of type user (KIP-373)
//
// Not done: an authorizer.
func deleteACLsAPI() API {
	return API{Key: kmsg.DeleteACLs, Min: 1, Max: 3, Class: Alone, Handle: deleteACLs}
}

func deleteACLs(_ *Server, c *Call) {
	req := requestOf[*kmsg.DeleteACLsRequest](c)
	r := noAuthorizer()
	resp := &kmsg.DeleteACLsResponse{Version: c.Version, Results: make([]kmsg.DeleteACLsResponseResult, len(req.Filters))}
	for i := range resp.Results {
		resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = r.code, r.message
	}
	c.Answer.Reply(resp)
}
