package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UpdateFeatures (key 57), versions 0-2: changes the level of features of the
// cluster (KIP-584). This broker names none in ApiVersions, so that whatever
// is asked for is refused with INVALID_UPDATE_VERSION.
//
//	v1: ValidateOnly and UpgradeType (KIP-778)
//	v2: one error for the whole request in place of Results
//
// Not done: features; throttling.
func updateFeaturesAPI() API {
	return API{Key: kmsg.UpdateFeatures, Min: 0, Max: 2, Class: Alone, Handle: updateFeatures}
}

func updateFeatures(_ *Server, c *Call) {
	req := requestOf[*kmsg.UpdateFeaturesRequest](c)
	resp := &kmsg.UpdateFeaturesResponse{Version: c.Version}
	for i := range req.FeatureUpdates {
		u := &req.FeatureUpdates[i]
		r := refuse(kerr.InvalidUpdateVersion, "This broker does not have the feature "+u.Feature+".")
		if c.Version >= 2 {
			resp.ErrorCode, resp.ErrorMessage = r.code, r.message
			break
		}
		resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{Feature: u.Feature, ErrorCode: r.code, ErrorMessage: r.message})
	}
	c.Answer.Reply(resp)
}
