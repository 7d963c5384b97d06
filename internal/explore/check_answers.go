package explore

import (
	"slices"

	"rota/internal/group"
)

// checkDrop: nobody is dropped before the time to join or to sync is over.
func (w *world) checkDrop(e *group.Event) {
	m := &w.model
	switch e.Cause {
	case group.CauseSyncDeadline:
		if w.mono-m.made < rebalance {
			w.fail("%s had %s to sync", e.Member.ID, w.mono-m.made)
		}
	case group.CauseJoinDeadline:
		if w.mono-m.began < rebalance {
			w.fail("%s had %s to join again", e.Member.ID, w.mono-m.began)
		}
		if e.Member.InstanceID != "" {
			w.fail("%s is static, and dropped for not joining again", e.Member.ID)
		}
	default:
	}
}

// checkAnswers holds the answers to parked requests against what has happened
// to those who wait for them.
func (w *world) checkAnswers(fx *group.Effects) {
	leads := false
	for _, r := range fx.Replies {
		q := w.find(r.Ticket)
		if q == nil || r.Ticket == w.current {
			if j, ok := r.Body.(group.Joined); ok && j.Code == 0 && j.Leader == j.MemberID {
				leads = true
			}
			continue
		}
		var got, want group.Code
		switch b := r.Body.(type) {
		case group.Joined:
			got, want = b.Code, fate(q.member, fx.Events, group.JoinCompleted)
			leads = leads || b.Code == 0 && b.Leader == b.MemberID
		case group.Synced:
			got, want = b.Code, fate(q.member, fx.Events, group.AssignmentInstalled)
		default:
			continue
		}
		if got != want {
			w.fail("%s is answered %d, and should be %d", q.member, got, want)
		}
	}
	at := slices.IndexFunc(fx.Events, func(e group.Event) bool { return e.Kind == group.JoinCompleted })
	if at >= 0 && fx.Events[at].Count > 0 && !leads {
		w.fail("nobody is told to lead generation %d", fx.Events[at].Generation)
	}
}

// fate is the code that a parked request of a member is answered with, after
// what has happened. good is what it waits for.
func fate(member string, events []group.Event, good group.EventKind) group.Code {
	const notCoordinator, unknownMember, inProgress, fenced = 16, 25, 27, 82
	done, superseded := false, false
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case group.MemberReplaced:
			if e.Replaced == member {
				return fenced
			}
		case group.MemberLeft, group.MemberExpired, group.MemberDropped:
			if e.Member.ID == member {
				return unknownMember
			}
		case group.RebalanceSuperseded:
			superseded = true
		case good:
			done = true
		default:
		}
	}
	switch {
	case good == group.AssignmentInstalled && superseded:
		return inProgress
	case done:
		return 0
	}
	return notCoordinator // sent again
}
