package member

import "time"

// lease knows until when the coordinator cannot have given what this member
// owns to anybody else. All times are those at which requests were sent: the
// coordinator counts from when they arrived, which is later.
type lease struct {
	session, rebalance time.Duration
	// heard is the sending of the newest request that was answered as a
	// member's: the session runs at least from there.
	heard time.Duration
	// calm is the sending of the newest one whose answer said that there was no
	// rebalance: a rebalance that this member does not know of began later.
	calm time.Duration
}

// margin is the part of a timeout that is left for clocks that differ.
const margin = 20

// until is when ownership has to end.
func (l *lease) until() time.Duration {
	return min(l.heard+l.session-l.session/margin, l.calm+l.rebalance-l.rebalance/margin)
}

// confirmed notes an answer to a request that was sent at that time.
func (l *lease) confirmed(sent time.Duration, rebalancing bool) {
	l.heard = max(l.heard, sent)
	if !rebalancing {
		l.calm = max(l.calm, sent)
	}
}
