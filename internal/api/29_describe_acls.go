package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeACLs (key 29), versions 1-3: lists who may do what. Without an
// authorizer there is nothing to list: SECURITY_DISABLED.
//
//	v1: ResourcePatternType (KIP-290)
//	v2: flexible
//	v3: resources of type user (KIP-373)
//
// Not done: an authorizer.
func describeACLsAPI() API {
	return API{Key: kmsg.DescribeACLs, Min: 1, Max: 3, Class: Alone, Handle: describeACLs}
}

func describeACLs(_ *Server, c *Call) {
	r := noAuthorizer()
	c.Answer.Reply(&kmsg.DescribeACLsResponse{Version: c.Version, ErrorCode: r.code, ErrorMessage: r.message})
}

// noAuthorizer is what every question about ACLs is answered with.
func noAuthorizer() refusal {
	return refuse(kerr.SecurityDisabled, "This broker has no authorizer: everyone may do everything.")
}
