package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// UpdateFeatures (key 57), versions 0-2: changes the level of features of the
// cluster (KIP-584), of which there is one: transaction.version.
//
//	v1: ValidateOnly and UpgradeType (KIP-778)
//	v2: one error for the whole request in place of Results
//
// A level that the feature does not have, a lower one without a downgrade and
// a higher one with it are refused with INVALID_UPDATE_VERSION.
//
// Not done: throttling.
func updateFeaturesAPI() API {
	return API{Key: kmsg.UpdateFeatures, Min: 0, Max: 2, Class: Alone, Handle: updateFeatures}
}

// The upgrade types of UpdateFeatures.
const (
	upgrade         = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

func updateFeatures(s *Server, c *Call) {
	req := requestOf[*kmsg.UpdateFeaturesRequest](c)
	resp := &kmsg.UpdateFeaturesResponse{Version: c.Version}
	for i := range req.FeatureUpdates {
		u := &req.FeatureUpdates[i]
		err := s.updateFeature(c, req, u)
		if c.Version < 2 {
			r := s.refusal(err)
			resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{Feature: u.Feature, ErrorCode: r.code, ErrorMessage: r.message})
			continue
		}
		if err != nil {
			r := s.refusal(err)
			resp.ErrorCode, resp.ErrorMessage = r.code, r.message
			break
		}
	}
	c.Answer.Reply(resp)
}

func (s *Server) updateFeature(c *Call, req *kmsg.UpdateFeaturesRequest, u *kmsg.UpdateFeaturesRequestFeatureUpdate) error {
	update := broker.FeatureUpdate{Name: u.Feature, Level: u.MaxVersionLevel, ValidateOnly: c.Version >= 1 && req.ValidateOnly}
	switch {
	case c.Version == 0:
		update.Downgrade = u.AllowDowngrade
	case u.UpgradeType == safeDowngrade || u.UpgradeType == unsafeDowngrade:
		update.Downgrade = true
	case u.UpgradeType != upgrade:
		return broker.Refuse(kerr.InvalidUpdateVersion, "There is no upgrade type %d.", u.UpgradeType)
	}
	return s.Broker.UpdateFeature(c.Context, update)
}
