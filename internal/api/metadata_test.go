package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/storage"
)

// metadataRequest asks for topics by name; nil for all.
func metadataRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &n})
	}
	return req
}

func creating(req *kmsg.MetadataRequest) *kmsg.MetadataRequest {
	req.AllowAutoTopicCreation = true
	return req
}

// topicCodes lists the topics of an answer that are not internal.
func topicCodes(resp *kmsg.MetadataResponse) map[string]int16 {
	codes := map[string]int16{}
	for _, t := range resp.Topics {
		if t.Topic != nil && !strings.HasPrefix(*t.Topic, "__") {
			codes[*t.Topic] = t.ErrorCode
		}
	}
	return codes
}

func TestMetadataInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 2)
		eachVersion(r, kmsg.Metadata, func(v int16) {
			req := metadataRequest("t", "nosuch")
			req.IncludeTopicAuthorizedOperations = v == 9
			req.IncludeClusterAuthorizedOperations = v == 9
			resp := ask[*kmsg.MetadataResponse](c, v, req)
			if v < 4 { // such requests make what they name
				if code := c.deleteTopic(5, "nosuch"); code != 0 {
					t.Errorf("v%d: delete what it made: error %d", v, code)
				}
				resp.Topics = resp.Topics[:1]
			}
			want := kmsg.NewPtrMetadataResponse()
			want.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "broker.test", Port: 9092}}
			want.ClusterID = new(r.cat.ClusterID())
			want.ControllerID = 1
			log, _ := r.store.Log(storage.Partition{Topic: topic.ID})
			epoch := log.Bounds().Epoch
			entry := kmsg.NewMetadataResponseTopic()
			entry.Topic, entry.TopicID = new("t"), topic.ID
			for i := range int32(2) {
				entry.Partitions = append(entry.Partitions, kmsg.MetadataResponseTopicPartition{
					Partition: i, Leader: 1, LeaderEpoch: epoch, Replicas: []int32{1}, ISR: []int32{1},
				})
			}
			if v == 9 {
				entry.AuthorizedOperations = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
				want.AuthorizedOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
			}
			want.Topics = append(want.Topics, entry)
			if v >= 4 {
				unknown := kmsg.NewMetadataResponseTopic()
				unknown.Topic, unknown.ErrorCode = new("nosuch"), 3
				want.Topics = append(want.Topics, unknown)
			}
			equal(t, resp, want)
		})
	})
}

// B44: all topics, and none.
func TestMetadataOfAllAndOfNone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		r.topic("t", 1)
		r.topic("u", 1)
		all, none := map[string]int16{"t": 0, "u": 0}, map[string]int16{}
		empty := func() *kmsg.MetadataRequest {
			req := metadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{}
			return req
		}
		for _, s := range []struct {
			name string
			v    int16
			req  *kmsg.MetadataRequest
			want map[string]int16
		}{
			{"v0 []", 0, empty(), all},
			{"v1 null", 1, metadataRequest(), all},
			{"v1 null again", 1, metadataRequest(), all},
			{"v1 []", 1, empty(), none},
			{"v9 null", 9, creating(metadataRequest()), all},
			{"v9 []", 9, creating(empty()), none},
			{"v13 []", 13, empty(), none},
			{"v4 nosuch", 4, metadataRequest("nosuch"), map[string]int16{"nosuch": 3}},
		} {
			resp := ask[*kmsg.MetadataResponse](c, s.v, s.req)
			if diff := cmp.Diff(s.want, topicCodes(resp)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.name, diff)
			}
			if len(resp.Brokers) != 1 || s.v > 0 && resp.ControllerID != 1 {
				t.Errorf("%s: brokers %v, controller %d", s.name, resp.Brokers, resp.ControllerID)
			}
		}
		internal := 0
		for _, top := range ask[*kmsg.MetadataResponse](c, 13, metadataRequest()).Topics {
			if top.IsInternal {
				internal++
			}
		}
		if internal == 0 {
			t.Error("__consumer_offsets is not listed as internal")
		}
	})
}

// Check 5, and B44: topics by id.
func TestMetadataByTopicID(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		byID := func(name *string, id [16]byte) *kmsg.MetadataRequest {
			req := metadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{Topic: name, TopicID: id}}
			return req
		}
		for v := int16(12); v <= 13; v++ {
			known := ask[*kmsg.MetadataResponse](c, v, byID(nil, topic.ID)).Topics[0]
			if known.ErrorCode != 0 || known.Topic == nil || *known.Topic != "t" || known.TopicID != topic.ID {
				t.Errorf("v%d: %+v", v, known)
			}
			unknown := ask[*kmsg.MetadataResponse](c, v, creating(byID(nil, [16]byte{1, 2, 3}))).Topics[0]
			if unknown.ErrorCode != 100 || unknown.Topic != nil || unknown.TopicID != [16]byte{1, 2, 3} {
				t.Errorf("v%d: %+v", v, unknown)
			}
		}
		for v := int16(10); v <= 11; v++ {
			for _, req := range []*kmsg.MetadataRequest{byID(nil, topic.ID), byID(new("t"), topic.ID), byID(nil, [16]byte{})} {
				req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: new("new")})
				for _, top := range ask[*kmsg.MetadataResponse](c, v, creating(req)).Topics {
					if top.ErrorCode != 42 {
						t.Errorf("v%d: %+v", v, top)
					}
				}
			}
		}
		c.sendRaw([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0}, []byte{2, 0, 0, 0, 0, 0, 0})
		c.closed() // null cannot be parsed
	})
}

// B51.
func TestAutoCreation(t *testing.T) {
	inBubble(t, map[string]string{"num.partitions": "3"}, func(r *rig) {
		a, b := r.client("a"), r.client("b")
		made := ask[*kmsg.MetadataResponse](a, 4, creating(metadataRequest("new"))).Topics[0]
		if made.ErrorCode != 0 || len(made.Partitions) != 3 || made.Partitions[0].Leader != 1 {
			t.Errorf("new: %+v", made)
		}
		if code := ask[*kmsg.MetadataResponse](a, 4, metadataRequest("new2")).Topics[0].ErrorCode; code != 3 {
			t.Errorf("new2 without leave to make it: error %d", code)
		}
		missing := *made.Topic + "3"
		ghost := *r.topic("ghost", 1)
		ghost.Name = missing
		if p := a.produced(9, &ghost, 0, batchOf("x")); p.ErrorCode != 3 {
			t.Errorf("produce: error %d", p.ErrorCode)
		}
		if p := partsOf(ask[*kmsg.FetchResponse](a, 12, fetchOf(from{topic: &ghost})))[0]; p.Code != 3 {
			t.Errorf("fetch: error %d", p.Code)
		}
		for _, name := range []string{"bad name!", "", ".", "..", strings.Repeat("n", 250)} {
			if code := ask[*kmsg.MetadataResponse](a, 4, creating(metadataRequest(name))).Topics[0].ErrorCode; code != 17 {
				t.Errorf("%q: error %d, want 17", name, code)
			}
		}
		for _, name := range []string{"__transaction_state", "__share_group_state"} {
			if code := ask[*kmsg.MetadataResponse](a, 4, creating(metadataRequest(name))).Topics[0].ErrorCode; code != 3 {
				t.Errorf("%q: error %d, want 3", name, code)
			}
		}
		a.send(12, creating(metadataRequest("new4")))
		b.send(12, creating(metadataRequest("new4")))
		first, second := received[*kmsg.MetadataResponse](a).Topics[0], received[*kmsg.MetadataResponse](b).Topics[0]
		if first.ErrorCode != 0 || second.ErrorCode != 0 || first.TopicID != second.TopicID {
			t.Errorf("two at once: %+v and %+v", first, second)
		}
		if diff := cmp.Diff(map[string]int16{"new": 0, "new4": 0, "ghost": 0}, topicCodes(ask[*kmsg.MetadataResponse](a, 12, metadataRequest()))); diff != "" {
			t.Errorf("topics in the end (-want +got):\n%s", diff)
		}
	})
	inBubble(t, map[string]string{"auto.create.topics.enable": "false"}, func(r *rig) {
		c := r.client("c")
		for range 2 {
			if code := ask[*kmsg.MetadataResponse](c, 4, creating(metadataRequest("new5"))).Topics[0].ErrorCode; code != 3 {
				t.Errorf("error %d, want 3", code)
			}
		}
	})
}

func TestATopicMadeAgainHasAnotherID(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		first := ask[*kmsg.MetadataResponse](c, 12, creating(metadataRequest("t"))).Topics[0]
		if code := c.deleteTopic(5, "t"); code != 0 {
			t.Fatalf("delete: error %d", code)
		}
		second := ask[*kmsg.MetadataResponse](c, 12, creating(metadataRequest("t"))).Topics[0]
		if second.ErrorCode != 0 || first.TopicID == second.TopicID {
			t.Errorf("ids %x and %x, error %d", first.TopicID, second.TopicID, second.ErrorCode)
		}
	})
}
