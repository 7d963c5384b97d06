package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
)

// Metadata (key 3), versions 0-13: tells which brokers and topics there are,
// and who leads which partition. A topic that is asked for by name and does
// not exist may be made.
//
//	v0: an empty list of topics means all
//	v1: null means all, and an empty list none; Rack, ControllerID, IsInternal
//	v2: ClusterID (KIP-78)
//	v3: ThrottleMillis in the response
//	v4: AllowAutoTopicCreation (KIP-174)
//	v5: OfflineReplicas (KIP-112)
//	v6: clients throttle themselves
//	v7: LeaderEpoch (KIP-320)
//	v8: authorized operations on request (KIP-430)
//	v9: flexible
//	v10: TopicID in request and response; not to be asked by yet (KIP-516)
//	v11: no authorized operations of the cluster (KIP-700)
//	v12: topics may be asked for by id
//	v13: ErrorCode of the whole response (KIP-1102)
//
// A topic that is made is ready when the response says so.
//
// Not done: throttling.
func metadataAPI() API {
	return API{Key: kmsg.Metadata, Min: 0, Max: 13, Class: Alone, Handle: metadata}
}

func metadata(s *Server, c *Call) {
	req := requestOf[*kmsg.MetadataRequest](c)
	node := s.Broker.Config.NodeID
	clusterID := s.Broker.Catalog.ClusterID()
	resp := kmsg.NewPtrMetadataResponse()
	resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: node, Host: c.Listener.Host, Port: c.Listener.Port}}
	resp.ClusterID = &clusterID
	resp.ControllerID = node
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	m := described{s, req.IncludeTopicAuthorizedOperations}
	if all := req.Topics == nil || c.Version == 0 && len(req.Topics) == 0; all {
		for _, t := range s.Broker.Catalog.View().Topics() {
			resp.Topics = append(resp.Topics, m.topic(t))
		}
		c.Answer.Reply(resp)
		return
	}
	create := c.Version < 4 || req.AllowAutoTopicCreation
	for i := range req.Topics {
		t, ok := m.asked(c, &req.Topics[i], create)
		if !ok {
			refuseMetadata(resp, req.Topics)
			break
		}
		resp.Topics = append(resp.Topics, t)
	}
	c.Answer.Reply(resp)
}

// refuseMetadata refuses the whole request: topics cannot be asked for by id
// before v12.
func refuseMetadata(resp *kmsg.MetadataResponse, asked []kmsg.MetadataRequestTopic) {
	resp.Topics = resp.Topics[:0]
	for i := range asked {
		t := unknownTopic(&asked[i], kerr.InvalidRequest)
		if t.Topic == nil {
			empty := "" // not nullable before v12
			t.Topic = &empty
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// described makes the entries of topics.
type described struct {
	s          *Server
	operations bool
}

// asked describes a topic that the request names. It is false if the version
// does not allow to name it so.
func (m described) asked(c *Call, t *kmsg.MetadataRequestTopic, create bool) (kmsg.MetadataResponseTopic, bool) {
	ref := broker.TopicRef{ID: t.TopicID, ByID: t.Topic == nil || t.TopicID != [16]byte{}}
	if t.Topic != nil {
		ref.Name = *t.Topic
	}
	if ref.ByID && c.Version < 12 {
		return kmsg.MetadataResponseTopic{}, false
	}
	found, err := m.s.Broker.FindTopic(c.Context, m.s.Broker.Catalog.View(), ref, create)
	if err == nil {
		return m.topic(found), true
	}
	unknown := unknownTopic(t, err)
	if ref.ByID {
		unknown.Topic = nil
	}
	return unknown, true
}

func unknownTopic(t *kmsg.MetadataRequestTopic, err *kerr.Error) kmsg.MetadataResponseTopic {
	entry := kmsg.NewMetadataResponseTopic()
	entry.Topic, entry.TopicID = t.Topic, t.TopicID
	entry.ErrorCode = err.Code
	return entry
}

func (m described) topic(t *catalog.Topic) kmsg.MetadataResponseTopic {
	entry := kmsg.NewMetadataResponseTopic()
	entry.Topic, entry.TopicID, entry.IsInternal = &t.Name, t.ID, t.Internal
	if m.operations {
		entry.AuthorizedOperations = topicOperations
	}
	node := m.s.Broker.Config.NodeID
	replicas := []int32{node} // one for all: nobody changes them
	entry.Partitions = make([]kmsg.MetadataResponseTopicPartition, t.Partitions)
	for i := range entry.Partitions {
		p := &entry.Partitions[i]
		p.Default()
		p.Partition = int32(i)
		p.Leader, p.Replicas, p.ISR = node, replicas, replicas
		epoch, err := m.s.Broker.LeaderEpoch(t, p.Partition)
		p.LeaderEpoch = epoch
		if err != nil {
			p.ErrorCode, p.Leader = err.Code, -1
		}
	}
	return entry
}
