// Package survey looks at a running broker for those who watch it: the web
// page, its JSON API and the metrics. It reads what is there when it is asked and
// keeps nothing; nobody on the path of a request has to do with it.
//
// The types are the JSON of /api/v1, which docs/API.md describes. Start reading
// at groups.go.
package survey

import (
	"errors"
	"time"

	"rota/internal/broker"
	"rota/internal/coordinator"
	"rota/internal/story"
)

// Source is what is looked at. All but the rooms may be nil.
type Source struct {
	Broker      *broker.Broker
	Coordinator *coordinator.Coordinator
	// Rebalances returns the recent rebalances of a group, the oldest first; the
	// last may be running. The list must not be changed.
	Rebalances func(group string) []story.Rebalance
	// Events returns the recent events of a group, the oldest first. They must
	// not be changed.
	Events func(group string) []story.Event
	// Forgotten returns when the newest event of the last 24 hours happened that
	// those two may lack, in milliseconds of Unix time; 0 if they have all.
	Forgotten func(group string) int64
	// Now is the wall clock.
	Now func() time.Time

	lists lists
	dates dates
}

// Errors of a survey.
var (
	// ErrLoading says that groups are still being read from the log.
	ErrLoading = errors.New("the groups are still being loaded")
	// ErrUnknown says that there is no such group or topic.
	ErrUnknown = errors.New("there is none of that name")
)

func (s *Source) rebalances(group string) []story.Rebalance {
	if s.Rebalances == nil {
		return nil
	}
	return s.Rebalances(group)
}

// present is now in milliseconds of Unix time.
func (s *Source) present() int64 { return s.Now().UnixMilli() }

// Ready reports whether every shard of groups has loaded, or failed to.
func (s *Source) Ready() bool {
	select {
	case <-s.Coordinator.Loaded():
		return true
	default:
		return false
	}
}
