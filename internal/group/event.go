package group

import (
	"time"

	"rota/internal/schema"
)

// Event is something that happened to a group, and why. Events are facts for
// the history of rebalances; nothing in the protocol depends on them.
type Event struct {
	Kind EventKind
	// At is when it happened, Unix time in milliseconds.
	At         int64
	Generation int32 // when it happened; of JoinCompleted the new one
	Cause      Cause
	// Member is the member that the event is about or that triggered it.
	Member MemberRef
	// Replaced is the member id that MemberReplaced has put out of use.
	Replaced string
	// Code is what a refused request was answered with.
	Code Code
	// Duration is how long the phase took that ended.
	Duration time.Duration
	// Timeout is the time that a lost member has let pass, the session timeout
	// of a new one, or what RebalanceStarted gives members to join again.
	Timeout time.Duration
	// Silent is how long ago the session of a lost member began anew, the last
	// time; 0 if it had none.
	Silent time.Duration
	// Initial is true of a join phase that is the initial delay.
	Initial bool
	// WaitedFor are those that a join phase waited for, in the order in which
	// the waits ended; WaitedForMore is how many earlier ones are left out.
	WaitedFor     []Waited
	WaitedForMore int
	// OldProtocols and NewProtocols are what the member of a RebalanceStarted
	// offered before and offers now, if CauseProtocolsChanged.
	OldProtocols, NewProtocols []Protocol
	// Leader is true if that member is the leader, whose joining again is cause
	// enough.
	Leader bool
	// ProtocolType and Protocol are those of the new generation.
	ProtocolType, Protocol string
	// Before and After are the group records before and after an assignment;
	// Before is nil if there was none. They must not be changed.
	Before, After *schema.GroupValue
	// Count is the number of members, of offsets that expired, or of events lost.
	Count int
}

// MemberRef names a member for a reader of the history.
type MemberRef struct {
	ID         string
	InstanceID string
	ClientID   string
	ClientHost string
	Reason     string // the member's own, if it gave one
}

// Waited is one that a join phase waited for.
type Waited struct {
	MemberRef
	// Took is how long, from the start of the phase, or from when its id was
	// handed out.
	Took    time.Duration
	Outcome Outcome
}

// Outcome says how the wait for a member ended.
type Outcome uint8

const (
	// OutcomeJoined: it came.
	OutcomeJoined Outcome = iota + 1
	// OutcomeLeft: it left the group.
	OutcomeLeft
	// OutcomeExpired: its session ended, or that of its id.
	OutcomeExpired
	// OutcomeDropped: the deadline came first, and it is no member any more.
	OutcomeDropped
	// OutcomeAbsent: the deadline came first, and it stays because it is static.
	OutcomeAbsent
	// OutcomeRefused: there was no room for it.
	OutcomeRefused
)

var outcomeNames = [...]string{
	OutcomeJoined: "joined", OutcomeLeft: "left", OutcomeExpired: "expired",
	OutcomeDropped: "dropped", OutcomeAbsent: "absent", OutcomeRefused: "refused",
}

// String returns the outcome as the history writes it.
func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o)) }

// Shorten drops what refers to records and requests, from a copy that is kept
// for long.
func (e *Event) Shorten() {
	e.WaitedFor, e.OldProtocols, e.NewProtocols, e.Before, e.After = nil, nil, nil, nil, nil
}

// EventKind says what happened.
type EventKind uint8

const (
	// GroupCreated: a JoinGroup or a commit made the group.
	GroupCreated EventKind = iota + 1
	// GroupLoaded: the group was read back from the log.
	GroupLoaded
	// GroupUnloaded: the group is no longer served here.
	GroupUnloaded
	// GroupEmptied: the last member has gone.
	GroupEmptied
	// GroupDeleted: the group is no more; Cause says whether by an operator.
	GroupDeleted
	// RebalanceStarted: members must join again. Cause and Member say why and
	// through whom, Generation is the one that ends, Count its members.
	RebalanceStarted
	// RebalanceSuperseded: a rebalance began before the generation had its
	// assignment. Duration is how long members had waited for it.
	RebalanceSuperseded
	// JoinCompleted: the join phase is over. Member is the one whose arrival
	// or departure ended it, empty if its deadline did; Count are the members
	// of the new Generation.
	JoinCompleted
	// AssignmentInstalled: the leader, Member, has handed in the assignment
	// after Duration. Before and After say what it changed.
	AssignmentInstalled
	// MemberJoined: a new member.
	MemberJoined
	// MemberRejoined: a member that takes part in the rebalance.
	MemberRejoined
	// MemberReplaced: a static member came back under a new id.
	MemberReplaced
	// MemberLeft: a member went of itself or by the hand of an operator.
	MemberLeft
	// MemberExpired: a member was silent for longer than its session, or was
	// never answered in the time that a new member has.
	MemberExpired
	// MemberDropped: a member missed the deadline to join again or to sync, or
	// there was no room for it.
	MemberDropped
	// MemberRefused: a JoinGroup was refused for want of room.
	MemberRefused
	// PendingExpired: an id that was handed out has not come back.
	PendingExpired
	// CommitRefused: a commit came from no member, or of another generation.
	CommitRefused
	// OffsetsExpired: Count offsets are past their retention.
	OffsetsExpired
	// EventsLost: Count events before this one are not told, because the
	// records of their steps did not become durable. The group is again what
	// it was before them.
	EventsLost
)

var eventNames = [...]string{
	GroupCreated: "group-created", GroupLoaded: "group-loaded", GroupUnloaded: "group-unloaded",
	GroupEmptied: "group-emptied", GroupDeleted: "group-deleted",
	RebalanceStarted: "rebalance-started", RebalanceSuperseded: "rebalance-superseded",
	JoinCompleted: "join-completed", AssignmentInstalled: "assignment-installed",
	MemberJoined: "member-joined", MemberRejoined: "member-rejoined", MemberReplaced: "member-replaced",
	MemberLeft: "member-left", MemberExpired: "member-expired", MemberDropped: "member-dropped",
	MemberRefused: "member-refused", PendingExpired: "pending-expired",
	CommitRefused: "commit-refused", OffsetsExpired: "offsets-expired", EventsLost: "events-lost",
}

// String returns the kind as the history writes it.
func (k EventKind) String() string { return nameOf(eventNames[:], int(k)) }

// Cause says why a rebalance began or a member went.
type Cause uint8

const (
	// CauseMemberJoined: there is a new member.
	CauseMemberJoined Cause = iota + 1
	// CauseMemberLeft: a member sent LeaveGroup, or an operator did for it.
	CauseMemberLeft
	// CauseSessionExpired: a member was silent for longer than its session.
	CauseSessionExpired
	// CauseNewMemberTimeout: a new member waited for its first answer for
	// longer than such members may.
	CauseNewMemberTimeout
	// CauseJoinDeadline: a member did not join again in time.
	CauseJoinDeadline
	// CauseSyncDeadline: members did not send SyncGroup in time.
	CauseSyncDeadline
	// CauseProtocolsChanged: a member came with other protocols or metadata.
	CauseProtocolsChanged
	// CauseLeaderRejoined: the leader joined again, as leaders do when the
	// topics have changed.
	CauseLeaderRejoined
	// CauseStaticReplaced: a static member came back and changes the protocol,
	// or interrupts a rebalance.
	CauseStaticReplaced
	// CauseAssignmentTooLarge: the leader's assignment does not fit a record.
	CauseAssignmentTooLarge
	// CauseGroupFull: the group has more members than group.max.size.
	CauseGroupFull
	// CauseMoved: the coordinator of the group has moved.
	CauseMoved
	// CauseOperator: someone asked for it.
	CauseOperator
	// CauseRetention: nothing is left that retention protects.
	CauseRetention
)

var causeNames = [...]string{
	CauseMemberJoined: "member-joined", CauseMemberLeft: "member-left",
	CauseSessionExpired: "session-expired", CauseNewMemberTimeout: "new-member-timeout",
	CauseJoinDeadline: "join-deadline", CauseSyncDeadline: "sync-deadline",
	CauseProtocolsChanged: "protocols-changed", CauseLeaderRejoined: "leader-rejoined",
	CauseStaticReplaced: "static-replaced", CauseAssignmentTooLarge: "assignment-too-large",
	CauseGroupFull: "group-full", CauseMoved: "moved", CauseOperator: "operator",
	CauseRetention: "retention",
}

// String returns the cause as the history writes it, "" for none.
func (c Cause) String() string { return nameOf(causeNames[:], int(c)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
