package group

import "time"

// Inspection is what a group is at one moment, for those who watch it: unlike
// Describe it shows all of it in every state. It may be ahead of what is
// durable by the batches in flight.
type Inspection struct {
	ID           string
	State        State
	SinceMillis  int64 // when it came to that state, Unix time; -1: not known
	Generation   int32
	ProtocolType string
	Protocol     string
	Leader       string // member id, "" for none
	// MemberCount and PendingCount are members, and ids that were handed out
	// and have not come back.
	MemberCount, PendingCount int
	// Members are in the order in which they joined; nil in an overview.
	Members []InspectedMember
	// Offsets are sorted by topic and partition.
	Offsets []InspectedOffset
}

// InspectedMember is one member of an Inspection.
type InspectedMember struct {
	MemberRef
	SessionTimeout, RebalanceTimeout time.Duration
	// Joining and Syncing say that its request waits for the others.
	Joining, Syncing bool
	// Metadata is what it said with the chosen protocol, or with its first
	// while none is chosen. Metadata and Assignment must not be changed.
	Metadata, Assignment []byte
}

// InspectedOffset is a committed offset of an Inspection.
type InspectedOffset struct {
	TopicPartition
	Offset       int64
	Metadata     string
	CommitMillis int64 // when it was committed, Unix time
	// ExpiresMillis is when it will be dropped unless something changes; -1: it is in use.
	ExpiresMillis int64
}

// Inspect describes the group; overview leaves the members out.
func (g *Group) Inspect(overview bool) Inspection {
	v := Inspection{
		ID: g.id, State: g.state, SinceMillis: g.since, Generation: g.generation,
		ProtocolType: g.protocolType, Protocol: g.protocolName,
		MemberCount: len(g.members), PendingCount: len(g.pending),
		Offsets: g.inspectOffsets(),
	}
	if g.leader != nil {
		v.Leader = g.leader.id
	}
	if overview {
		return v
	}
	v.Members = make([]InspectedMember, len(g.order))
	for i, m := range g.order {
		v.Members[i] = InspectedMember{
			MemberRef: m.ref(), SessionTimeout: m.sessionTimeout, RebalanceTimeout: m.rebalanceTimeout,
			Joining: m.join.waits, Syncing: m.sync.waits,
			Metadata: m.metadata(g.protocolName), Assignment: m.assignment,
		}
		if v.Members[i].Metadata == nil && len(m.protocols) > 0 {
			v.Members[i].Metadata = m.protocols[0].Metadata
		}
	}
	return v
}

func (g *Group) inspectOffsets() []InspectedOffset {
	keeps, may := g.retention()
	list := make([]InspectedOffset, 0, g.log.committed.len())
	for i := range g.log.committed.topics {
		t := &g.log.committed.topics[i]
		for j := range t.offsets {
			tp := TopicPartition{t.topic, t.offsets[j].partition}
			o := t.offsets[j].unpack()
			v := InspectedOffset{TopicPartition: tp, Offset: o.Offset, Metadata: o.Metadata, CommitMillis: o.CommitTimestamp, ExpiresMillis: -1}
			if may && !keeps(tp) && g.log.unstable[tp] == 0 {
				v.ExpiresMillis = g.expiresAt(&o)
			}
			list = append(list, v)
		}
	}
	return list
}
