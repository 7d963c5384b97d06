package group

// State is where a group stands in the classic protocol. Its String is the
// name that Kafka's tools show.
type State uint8

const (
	// Empty: no members, though perhaps committed offsets, and ids that were
	// handed out and have not come back. Anyone may commit without a
	// generation. The first member that joins starts the initial delay.
	Empty State = iota
	// PreparingRebalance: members are expected to join again. Joins park,
	// syncs and heartbeats are answered with REBALANCE_IN_PROGRESS, commits of
	// the old generation are taken. It ends when everyone has joined or when
	// the join deadline passes.
	PreparingRebalance
	// CompletingRebalance: the generation has its members and waits for the
	// leader's assignment. Syncs park, heartbeats are answered with no error,
	// commits with REBALANCE_IN_PROGRESS.
	CompletingRebalance
	// Stable: every member can have its assignment. Nothing parks. A new
	// member, a member with other protocols, the leader joining again, or the
	// loss of a member starts a rebalance.
	Stable
	// Dead: unloaded. Nothing is answered but COORDINATOR_NOT_AVAILABLE.
	Dead
)

var stateNames = [...]string{
	Empty:               "Empty",
	PreparingRebalance:  "PreparingRebalance",
	CompletingRebalance: "CompletingRebalance",
	Stable:              "Stable",
	Dead:                "Dead",
}

// String returns the state's name on the wire.
func (s State) String() string { return stateNames[s] }

// canRebalance reports whether a rebalance can start in this state.
func (s State) canRebalance() bool {
	return s == Empty || s == CompletingRebalance || s == Stable
}
