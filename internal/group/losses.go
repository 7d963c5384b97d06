package group

import (
	"slices"

	"rota/internal/schema"
)

// lossBytes is what the records of leaves may take in one join phase. What is
// beyond that is remembered by the next assignment only, as in Kafka.
const lossBytes = 1 << 20

// recordLosses takes the members that are gone out of the group's last record,
// so that a crash before the next assignment does not bring them back. They
// have been told that they are out and are never heard of again, but the others
// would have to wait for them for a whole session after each crash: a broker
// that restarts more often than that would hold up the group for ever.
//
// The record has no leader: see owesRebalance.
func (g *Group) recordLosses() {
	last := g.log.group
	if last == nil || g.state != PreparingRebalance && g.state != CompletingRebalance {
		return
	}
	v := *last
	v.Leader, v.StateTimestamp = nil, g.now.Wall
	v.Members = slices.DeleteFunc(slices.Clone(last.Members), func(m schema.MemberValue) bool { return !g.remembers(&m) })
	if len(v.Members) == len(last.Members) {
		return
	}
	if len(v.Members) == 0 {
		v = schema.GroupValue{ProtocolType: v.ProtocolType, Generation: v.Generation, StateTimestamp: v.StateTimestamp}
	}
	if size := groupBytes(g.id, &v); g.joining.recorded+size <= lossBytes && g.appendGroup(v) {
		g.joining.recorded += size
	}
}

// remembers reports whether a recorded member is one still, under its id or
// under the one that its instance has got since.
func (g *Group) remembers(m *schema.MemberValue) bool {
	return g.members[m.ID] != nil || m.InstanceID != nil && g.statics[*m.InstanceID] != nil
}

// owesRebalance reports whether a record says that members have gone and that
// nobody has been given yet what they had.
func owesRebalance(v *schema.GroupValue) bool { return len(v.Members) > 0 && v.Leader == nil }
