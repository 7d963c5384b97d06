package group

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"time"
)

// member is one member of the group.
type member struct {
	lease

	id         string
	instanceID *string // nil for a dynamic member
	clientID   string
	clientHost string

	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []Protocol // in the order of preference
	assignment       []byte

	join parked
	sync parked

	// isNew is true until the member's first join is answered. Such a member
	// has Config.NewMemberTimeout to live, whatever it waits for.
	isNew bool
	// unsynced is true while the member owes its generation a SyncGroup.
	unsynced bool
	// gone is true once the member has been removed.
	gone bool
	// unreleased counts its answers that the shell has not released yet.
	unreleased int
	reason     string // of its last JoinGroup
	order      uint64 // place among the members; that of a static one stays
}

// parked is a request that waits for its answer.
type parked struct {
	waits  bool
	ticket Ticket
	seq    uint64 // order of arrival
}

// pendingJoin is a member id that was handed out with MEMBER_ID_REQUIRED and
// has not come back yet. It is no member.
type pendingJoin struct {
	lease
	ref   MemberRef
	since time.Duration // when it was handed out
}

// ref names the member in events.
func (m *member) ref() MemberRef {
	r := MemberRef{ID: m.id, ClientID: m.clientID, ClientHost: m.clientHost, Reason: m.reason}
	if m.instanceID != nil {
		r.InstanceID = *m.instanceID
	}
	return r
}

// unanswered reports whether the member waits for an answer of ours: silence
// is then not its fault.
func (m *member) unanswered() bool {
	return m.join.waits || m.sync.waits || m.unreleased > 0
}

// metadata returns what the member said with the named protocol.
func (m *member) metadata(protocol string) []byte {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return m.protocols[i].Metadata
		}
	}
	return nil
}

// offersSame reports whether list is the member's: same names, same order,
// same bytes.
func (m *member) offersSame(list []Protocol) bool {
	return slices.EqualFunc(m.protocols, list, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// insert makes m a member.
func (g *Group) insert(m *member) {
	if len(g.members) == 0 {
		g.members = make(map[string]*member)
	}
	g.members[m.id] = m
	if n := len(g.order); n == 0 || g.order[n-1].order < m.order {
		g.order = append(g.order, m)
	} else {
		at, _ := g.place(m)
		g.order = slices.Insert(g.order, at, m)
	}
	if m.instanceID != nil {
		if g.statics == nil {
			g.statics = make(map[string]*member)
		}
		g.statics[*m.instanceID] = m
	}
	g.count(m, 1)
	if g.leader == nil {
		g.leader = m
	}
	m.lease.member = m
	m.lease.seq = g.nextSeq()
	g.leases.add(&m.lease, never)
}

// withdraw takes m out of everything that insert put it into. Its parked
// requests must have been answered. A leaderless group gets its
// longest-standing member as the next leader.
func (g *Group) withdraw(m *member) {
	m.gone = true
	delete(g.members, m.id)
	if at, ok := g.place(m); ok {
		g.order = slices.Delete(g.order, at, at+1)
	}
	if m.instanceID != nil {
		delete(g.statics, *m.instanceID)
	}
	g.count(m, -1)
	if m.unsynced {
		m.unsynced = false
		g.syncing.missing--
	}
	g.leases.drop(&m.lease)
	if g.leader == m {
		g.leader = nil
		if len(g.order) > 0 {
			g.leader = g.order[0]
		}
	}
}

// place finds m among the members in their order.
func (g *Group) place(m *member) (int, bool) {
	return slices.BinarySearchFunc(g.order, m.order, func(e *member, order uint64) int {
		return cmp.Compare(e.order, order)
	})
}

// count adds n to the count of members for each protocol of m, once for a name
// that m lists twice.
func (g *Group) count(m *member, n int) {
	for name := range distinctNames(m.protocols) {
		g.supports.add(name, n)
	}
}

// distinctNames yields the names in the list, each once.
func distinctNames(list []Protocol) iter.Seq[string] {
	const short = 16 // up to here looking back is cheaper than a set
	return func(yield func(string) bool) {
		var seen map[string]struct{}
		if len(list) > short {
			seen = make(map[string]struct{}, len(list))
		}
		for i := range list {
			name := list[i].Name
			if seen != nil {
				if _, twice := seen[name]; twice {
					continue
				}
				seen[name] = struct{}{}
			} else if slices.ContainsFunc(list[:i], func(p Protocol) bool { return p.Name == name }) {
				continue
			}
			if !yield(name) {
				return
			}
		}
	}
}

// identify finds the member that a request claims to come from.
func (g *Group) identify(id string, instanceID *string) (*member, Code) {
	if instanceID != nil {
		m := g.statics[*instanceID]
		if m == nil {
			return nil, codeUnknownMemberID
		}
		if m.id != id {
			return nil, codeFencedInstanceID
		}
		return m, codeNone
	}
	if m := g.members[id]; m != nil {
		return m, codeNone
	}
	return nil, codeUnknownMemberID
}

// extend restarts the member's session in full, unless it has none: a new
// member's time runs on, and one that waits for an answer has all the time
// until it gets it.
func (g *Group) extend(m *member) {
	if m.gone || m.isNew {
		return
	}
	if m.unanswered() {
		g.leases.move(&m.lease, never)
		return
	}
	g.leases.move(&m.lease, g.now.Mono+m.sessionTimeout)
}

// answerMember replies to a request of m that restarts its session once the
// reply is released. Until then the session does not run.
func (g *Group) answerMember(m *member, t Ticket, after Dependency, body Response) {
	m.unreleased++
	g.unreleased.put(t, m)
	g.extend(m)
	g.out.Replies = append(g.replies(), Reply{Ticket: t, After: after, Body: body, Session: true})
}

// longestRebalanceTimeout is how long a join or sync phase may take.
func (g *Group) longestRebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.order {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}
