package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// ApiVersions (key 18), versions 0-5: tells which APIs are served at which
// versions.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: flexible, but for the header of the response; ClientSoftwareName and ClientSoftwareVersion (KIP-511); features (KIP-584)
//	v4: features may start at level 0 (KIP-1022); before, such a one is named as finalized only
//	v5: ClusterID and NodeID, for clients that may have come to the wrong broker (KIP-1242)
//
// A request of any other version is answered, too: with UNSUPPORTED_VERSION
// and this API's own range, in the form of v0, so that a client can step down.
//
// The one feature is transaction.version. Its finalized level is that of the
// moment; a level of 0 is left out.
//
// Not done: throttling.
func apiVersionsAPI() API {
	return API{Key: kmsg.ApiVersions, Min: 0, Max: 5, Class: Alone, Handle: apiVersions}
}

func apiVersions(s *Server, c *Call) {
	own := apiVersionsAPI()
	resp := kmsg.NewPtrApiVersionsResponse()
	if c.Version < own.Min || c.Version > own.Max {
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{advertised(&own)}
		c.Answer.Reply(resp)
		return
	}
	if refused := checkWho(s, c); refused != nil {
		resp.ErrorCode = refused.Code
	} else {
		resp.ApiKeys = s.versions()
		nameFeatures(resp, c.Version, s.Broker.Features())
	}
	c.Answer.Reply(resp)
}

// nameFeatures says which levels of features there are, and which are chosen.
func nameFeatures(resp *kmsg.ApiVersionsResponse, version int16, features []broker.Feature) {
	if version < 3 {
		return
	}
	resp.FinalizedFeaturesEpoch = 0
	for _, f := range features {
		if version >= 4 || f.Min > 0 {
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{
				Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max,
			})
		}
		if f.Level > 0 {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{
				Name: f.Name, MinVersionLevel: f.Level, MaxVersionLevel: f.Level,
			})
		}
	}
}

// versions is the table as clients see it.
func (s *Server) versions() []kmsg.ApiVersionsResponseApiKey {
	s.versionsOnce.Do(func() {
		for _, a := range Table() {
			s.versionsList = append(s.versionsList, advertised(&a))
		}
	})
	return s.versionsList
}

func advertised(a *API) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.ApiVersionsResponseApiKey{ApiKey: a.Key.Int16(), MinVersion: a.Min, MaxVersion: a.Max}
	if a.FromZero {
		k.MinVersion = 0
	}
	return k
}

func checkWho(s *Server, c *Call) *kerr.Error {
	req := requestOf[*kmsg.ApiVersionsRequest](c)
	if c.Version >= 3 && !(isSoftwareName(req.ClientSoftwareName) && isSoftwareName(req.ClientSoftwareVersion)) {
		return kerr.InvalidRequest
	}
	if c.Version < 5 {
		return nil
	}
	if (req.ClusterID == nil) != (req.NodeID == -1) {
		return kerr.InvalidRequest
	}
	if req.ClusterID != nil && (*req.ClusterID != s.Broker.Catalog.ClusterID() || req.NodeID != s.Broker.Config.NodeID) {
		return kerr.RebootstrapRequired
	}
	return nil
}

// isSoftwareName is true for letters and digits, and hyphens and dots between
// them.
func isSoftwareName(s string) bool {
	inner := func(c byte) bool { return c == '-' || c == '.' }
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && !(inner(c) && i > 0 && i < len(s)-1) {
			return false
		}
	}
	return s != ""
}
