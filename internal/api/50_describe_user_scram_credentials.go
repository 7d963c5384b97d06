package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeUserSCRAMCredentials (key 50), version 0: lists the users that can
// log in by SCRAM (KIP-554). There are none: a user that is named gets
// RESOURCE_NOT_FOUND.
//
// Not done: SCRAM. AlterUserScramCredentials, which would make users, is not
// served.
func describeUserSCRAMCredentialsAPI() API {
	return API{Key: kmsg.DescribeUserSCRAMCredentials, Min: 0, Max: 0, Class: Alone, Handle: describeUserSCRAMCredentials}
}

func describeUserSCRAMCredentials(_ *Server, c *Call) {
	req := requestOf[*kmsg.DescribeUserSCRAMCredentialsRequest](c)
	resp := &kmsg.DescribeUserSCRAMCredentialsResponse{Version: c.Version}
	for i, repeated := range distinct(req.Users, func(u *kmsg.DescribeUserSCRAMCredentialsRequestUser) string { return u.Name }) {
		r := refuse(kerr.ResourceNotFound, "This user has no SCRAM credentials.")
		if repeated {
			r = refuse(kerr.DuplicateResource, "The request names this user more than once.")
		}
		resp.Results = append(resp.Results, kmsg.DescribeUserSCRAMCredentialsResponseResult{User: req.Users[i].Name, ErrorCode: r.code, ErrorMessage: r.message})
	}
	c.Answer.Reply(resp)
}
