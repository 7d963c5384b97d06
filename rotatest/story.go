package rotatest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rota/internal/group"
)

// Event is something that happened to a group, and why.
type Event struct {
	// At is the time by the broker's clock.
	At time.Time
	// Kind says what: member-joined, rebalance-started, join-completed,
	// assignment-installed, member-left, member-expired, ...
	Kind string
	// Cause says why a rebalance began or a member went: member-joined,
	// session-expired, protocols-changed, ...; "" if that is no question.
	Cause      string
	Generation int32
	// Member is the member that the event is about, or that caused it.
	Member, InstanceID, ClientID string
	// Reason is the member's own.
	Reason string
	// Took is how long the phase lasted that has ended.
	Took time.Duration
	// WaitedFor are the client ids of those that a join phase waited for last.
	WaitedFor []string
	// Members is the number of members, where the event is about them all.
	Members int
	// Code is what a refused request was answered with.
	Code int16
}

// String is the event in one line, without its time.
func (e Event) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-20s generation=%d", e.Kind, e.Generation)
	word := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&s, " %s=%s", key, value)
		}
	}
	word("cause", e.Cause)
	word("client", e.ClientID)
	word("member", e.Member)
	word("instance", e.InstanceID)
	if e.Reason != "" {
		fmt.Fprintf(&s, " reason=%q", e.Reason)
	}
	if e.Members > 0 {
		fmt.Fprintf(&s, " members=%d", e.Members)
	}
	if e.Took > 0 {
		word("took", e.Took.Round(10*time.Microsecond).String())
	}
	word("waited-for", strings.Join(e.WaitedFor, ","))
	if e.Code != 0 {
		fmt.Fprintf(&s, " code=%d", e.Code)
	}
	return s.String()
}

// story is what has happened to the groups of a broker.
type story struct {
	now   func() time.Time
	began time.Time

	mu      sync.Mutex
	groups  map[string][]Event
	changed chan struct{} // closed with the next event
}

func newStory(now func() time.Time) *story {
	return &story{now: now, began: now(), groups: map[string][]Event{}, changed: make(chan struct{})}
}

// take is hooks.Hooks.Events.
func (s *story) take(id string, events []group.Event) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		s.groups[id] = append(s.groups[id], eventOf(&events[i], now))
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func eventOf(e *group.Event, now time.Time) Event {
	of := Event{
		At: now, Kind: e.Kind.String(), Cause: e.Cause.String(), Generation: e.Generation,
		Member: e.Member.ID, InstanceID: e.Member.InstanceID, ClientID: e.Member.ClientID, Reason: e.Member.Reason,
		Took: e.Duration, Members: e.Count, Code: int16(e.Code),
	}
	for _, m := range e.WaitedFor {
		of.WaitedFor = append(of.WaitedFor, m.ClientID)
	}
	return of
}

// changes returns a channel that is closed with the next event.
func (s *story) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *story) of(id string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups[id])
}

func (s *story) generation(id string) int32 {
	if events := s.of(id); len(events) > 0 {
		return events[len(events)-1].Generation
	}
	return 0
}

// tell has a line for each event of a group.
func (s *story) tell(id string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "group %s\n", id)
	for _, e := range s.of(id) {
		fmt.Fprintf(&b, "  +%.3fs  %s\n", e.At.Sub(s.began).Seconds(), e)
	}
	return b.String()
}

// String tells of all groups.
func (s *story) String() string {
	s.mu.Lock()
	ids := slices.Sorted(maps.Keys(s.groups))
	s.mu.Unlock()
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.tell(id))
	}
	return b.String()
}
