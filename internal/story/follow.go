package story

// FollowsUp says whether a rebalance belongs to the one right before it: it
// interrupts that one, or it hands out what members gave up in that one, as
// happens with a cooperative assignor, where every move takes two rebalances.
func FollowsUp(before, r *Rebalance) bool {
	if r.Supersedes {
		return true
	}
	if r.Cause != CauseProtocolsChanged && r.Cause != CauseLeaderRejoined {
		return false
	}
	return before.Assignment != nil && before.Assignment.Unassigned > 0 && before.Ending == Installed
}
