package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

func apiVersionsRequest(name, version string) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
	return req
}

// versions asks for ApiVersions; its answers have the oldest header always.
func (c *client) versions(v int16, req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	c.Helper()
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = v
	body := c.body(v, req)
	if err := resp.ReadFrom(body); err != nil {
		c.Fatal(err)
	}
	if again := resp.AppendTo(nil); string(again) != string(body) {
		c.Errorf("v%d: the answer is not in the form of its version: %x", v, body)
	}
	return resp
}

// Check 1 of the bootstrap list, and B39.
func TestApiVersionsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.ApiVersions, func(v int16) {
			resp := c.versions(v, apiVersionsRequest("apache-kafka-java", "4.4.0"))
			if resp.ErrorCode != 0 {
				t.Errorf("v%d: %+v", v, resp)
			}
			checkFeatures(t, resp, 2)
			served := map[int16][2]int16{}
			for _, k := range resp.ApiKeys {
				if _, twice := served[k.ApiKey]; twice {
					t.Errorf("v%d: key %d is named twice", v, k.ApiKey)
				}
				served[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
			}
			want := map[int16][2]int16{}
			for _, a := range api.Table() {
				want[int16(a.Key)] = [2]int16{a.Min, a.Max}
			}
			want[0] = [2]int16{0, 13} // check 3: Produce is named from 0 on
			if diff := cmp.Diff(want, served); diff != "" {
				t.Errorf("v%d: keys (-want +got):\n%s", v, diff)
			}
		})
	})
}

// checkFeatures wants transaction.version to be told, at that level, as far as
// the version can tell it. Check 4 of the bootstrap list: before version 4 no
// feature begins at 0.
func checkFeatures(t *testing.T, resp *kmsg.ApiVersionsResponse, level int16) {
	t.Helper()
	var supported []kmsg.ApiVersionsResponseSupportedFeature
	var finalized []kmsg.ApiVersionsResponseFinalizedFeature
	if resp.Version >= 4 {
		supported = append(supported, kmsg.ApiVersionsResponseSupportedFeature{Name: "transaction.version", MinVersion: 0, MaxVersion: 2})
	}
	if resp.Version >= 3 && level > 0 {
		finalized = append(finalized, kmsg.ApiVersionsResponseFinalizedFeature{Name: "transaction.version", MinVersionLevel: level, MaxVersionLevel: level})
	}
	if diff := cmp.Diff(supported, resp.SupportedFeatures, equateEmpty, ignoreTags); diff != "" {
		t.Errorf("v%d: supported features (-want +got):\n%s", resp.Version, diff)
	}
	if diff := cmp.Diff(finalized, resp.FinalizedFeatures, equateEmpty, ignoreTags); diff != "" {
		t.Errorf("v%d: finalized features (-want +got):\n%s", resp.Version, diff)
	}
	if resp.Version >= 3 && resp.FinalizedFeaturesEpoch < 0 {
		t.Errorf("v%d: the epoch of the features is %d: clients do not believe them", resp.Version, resp.FinalizedFeaturesEpoch)
	}
}

func TestApiVersionsOfUnknownVersions(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, v := range []byte{6, 99} {
			c.sendRaw([]byte{0, 18, 0, v, 0, 0, 0, 7}, []byte{0xff, 0xff, 0, 0xaa, 0xbb})
			frame := <-c.frames
			want := []byte{0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
			if string(frame) != string(want) {
				t.Errorf("v%d: answer is %x, want %x", v, frame, want)
			}
		}
		if resp := c.versions(0, apiVersionsRequest("", "")); resp.ErrorCode != 0 {
			t.Errorf("v0 on the same connection: error %d", resp.ErrorCode)
		}
	})
}

// Check 2, and B39.3.
func TestApiVersionsChecksTheSoftwareName(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, s := range []struct {
			name, version string
			code          int16
		}{
			{"kgo", "1.22.3", 0},
			{"a", "1", 0},
			{"confluent-kafka-python", "2.0.2-rdkafka-2.0.2", 0},
			{"", "1", 42},
			{"a", "", 42},
			{"a b", "1", 42},
			{"-a", "1", 42},
			{"a.", "1", 42},
			{"a_b", "1", 42},
			{"\u00e4", "1", 42},
		} {
			resp := c.versions(3, apiVersionsRequest(s.name, s.version))
			if resp.ErrorCode != s.code || (s.code != 0) != (len(resp.ApiKeys) == 0) {
				t.Errorf("%q %q: error %d and %d keys", s.name, s.version, resp.ErrorCode, len(resp.ApiKeys))
			}
			// Older versions have no name to check.
			if old := c.versions(2, apiVersionsRequest(s.name, s.version)); old.ErrorCode != 0 {
				t.Errorf("v2 with %q: error %d", s.name, old.ErrorCode)
			}
		}
	})
}

func TestApiVersionsOfAClientThatCameToTheWrongBroker(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		own := r.cat.ClusterID()
		for _, s := range []struct {
			cluster *string
			node    int32
			code    int16
		}{
			{nil, -1, 0},
			{&own, 1, 0},
			{&own, 2, 129},
			{new("another"), 1, 129},
			{&own, -1, 42},
			{nil, 1, 42},
		} {
			req := apiVersionsRequest("a", "1")
			req.ClusterID, req.NodeID = s.cluster, s.node
			if resp := c.versions(5, req); resp.ErrorCode != s.code {
				t.Errorf("cluster %v node %d: error %d, want %d", s.cluster, s.node, resp.ErrorCode, s.code)
			}
		}
	})
}

// Checks 3 and 11, and B39.4-6: what is not served ends the connection.
func TestUnservedRequestsEndTheConnection(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for name, start := range map[string][]byte{
			"Produce v2":   {0, 0, 0, 2, 0, 0, 0, 1},
			"Metadata v99": {0, 3, 0, 99, 0, 0, 0, 1},
			"JoinGroup 10": {0, 11, 0, 10, 0, 0, 0, 1},
			"key 500":      {1, 244, 0, 0, 0, 0, 0, 1},
			"key 24":       {0, 24, 0, 0, 0, 0, 0, 1},
			"key 68":       {0, 68, 0, 0, 0, 0, 0, 1},
		} {
			c := r.client(name)
			c.sendRaw(start, []byte{0xff, 0xff, 0, 0, 0, 0})
			c.closed()
		}
		c := r.client("next")
		if resp := c.versions(0, apiVersionsRequest("", "")); resp.ErrorCode != 0 {
			t.Errorf("error %d", resp.ErrorCode)
		}
	})
}

func findRequest(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, keys
	if len(keys) > 0 {
		req.CoordinatorKey = keys[0]
	}
	return req
}

// B48.
func TestFindCoordinatorInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		here := kmsg.FindCoordinatorResponseCoordinator{NodeID: 1, Host: "broker.test", Port: 9092}
		eachVersion(r, kmsg.FindCoordinator, func(v int16) {
			resp := ask[*kmsg.FindCoordinatorResponse](c, v, findRequest(0, "g1", "g2", "", "g1"))
			want := &kmsg.FindCoordinatorResponse{NodeID: here.NodeID, Host: here.Host, Port: here.Port}
			for _, key := range []string{"g1", "g2", "", "g1"} {
				entry := here
				entry.Key = key
				want.Coordinators = append(want.Coordinators, entry)
			}
			equal(t, resp, want)
			if v == 0 {
				return
			}
			producer := ask[*kmsg.FindCoordinatorResponse](c, v, findRequest(1, "tx"))
			entry := here
			entry.Key = "tx"
			equal(t, producer, &kmsg.FindCoordinatorResponse{
				NodeID: here.NodeID, Host: here.Host, Port: here.Port, Coordinators: []kmsg.FindCoordinatorResponseCoordinator{entry},
			})
			for kind, code := range map[int8]int16{2: 42, 5: 42, -1: 42} {
				resp := ask[*kmsg.FindCoordinatorResponse](c, v, findRequest(kind, "x"))
				one := kmsg.FindCoordinatorResponseCoordinator{Key: "x", NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage}
				if v >= 4 {
					one = resp.Coordinators[0]
				}
				if one.ErrorCode != code || one.NodeID != -1 || one.Host != "" || one.Port != -1 || one.ErrorMessage == nil {
					t.Errorf("v%d type %d: %+v", v, kind, one)
				}
			}
		})
		if resp := ask[*kmsg.FindCoordinatorResponse](c, 4, findRequest(0)); len(resp.Coordinators) != 0 {
			t.Errorf("no keys: %+v", resp.Coordinators)
		}
		meta := ask[*kmsg.MetadataResponse](c, 12, kmsg.NewPtrMetadataRequest())
		if b := meta.Brokers[0]; b.NodeID != here.NodeID || b.Host != here.Host || b.Port != here.Port {
			t.Errorf("metadata names another broker: %+v", b)
		}
	})
}

func TestInitProducerIDNeverGivesOneTwice(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		seen := map[int64]bool{}
		for range 2 {
			c := r.client("c")
			eachVersion(r, kmsg.InitProducerID, func(v int16) {
				for range 3 {
					req := kmsg.NewPtrInitProducerIDRequest()
					req.ProducerID, req.ProducerEpoch = 4711, 5 // of no use without a transactional id
					resp := ask[*kmsg.InitProducerIDResponse](c, v, req)
					if resp.ErrorCode != 0 || resp.ProducerEpoch != 0 || seen[resp.ProducerID] || resp.ProducerID < 0 {
						t.Errorf("v%d: %+v", v, resp)
					}
					seen[resp.ProducerID] = true
				}
				req := kmsg.NewPtrInitProducerIDRequest()
				req.TransactionalID = new("")
				resp := ask[*kmsg.InitProducerIDResponse](c, v, req)
				if resp.ErrorCode != 42 || resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
					t.Errorf("v%d with an empty transactional id: %+v", v, resp)
				}
			})
			r.restart()
		}
	})
}
