package group

// Event is something that happened to a group, and why. Events are facts for
// the history of rebalances; nothing in the protocol depends on them.
type Event struct {
	Kind       EventKind
	Generation int32
	Cause      Cause
	// Member is the member that the event is about or that triggered it.
	Member MemberRef
}

// EventKind says what happened.
type EventKind uint8

// Cause says why a rebalance began or a member went.
type Cause uint8

// MemberRef names a member for a reader of the history.
type MemberRef struct {
	ID         string
	InstanceID string
	ClientID   string
	ClientHost string
	Reason     string // the member's own, if it gave one
}
