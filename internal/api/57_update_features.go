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
//	v2: no Results
//
// All of the updates are made or none is: an error is that of the whole request,
// in every version, and Results has no more to say than which features there
// were.
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
	if err := s.updateFeatures(c, req); err != nil {
		r := s.refusal(err)
		resp.ErrorCode, resp.ErrorMessage = r.code, r.message
	} else if c.Version < 2 {
		for i := range req.FeatureUpdates {
			resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{Feature: req.FeatureUpdates[i].Feature})
		}
	}
	c.Answer.Reply(resp)
}

// updateFeatures looks at all of the updates before it makes one.
func (s *Server) updateFeatures(c *Call, req *kmsg.UpdateFeaturesRequest) error {
	for _, validate := range []bool{true, c.Version >= 1 && req.ValidateOnly} {
		for i := range req.FeatureUpdates {
			if err := s.updateFeature(c, &req.FeatureUpdates[i], validate); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Server) updateFeature(c *Call, u *kmsg.UpdateFeaturesRequestFeatureUpdate, validate bool) error {
	update := broker.FeatureUpdate{Name: u.Feature, Level: u.MaxVersionLevel, ValidateOnly: validate}
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
