package client

import "time"

// Dialect is what the members of a group say to each other where it is not
// what consumers say: metadata, assignments and the plan in between are bytes
// to the coordinator and to the Machine. Shares are still lists of Partitions,
// whatever those stand for.
type Dialect interface {
	// ProtocolType is that of the group: all members have the same.
	ProtocolType() string
	// Cooperative reports whether members keep their share while they join
	// again. It does not change.
	Cooperative() bool
	// Protocols lists the protocols that the member can use, best first, with
	// what it tells the leader: it owns that, sorted, since the generation.
	Protocols(owned []Partition, generation int32) []Protocol
	// Lead works out the assignment of every member. skip says that it is not
	// asked for: the member is a leader that came back to a stable group
	// (KIP-814).
	Lead(protocol string, members []JoinedMember, skip bool) ([]Assignment, error)
	// Share decodes an assignment of the protocol that the group has chosen. The
	// result is sorted.
	Share(protocol string, assignment []byte) ([]Partition, error)
}

// protocolType is that of the member's group.
func (m *Machine) protocolType() string {
	if m.c.Dialect != nil {
		return m.c.Dialect.ProtocolType()
	}
	return consumerType
}

// wants reports whether the member wants to be in the group.
func (m *Machine) wants() bool { return m.c.Dialect != nil || len(m.topics) > 0 }

// protocols is what the member offers in a JoinGroup.
func (m *Machine) protocols() []Protocol {
	if m.c.Dialect != nil {
		return m.c.Dialect.Protocols(m.owned, m.gen.ID)
	}
	metadata := m.subscription()
	var list []Protocol
	for _, a := range m.c.Assignors {
		list = append(list, Protocol{Name: a.Name(), Metadata: metadata})
	}
	return list
}

// share decodes an assignment, sorted.
func (m *Machine) share(plan []byte) ([]Partition, error) {
	if m.c.Dialect != nil {
		return m.c.Dialect.Share(m.gen.Protocol, plan)
	}
	return parsePlan(plan)
}

// Rejoin makes the next poll join again: what the member tells the leader has
// changed, or what the leader has planned for.
func (m *Machine) Rejoin(now time.Duration, why string) {
	m.now = now
	m.requestRejoin(why)
}

// Lose gives up the generation, as if the coordinator had said that it is over:
// the driver knows that it may be. Partitions are lost at the next poll.
func (m *Machine) Lose(now time.Duration, why string) {
	m.now = now
	if m.gen.ID == -1 || m.closed {
		return
	}
	m.reset(true, why)
}

// Leaving reports whether the member is being closed, or unsubscribes.
func (m *Machine) Leaving() bool { return m.closing != nil }
