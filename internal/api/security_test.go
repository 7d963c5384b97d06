package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestACLsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		why := new("This broker has no authorizer: everyone may do everything.")
		eachVersion(r, kmsg.DescribeACLs, func(v int16) {
			req := kmsg.NewPtrDescribeACLsRequest()
			req.ResourceType, req.Operation, req.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
			equal(t, ask[*kmsg.DescribeACLsResponse](c, v, req), &kmsg.DescribeACLsResponse{ErrorCode: 54, ErrorMessage: why})
		})
		eachVersion(r, kmsg.CreateACLs, func(v int16) {
			req := kmsg.NewPtrCreateACLsRequest()
			req.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
			equal(t, ask[*kmsg.CreateACLsResponse](c, v, req), &kmsg.CreateACLsResponse{
				Results: []kmsg.CreateACLsResponseResult{{ErrorCode: 54, ErrorMessage: why}, {ErrorCode: 54, ErrorMessage: why}},
			})
		})
		eachVersion(r, kmsg.DeleteACLs, func(v int16) {
			req := kmsg.NewPtrDeleteACLsRequest()
			req.Filters = make([]kmsg.DeleteACLsRequestFilter, 1)
			equal(t, ask[*kmsg.DeleteACLsResponse](c, v, req), &kmsg.DeleteACLsResponse{
				Results: []kmsg.DeleteACLsResponseResult{{ErrorCode: 54, ErrorMessage: why}},
			})
		})
	})
}

func TestDescribeClientQuotas(t *testing.T) {
	type component = kmsg.DescribeClientQuotasRequestComponent
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, test := range []struct {
			name   string
			filter []component
			code   int16
		}{
			{"everything", nil, 0},
			{"any user", []component{{EntityType: "user", MatchType: kmsg.QuotasMatchTypeAny}}, 0},
			{"a client of the default user", []component{
				{EntityType: "user", MatchType: kmsg.QuotasMatchTypeDefault},
				{EntityType: "client-id", MatchType: kmsg.QuotasMatchTypeExact, Match: new("x")},
			}, 0},
			{"another type", []component{{EntityType: "team", MatchType: kmsg.QuotasMatchTypeAny}}, 35},
			{"no type", []component{{MatchType: kmsg.QuotasMatchTypeAny}}, 42},
			{"a type twice", []component{{EntityType: "ip", MatchType: kmsg.QuotasMatchTypeAny}, {EntityType: "ip", MatchType: kmsg.QuotasMatchTypeAny}}, 42},
			{"an address of a user", []component{{EntityType: "ip", MatchType: kmsg.QuotasMatchTypeAny}, {EntityType: "user", MatchType: kmsg.QuotasMatchTypeAny}}, 42},
			{"another match", []component{{EntityType: "user", MatchType: 9}}, 42},
			{"exactly nothing", []component{{EntityType: "user", MatchType: kmsg.QuotasMatchTypeExact}}, 42},
		} {
			eachVersion(r, kmsg.DescribeClientQuotas, func(v int16) {
				req := kmsg.NewPtrDescribeClientQuotasRequest()
				req.Components = test.filter
				resp := ask[*kmsg.DescribeClientQuotasResponse](c, v, req)
				if resp.ErrorCode != test.code || len(resp.Entries) != 0 || (resp.Entries == nil) != (test.code != 0) {
					t.Errorf("%s, v%d: %+v, want error %d", test.name, v, resp, test.code)
				}
			})
		}
	})
}

func TestDescribeUserScramCredentials(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		equal(t, ask[*kmsg.DescribeUserSCRAMCredentialsResponse](c, 0, req), &kmsg.DescribeUserSCRAMCredentialsResponse{})
		for _, name := range []string{"ann", "bob", "bob"} {
			req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
		}
		codes := map[string]int16{}
		for _, u := range ask[*kmsg.DescribeUserSCRAMCredentialsResponse](c, 0, req).Results {
			codes[u.User] = u.ErrorCode
		}
		if diff := cmp.Diff(map[string]int16{"ann": 91, "bob": 92}, codes); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
}

// What this broker cannot do is not served, so that a client says so itself.
func TestWhatIsNotThereIsNotListed(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		resp := ask[*kmsg.ApiVersionsResponse](r.client("c"), 0, kmsg.NewPtrApiVersionsRequest())
		absent := map[kmsg.Key]bool{
			kmsg.AlterClientQuotas: true, kmsg.AlterUserSCRAMCredentials: true, kmsg.UnregisterBroker: true,
			kmsg.ConsumerGroupHeartbeat: true, kmsg.AddRaftVoter: true, kmsg.RemoveRaftVoter: true,
		}
		for _, k := range resp.ApiKeys {
			if key := kmsg.Key(k.ApiKey); absent[key] {
				t.Errorf("%s is listed", key.Name())
			}
		}
	})
}
