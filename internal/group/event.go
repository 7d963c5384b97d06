package group

import "time"

// Event is something that happened to a group, and why. Events are facts for
// the history of rebalances; nothing in the protocol depends on them.
type Event struct {
	Kind       EventKind
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
	// WaitedFor are those that were missing right before a join phase ended.
	WaitedFor []MemberRef
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
	// or departure ended it, empty if its deadline did; WaitedFor are those
	// that were missing until then, Count the members of the new Generation.
	JoinCompleted
	// AssignmentInstalled: the leader, Member, has handed in the assignment
	// after Duration.
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
