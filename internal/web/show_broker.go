package web

import (
	"math"
	"net/http"
	"slices"

	"rota/internal/coordinator"
	"rota/internal/meter"
	"rota/internal/story"
	"rota/internal/survey"
)

// brokerInfo is the answer of /api/v1/broker.
type brokerInfo struct {
	About
	Ready       bool             `json:"ready"`
	Connections connInfo         `json:"connections"`
	Storage     diskInfo         `json:"storage"`
	Requests    []apiInfo        `json:"requests"`
	Shards      []shardInfo      `json:"shards"`
	Settings    []survey.Setting `json:"settings"`
}

type connInfo struct {
	Open     int   `json:"open"`
	Accepted int64 `json:"accepted"`
	Refused  int64 `json:"refused"`
	Received int64 `json:"received_bytes"`
	Sent     int64 `json:"sent_bytes"`
	Waiting  int   `json:"requests_open"`
}

type diskInfo struct {
	Journal       int64   `json:"journal_bytes"`
	Tail          int64   `json:"tail_bytes"`
	Free          int64   `json:"free_bytes,omitempty"`
	Partitions    int     `json:"partitions"`
	Flushes       uint64  `json:"flushes"`
	FlushFailures int64   `json:"flush_failures"`
	FlushP50      float64 `json:"flush_p50_seconds"`
	FlushP99      float64 `json:"flush_p99_seconds"`
	FlushMean     float64 `json:"flush_mean_bytes"`
}

// apiInfo is one API: how often it was called, and below what time the half
// and nearly all of the answers were written.
type apiInfo struct {
	Name  string  `json:"name"`
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean_seconds"`
	P50   float64 `json:"p50_seconds"`
	P99   float64 `json:"p99_seconds"`
}

type shardInfo struct {
	Partition int32        `json:"partition"`
	State     string       `json:"state"`
	Epoch     int32        `json:"leader_epoch"`
	Groups    int          `json:"groups"`
	Queue     int          `json:"queue_depth"`
	Open      int          `json:"requests_open"`
	Load      story.Millis `json:"load_ms"`
}

// broker describes the broker.
func (s *Server) broker(allSettings bool) *brokerInfo {
	w, st := s.c.Server.Stats(), s.c.Survey.Broker.Store.Stats()
	b := &brokerInfo{
		About: s.c.About, Ready: s.c.Survey.Ready(),
		Connections: connInfo{w.Connections, w.Accepted, w.Refused, w.Received, w.Sent, w.Unanswered},
		Storage: diskInfo{
			Journal: st.JournalBytes, Tail: st.TailBytes, Partitions: st.Partitions,
			Flushes: st.FlushLatency.Count, FlushFailures: st.FlushesFailed,
			FlushP50: st.FlushLatency.Quantile(0.5), FlushP99: st.FlushLatency.Quantile(0.99), FlushMean: math.Round(st.FlushSize.Mean()),
		},
		Requests: []apiInfo{}, Shards: []shardInfo{},
		Settings: survey.Settings(s.c.Survey.Broker.DescribeBroker(true), allSettings),
	}
	if free, err := s.c.Survey.Broker.Store.Free(); err == nil && free < math.MaxInt64 {
		b.Storage.Free = free
	}
	for _, l := range s.c.Server.Latencies() {
		b.Requests = append(b.Requests, apiLine(l.API.Name(), &l.Reading))
	}
	slices.SortStableFunc(b.Requests, func(x, y apiInfo) int { return int(int64(y.Count) - int64(x.Count)) })
	for _, sh := range s.c.Survey.Coordinator.Stats() {
		b.Shards = append(b.Shards, shardLine(&sh))
	}
	return b
}

func apiLine(name string, r *meter.Reading) apiInfo {
	return apiInfo{Name: name, Count: r.Count, Mean: r.Mean(), P50: r.Quantile(0.5), P99: r.Quantile(0.99)}
}

func shardLine(s *coordinator.ShardStats) shardInfo {
	return shardInfo{s.Partition, s.State, s.Epoch, s.Machines, s.Queue, s.Requests, story.Millis(s.LoadTook)}
}

func (s *Server) showBroker(*http.Request) (*view, error) {
	return &view{Title: "Broker", Nav: "broker", Main: "broker.html", Data: s.broker(false), Live: true}, nil
}
