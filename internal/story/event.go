package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Topic is the name of the topic that holds the events of all groups.
const Topic = "__group_events"

// Version is the version of the schema that is written.
const Version = 1

// Kind says what happened.
type Kind string

const (
	GroupCreated        Kind = "group-created"        // a JoinGroup or a commit made the group
	GroupLoaded         Kind = "group-loaded"         // its coordinator has read it back from the log
	GroupUnloaded       Kind = "group-unloaded"       // its coordinator serves it no longer
	GroupEmptied        Kind = "group-emptied"        // the last member has gone
	GroupDeleted        Kind = "group-deleted"        // the group is no more
	RebalanceStarted    Kind = "rebalance-started"    // members must join again
	RebalanceSuperseded Kind = "rebalance-superseded" // another one began before the assignment had come
	JoinCompleted       Kind = "join-completed"       // the join phase is over
	AssignmentInstalled Kind = "assignment-installed" // the group is stable
	MemberJoined        Kind = "member-joined"        // a new member
	MemberRejoined      Kind = "member-rejoined"      // a member takes part in the rebalance
	MemberReplaced      Kind = "member-replaced"      // a static member came back under a new id
	MemberLeft          Kind = "member-left"          // by itself or by the hand of an operator
	MemberExpired       Kind = "member-expired"       // silent for longer than its session
	MemberDropped       Kind = "member-dropped"       // missed the deadline to join again or to sync
	MemberRefused       Kind = "member-refused"       // no room
	PendingExpired      Kind = "pending-expired"      // an id that was handed out has not come back
	CommitRefused       Kind = "commit-refused"       // from no member, or of another generation
	OffsetsExpired      Kind = "offsets-expired"      // past their retention
	EventsLost          Kind = "events-lost"          // of steps whose records did not become durable
)

// Known reports whether it is one of the kinds above.
func (k Kind) Known() bool {
	switch k {
	case GroupCreated, GroupLoaded, GroupUnloaded, GroupEmptied, GroupDeleted, RebalanceStarted, RebalanceSuperseded, JoinCompleted,
		AssignmentInstalled, MemberJoined, MemberRejoined, MemberReplaced, MemberLeft, MemberExpired, MemberDropped, MemberRefused,
		PendingExpired, CommitRefused, OffsetsExpired, EventsLost:
		return true
	}
	return false
}

// Cause says why a rebalance began or a member went.
type Cause string

const (
	CauseMemberJoined       Cause = "member-joined"
	CauseMemberLeft         Cause = "member-left"
	CauseSessionExpired     Cause = "session-expired"
	CauseNewMemberTimeout   Cause = "new-member-timeout"
	CauseJoinDeadline       Cause = "join-deadline"
	CauseSyncDeadline       Cause = "sync-deadline"
	CauseProtocolsChanged   Cause = "protocols-changed"
	CauseLeaderRejoined     Cause = "leader-rejoined"
	CauseStaticReplaced     Cause = "static-replaced"
	CauseAssignmentTooLarge Cause = "assignment-too-large"
	CauseGroupFull          Cause = "group-full"
	CauseMoved              Cause = "moved"
	CauseOperator           Cause = "operator"
	CauseRetention          Cause = "retention"
)

// Event is one record of the topic: what happened to a group, and why. Which
// fields an event has depends on its kind; docs/format/group-events.md says so.
type Event struct {
	// Version is that of the schema. Fields may be added within a version.
	Version int `json:"v"`
	// TimeMillis is when it happened by the broker's clock, Unix time.
	TimeMillis int64  `json:"time_ms"`
	Group      string `json:"group"`
	Kind       Kind   `json:"kind"`
	// Generation is the group's when it happened: of rebalance-started the one
	// that ends, of join-completed the one that begins.
	Generation int32 `json:"generation"`
	Cause      Cause `json:"cause,omitempty"`
	// Member is the one that the event is about or that triggered it; of
	// join-completed the one whose arrival or departure ended the phase.
	Member *Member `json:"member,omitempty"`
	// Replaced is the member id that member-replaced has put out of use.
	Replaced string `json:"replaced,omitempty"`
	// ErrorCode and Error are what a request was refused with.
	ErrorCode int16  `json:"error_code,omitempty"`
	Error     string `json:"error,omitempty"`
	// Duration is how long the phase took that ended.
	Duration Millis `json:"duration_ms,omitzero"`
	// Timeout is the time that ran out, or, of rebalance-started, that members
	// have to join again.
	Timeout Millis `json:"timeout_ms,omitzero"`
	// LastHeardMillis is when a member's session last began anew, by a
	// heartbeat or another request; Unix time, 0 if that is not known.
	LastHeardMillis int64 `json:"last_heard_ms,omitempty"`
	// Members is how many the group has.
	Members int `json:"members,omitempty"`
	// Offsets is how many have expired, Events how many were lost, Repeated
	// how often more the same happened within a batch of events.
	Offsets  int `json:"offsets,omitempty"`
	Events   int `json:"events,omitempty"`
	Repeated int `json:"repeated,omitempty"`
	// Initial is true of a join phase that is the initial delay of a group
	// without members.
	Initial bool `json:"initial,omitempty"`
	// Changed says what protocols-changed means.
	Changed *Change `json:"changed,omitempty"`
	// WaitedFor are those that the join phase waited for, in the order in which
	// the wait for them ended.
	WaitedFor []Waited `json:"waited_for,omitempty"`
	// WaitedForMore counts those that are not listed: the wait for them ended earlier.
	WaitedForMore int `json:"waited_for_more,omitempty"`
	// Protocol is the assignor that was voted for.
	ProtocolType string `json:"protocol_type,omitempty"`
	Protocol     string `json:"protocol,omitempty"`
	// Assignment says what assignment-installed gave to whom.
	Assignment *Assignment `json:"assignment,omitempty"`
}

// Member names a member for a reader.
type Member struct {
	ID         string `json:"id"`
	ClientID   string `json:"client_id,omitempty"`
	Host       string `json:"host,omitempty"`
	InstanceID string `json:"instance_id,omitempty"`
	// Reason is the member's own, of its last JoinGroup or of its LeaveGroup.
	Reason string `json:"reason,omitempty"`
}

// Outcome says how the wait for a member ended.
type Outcome string

const (
	OutcomeJoined  Outcome = "joined"  // it came
	OutcomeLeft    Outcome = "left"    // it left the group
	OutcomeExpired Outcome = "expired" // its session ended first
	OutcomeDropped Outcome = "dropped" // the deadline came first, and it is out
	OutcomeAbsent  Outcome = "absent"  // a static member that is kept, or an id that is still out
	OutcomeRefused Outcome = "refused" // there was no room for it
)

// Waited is one of those that a join phase waited for.
type Waited struct {
	Member
	// Took is from the start of the phase, or from when an id was handed out.
	Took    Millis  `json:"took_ms"`
	Outcome Outcome `json:"outcome"`
}

// Change says how what a member offers differs from what it offered before.
type Change struct {
	// ProtocolsBefore and ProtocolsAfter are set if its list of assignors changed.
	ProtocolsBefore []string `json:"protocols_before,omitempty"`
	ProtocolsAfter  []string `json:"protocols_after,omitempty"`
	// TopicsAdded and TopicsRemoved are changes of its subscription.
	TopicsAdded   []string `json:"topics_added,omitempty"`
	TopicsRemoved []string `json:"topics_removed,omitempty"`
	// Owned is true if it says that it owns other partitions than before, as a
	// cooperative consumer does that has given some up.
	Owned bool `json:"owned,omitempty"`
	// UserData is true if its assignor's own bytes changed.
	UserData bool `json:"user_data,omitempty"`
	// Opaque is true if the bytes changed and cannot be read.
	Opaque bool `json:"opaque,omitempty"`
}

// Millis is a duration that JSON shows in milliseconds, with up to three
// decimals.
type Millis time.Duration

// MarshalJSON writes milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) { return appendMillis(nil, m), nil }

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(b []byte) error {
	ms, err := strconv.ParseFloat(string(b), 64)
	if err != nil || ms < -maxMillis || ms > maxMillis {
		return fmt.Errorf("%q is no number of milliseconds", b)
	}
	*m = Millis(time.Duration(ms*1000+half(ms)) * time.Microsecond)
	return nil
}

// maxMillis is about 300 years.
const maxMillis = 9.2e12

func half(x float64) float64 {
	if x < 0 {
		return -0.5
	}
	return 0.5
}

// ErrNotAnEvent says that bytes are no event of a version that this package knows.
var ErrNotAnEvent = errors.New("story: not a group event")

// Parse reads the value of a record of the topic. Errors: ErrNotAnEvent.
func Parse(value []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(value, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrNotAnEvent, err)
	}
	if e.Version < 1 || e.Kind == "" {
		return Event{}, fmt.Errorf("%w: version %d, kind %q", ErrNotAnEvent, e.Version, e.Kind)
	}
	return e, nil
}

// Time is when it happened, in UTC.
func (e *Event) Time() time.Time { return time.UnixMilli(e.TimeMillis).UTC() }
