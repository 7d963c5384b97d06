package story

import (
	"maps"
	"slices"
)

// roll knows who is a member of a group, and who of them has joined the
// rebalance that runs. Its zero value is an empty group.
type roll struct {
	members map[string]Member
	joined  map[string]bool
	// joining is true in a join phase. Outside of it joined is about the events of
	// one moment, at: those right before the start of a rebalance belong to it.
	joining bool
	at      int64
}

// note takes the next event of the group.
func (l *roll) note(e *Event) {
	if l.members == nil {
		l.members, l.joined = map[string]Member{}, map[string]bool{}
	}
	m := e.Member
	switch e.Kind { //nolint:exhaustive // the others change nothing of this
	case GroupEmptied, GroupDeleted:
		clear(l.members)
	case RebalanceStarted:
		if e.TimeMillis != l.at {
			clear(l.joined)
		}
		l.joining = true
		switch e.Cause { //nolint:exhaustive // the others are about members that went
		case CauseMemberJoined, CauseProtocolsChanged, CauseLeaderRejoined, CauseStaticReplaced:
			l.join(e.TimeMillis, m)
		}
	case JoinCompleted:
		l.joining = false
		clear(l.joined)
	case MemberJoined, MemberRejoined:
		l.join(e.TimeMillis, m)
	case MemberReplaced:
		delete(l.members, e.Replaced)
		l.join(e.TimeMillis, m)
	case MemberLeft, MemberExpired, MemberDropped, MemberRefused:
		if m != nil {
			delete(l.members, m.ID)
		}
	case AssignmentInstalled:
		l.take(e.Assignment)
	}
}

func (l *roll) join(at int64, m *Member) {
	if m == nil || m.ID == "" {
		return
	}
	if !l.joining && at != l.at {
		clear(l.joined)
	}
	l.at = at
	l.members[m.ID], l.joined[m.ID] = *m, true
}

// take learns all members from an assignment, which may be the first event
// that is kept.
func (l *roll) take(a *Assignment) {
	l.joining = false
	clear(l.joined)
	if a == nil {
		return
	}
	if a.MembersMore == 0 {
		clear(l.members)
	}
	for i := range a.Members {
		l.members[a.Members[i].ID] = a.Members[i].Member
	}
}

// absent lists the members that have not joined.
func (l *roll) absent() []Member {
	var list []Member
	for _, id := range slices.Sorted(maps.Keys(l.members)) {
		if !l.joined[id] {
			list = append(list, l.members[id])
		}
	}
	return list
}
