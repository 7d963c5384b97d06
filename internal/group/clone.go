package group

import (
	"maps"
	"slices"
)

// Clone returns a copy that shares nothing with the group that either of them
// changes: what is done to one is not seen in the other. A search over all
// that can happen to a group continues from a copy of it.
func (g *Group) Clone() *Group {
	c := new(Group)
	*c = *g
	g.log.copyTo(&c.log)
	c.out = Effects{}
	c.one[0] = Reply{}

	copies := make(map[*member]*member, len(g.order))
	c.members, c.statics = make(map[string]*member, len(g.members)), make(map[string]*member, len(g.statics))
	c.order = make([]*member, len(g.order))
	for i, m := range g.order {
		n := copyOf(copies, m)
		c.order[i] = n
		c.members[n.id] = n
		if n.instanceID != nil {
			c.statics[*n.instanceID] = n
		}
	}
	c.leader = copyOf(copies, g.leader)
	c.pending = make(map[string]*pendingJoin, len(g.pending))
	pending := make(map[*pendingJoin]*pendingJoin, len(g.pending))
	for id, p := range g.pending {
		n := new(pendingJoin)
		*n = *p
		n.lease.pending = n
		c.pending[id], pending[p] = n, n
	}
	c.leases = make(leases, len(g.leases))
	for i, l := range g.leases {
		if l.pending != nil {
			c.leases[i] = &pending[l.pending].lease
		} else {
			c.leases[i] = &copies[l.member].lease
		}
	}
	c.unreleased = unreleased{list: slices.Clone(g.unreleased.all())}
	for i := range c.unreleased.list {
		c.unreleased.list[i].member = copyOf(copies, c.unreleased.list[i].member)
	}
	if w := g.joining.waits; w != nil {
		c.joining.waits = &waits{slices.Clone(w.list), w.more}
	}
	c.supports, c.subscribed = slices.Clone(g.supports), maps.Clone(g.subscribed)
	return c
}

// copyOf returns the copy of a member, which may be gone and still wait for
// the release of an answer.
func copyOf(copies map[*member]*member, m *member) *member {
	if m == nil {
		return nil
	}
	n := copies[m]
	if n == nil {
		n = new(member)
		*n = *m
		n.lease.member = n
		copies[m] = n
	}
	return n
}
