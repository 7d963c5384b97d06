package web

import (
	"net/http"

	"rota/internal/survey"
)

// topicsData is what the list of topics shows.
type topicsData struct {
	*list
	Topics     []survey.Topic
	Partitions int
	Records    int64
	Bytes      int64
	MostBytes  int64
	Damaged    int
}

func (s *Server) showTopics(r *http.Request) (*view, error) {
	all := s.c.Survey.Topics()
	d := &topicsData{list: newList(r)}
	for i := range all {
		t := &all[i]
		d.Partitions += t.Partitions
		d.Records += t.Records
		d.Bytes += t.Bytes
		d.Damaged += t.Damaged
	}
	of := len(all)
	all = chooseTopics(all, d.Query, true)
	sortTopics(all, d.Sort)
	d.Topics = turn(d.list, all, of)
	for i := range d.Topics {
		d.MostBytes = max(d.MostBytes, d.Topics[i].Bytes)
	}
	return &view{Title: "Topics", Nav: "topics", Main: "topics.html", Data: d, Live: true}, nil
}

// maxLogs bounds the partitions on the page of a topic.
const maxLogs = 1000

// topicData is what the page of a topic shows.
type topicData struct {
	*survey.TopicDetail
	MostBytes int64
	MoreLogs  int
	// Groups are those that have committed offsets of it.
	Groups []topicGroup
}

// topicGroup is a group that reads a topic.
type topicGroup struct {
	ID, State  string
	Partitions int
	Lag        int64
}

func (s *Server) showTopic(r *http.Request) (*view, error) {
	name := r.URL.Query().Get("name")
	detail, err := s.c.Survey.TopicNamed(name)
	if err != nil {
		return nil, err
	}
	d := &topicData{TopicDetail: detail}
	for i := range d.Logs {
		d.MostBytes = max(d.MostBytes, d.Logs[i].Bytes)
	}
	if n := len(d.Logs) - maxLogs; n > 0 {
		d.Logs, d.MoreLogs = d.Logs[:maxLogs], n
	}
	readers, err := s.c.Survey.Readers(r.Context(), name)
	if err == nil {
		for _, g := range readers {
			d.Groups = append(d.Groups, topicGroup{g.ID, g.State, g.Partitions, g.Lag})
		}
	}
	return &view{Title: text(name), Nav: "topics", Main: "topic.html", Data: d, Live: true}, nil
}
