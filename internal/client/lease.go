package client

import "time"

// Lease knows until when the coordinator cannot have given what a member owns
// to anybody else. All times are those at which requests were sent: the
// coordinator counts from when they arrived, which is later.
type Lease struct {
	// Session and Rebalance are the timeouts that the member has told.
	Session, Rebalance time.Duration

	// heard is the sending of the newest request that was answered as a
	// member's: the session runs at least from there.
	heard time.Duration
	// calm is the sending of the newest one whose answer said that there was no
	// rebalance: a rebalance that this member does not know of began later.
	calm time.Duration
	// syncing: a JoinGroup has been answered, and its SyncGroup has not. The
	// coordinator answers heartbeats as if all were calm meanwhile, and drops a
	// member whose SyncGroup does not come in time.
	syncing bool
}

// margin is the part of a timeout that is left for clocks that differ.
const margin = 20

// Until is when ownership has to end.
func (l *Lease) Until() time.Duration {
	return min(l.heard+l.Session-l.Session/margin, l.calm+l.Rebalance-l.Rebalance/margin)
}

// Answered notes what an answer to a request says that was sent at that time.
// Of a Synced it counts that the member has its assignment.
func (l *Lease) Answered(sent time.Duration, resp Response) {
	switch r := resp.(type) {
	case Joined:
		if r.Code == codeNone {
			l.heard, l.syncing = max(l.heard, sent), true
		}
	case Synced:
		if r.Code == codeNone {
			l.heard, l.calm, l.syncing = max(l.heard, sent), max(l.calm, sent), false
		}
	case Beat:
		if r.Code == codeNone || r.Code == codeRebalanceInProgress {
			l.heard = max(l.heard, sent)
		}
		if r.Code == codeNone && !l.syncing {
			l.calm = max(l.calm, sent)
		}
	}
}
