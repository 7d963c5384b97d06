package api

import "github.com/twmb/franz-go/pkg/kmsg"

// CreateACLs (key 30), versions 1-3: adds rules about who may do what. Without
// an authorizer every one of them is refused: SECURITY_DISABLED.
//
//	v1: ResourcePatternType (KIP-290)
//	v2: flexible
//	v3: resources of type user (KIP-373)
//
// Not done: an authorizer.
func createACLsAPI() API {
	return API{Key: kmsg.CreateACLs, Min: 1, Max: 3, Class: Alone, Handle: createACLs}
}

func createACLs(_ *Server, c *Call) {
	req := requestOf[*kmsg.CreateACLsRequest](c)
	r := noAuthorizer()
	resp := &kmsg.CreateACLsResponse{Version: c.Version, Results: make([]kmsg.CreateACLsResponseResult, len(req.Creations))}
	for i := range resp.Results {
		resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = r.code, r.message
	}
	c.Answer.Reply(resp)
}
