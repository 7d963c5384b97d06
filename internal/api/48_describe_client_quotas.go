package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// DescribeClientQuotas (key 48), versions 0-1: lists what users, clients and
// addresses are limited to (KIP-546). Nobody is: the list is empty.
//
//	v1: flexible
//
// Not done: quotas. AlterClientQuotas, which would set them, is not served.
func describeClientQuotasAPI() API {
	return API{Key: kmsg.DescribeClientQuotas, Min: 0, Max: 1, Class: Alone, Handle: describeClientQuotas}
}

func describeClientQuotas(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeClientQuotasRequest](c)
	resp := &kmsg.DescribeClientQuotasResponse{Version: c.Version, Entries: []kmsg.DescribeClientQuotasResponseEntry{}}
	if err := checkQuotaFilter(req.Components); err != nil {
		r := s.refusal(err)
		resp.ErrorCode, resp.ErrorMessage, resp.Entries = r.code, r.message, nil
	}
	c.Answer.Reply(resp)
}

// checkQuotaFilter refuses a filter that could match nothing whatever the
// quotas are.
func checkQuotaFilter(components []kmsg.DescribeClientQuotasRequestComponent) error {
	seen := map[string]bool{}
	for i := range components {
		f := &components[i]
		switch f.EntityType {
		case "user", "client-id", "ip":
		case "":
			return broker.Refuse(kerr.InvalidRequest, "The type of an entity is empty.")
		default:
			return broker.Refuse(kerr.UnsupportedVersion, "There are quotas of user, client-id and ip, not of %s.", f.EntityType)
		}
		if seen[f.EntityType] {
			return broker.Refuse(kerr.InvalidRequest, "The filter names %s more than once.", f.EntityType)
		}
		seen[f.EntityType] = true
		named := f.MatchType == kmsg.QuotasMatchTypeExact
		if f.MatchType < kmsg.QuotasMatchTypeExact || f.MatchType > kmsg.QuotasMatchTypeAny || named != (f.Match != nil) {
			return broker.Refuse(kerr.InvalidRequest, "A filter gives a name to match exactly, or asks for the default or for any.")
		}
	}
	if seen["ip"] && len(seen) > 1 {
		return broker.Refuse(kerr.InvalidRequest, "A quota of an ip has no user and no client-id.")
	}
	return nil
}
