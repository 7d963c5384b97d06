package story

import "strings"

// FollowsUp says whether a rebalance belongs to the one right before it: it
// interrupts that one, or it hands out what members gave up in that one, as
// happens with a cooperative assignor, where every move takes two rebalances.
func FollowsUp(before, r *Rebalance) bool {
	switch {
	case r.Supersedes:
		return true
	case before.Ending != Installed:
		return false
	case r.Cause == CauseProtocolsChanged && r.Changed != nil && r.Changed.Owned:
		return strings.Contains(before.Protocol, "cooperative")
	case r.Cause == CauseProtocolsChanged || r.Cause == CauseLeaderRejoined:
		return before.Assignment != nil && before.Assignment.Unassigned > 0
	}
	return false
}
