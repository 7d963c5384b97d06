package api

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// DeleteTopics (key 20), versions 1-6: deletes topics, with their records and
// what groups committed for them. It is answered when all of that is gone for
// good, or after the request's timeout with REQUEST_TIMED_OUT while the
// deletion goes on.
//
//	v1: ThrottleMillis in the response
//	v2: clients throttle themselves
//	v3: TOPIC_DELETION_DISABLED
//	v4: flexible
//	v5: ErrorMessage; THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
//	v6: topics by id (KIP-516)
//
// Internal topics cannot be deleted: INVALID_TOPIC_EXCEPTION.
//
// Not done: throttling; quotas on the number of changes.
func deleteTopicsAPI() API {
	return API{Key: kmsg.DeleteTopics, Min: 1, Max: 6, Class: Alone, Handle: deleteTopics}
}

// deletion is one entry of the response, and how to hear of its end.
type deletion struct {
	answer kmsg.DeleteTopicsResponseTopic
	// topic says which topic is meant, however it was named.
	topic string
	done  <-chan error
}

func deleteTopics(s *Server, c *Call) {
	req := requestOf[*kmsg.DeleteTopicsRequest](c)
	named := deletions(s.Broker.Catalog.View(), c.Version, req)
	var entries []deletion
	for i, repeated := range distinct(named, func(d *deletion) string { return d.topic }) {
		d := named[i]
		if repeated {
			d.refuse(duplicate("topic"))
		}
		if d.answer.ErrorCode == 0 {
			d.begin(s, c)
		}
		entries = append(entries, d)
	}
	resp := &kmsg.DeleteTopicsResponse{Version: c.Version, Topics: make([]kmsg.DeleteTopicsResponseTopic, len(entries))}
	patience, end := context.WithTimeout(c.Context, time.Duration(max(req.TimeoutMillis, 0))*time.Millisecond)
	defer end()
	c.Answer.OnEnd(end)
	for i := range entries {
		entries[i].wait(patience, s)
		resp.Topics[i] = entries[i].answer
	}
	c.Answer.Reply(resp)
}

// begin starts the deletion.
func (d *deletion) begin(s *Server, c *Call) {
	done, err := s.Broker.DeleteTopic(c.Context, d.answer.TopicID)
	if err != nil {
		d.refuse(s.refusal(err))
		if c.Version < 3 && d.answer.ErrorCode == kerr.TopicDeletionDisabled.Code {
			d.answer.ErrorCode = kerr.InvalidRequest.Code
		}
		return
	}
	d.done = done
}

// wait waits for the end of the deletion, if one began, as long as the client
// does.
func (d *deletion) wait(patience context.Context, s *Server) {
	if d.done == nil {
		return
	}
	select {
	case err := <-d.done:
		if err != nil {
			d.refuse(s.refusal(err))
		}
	case <-patience.Done():
		d.refuse(refuse(kerr.RequestTimedOut, "The topic is being deleted, and its name is not free yet."))
	}
}

func (d *deletion) refuse(r refusal) {
	d.answer.ErrorCode, d.answer.ErrorMessage = r.code, r.message
}

// deletions lists what a request names, with the id of the topic or the reason
// why there is none.
func deletions(view *catalog.View, version int16, req *kmsg.DeleteTopicsRequest) []deletion {
	topics := req.Topics
	if version < 6 {
		topics = make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
		for i := range req.TopicNames {
			topics[i].Topic = &req.TopicNames[i]
		}
	}
	found := make([]deletion, len(topics))
	for i := range topics {
		found[i] = findDeletion(view, &topics[i], i)
	}
	return found
}

func findDeletion(view *catalog.View, t *kmsg.DeleteTopicsRequestTopic, place int) deletion {
	var zero storage.TopicID
	d := deletion{answer: kmsg.DeleteTopicsResponseTopic{Topic: t.Topic, TopicID: t.TopicID}}
	switch {
	case t.Topic == nil && t.TopicID == zero:
		d.topic = fmt.Sprint("entry ", place)
		d.refuse(refuse(kerr.InvalidRequest, "An entry names a topic or gives its id; this one does neither."))
	case t.Topic != nil && t.TopicID != zero:
		d.topic = fmt.Sprint("entry ", place)
		d.refuse(refuse(kerr.InvalidRequest, "An entry names a topic or gives its id, not both."))
	case t.Topic != nil:
		topic, ok := view.Topic(*t.Topic)
		if !ok {
			d.topic = "name " + *t.Topic
			d.refuse(refuse(kerr.UnknownTopicOrPartition, "There is no topic of that name."))
			return d
		}
		d.answer.TopicID, d.topic = topic.ID, "id "+string(topic.ID[:])
	default:
		d.topic = "id " + string(t.TopicID[:])
		topic, ok := view.TopicByID(t.TopicID)
		if !ok {
			d.refuse(refuse(kerr.UnknownTopicID, "There is no topic of that id."))
			return d
		}
		d.answer.Topic = &topic.Name
	}
	return d
}
