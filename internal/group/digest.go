package group

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"
)

// Frame is how a Digest sees the world, so that two groups that differ only in
// when they live and in what names they were given have the same one: times
// count from Now, generations from Generation, offsets that were committed from
// Committed, and ids and tickets go by the names given.
type Frame struct {
	Now        Now
	Generation int32
	Committed  int64
	Name       func(memberID string) byte
	Ticket     func(Ticket) byte
}

// AppendDigest appends all that decides what the group will do: two groups
// with the same digest behave alike for ever, but for the wall clock, which
// this takes for one that stands still.
func (g *Group) AppendDigest(b []byte, f *Frame) []byte {
	b = append(b, byte(g.state), name(f, g.leader))
	b = relative(b, int64(g.generation), int64(f.Generation))
	b = append(b, truth(g.skipTo != 0))
	if g.skipTo != 0 {
		b = relative(b, int64(g.skipTo), int64(f.Generation))
	}
	forgets := g.forgotten[1] > g.forgotten[0]+1
	b = append(b, truth(forgets))
	if forgets {
		b = relative(b, int64(g.forgotten[0]), int64(f.Generation))
		b = relative(b, int64(g.forgotten[1]), int64(f.Generation))
	}
	b = text(text(b, g.protocolType), g.protocolName)
	j, s := &g.joining, &g.syncing
	b = f.due(f.due(b, j.by), s.by)
	b = append(b, byte(j.waiting), truth(j.initial), truth(j.newcomer), byte(s.missing))
	if j.initial {
		b = f.due(b, f.Now.Mono+j.delay)
		b = f.due(b, f.Now.Mono+j.remaining)
	}
	for _, m := range g.order {
		b = m.digest(b, f)
	}
	b = append(b, 0xff)
	byAge := slices.Clone(g.leases)
	slices.SortFunc(byAge, func(x, y *lease) int { return cmp.Compare(x.seq, y.seq) })
	for _, l := range byAge {
		if l.pending != nil {
			b = f.due(append(b, 'p', f.Name(l.pending.ref.ID)), l.due)
		} else {
			b = append(b, 'm', name(f, l.member))
		}
	}
	b = append(b, 0xff)
	byTicket := slices.Clone(g.unreleased.all())
	slices.SortFunc(byTicket, func(x, y unreleasedAnswer) int { return cmp.Compare(x.ticket, y.ticket) })
	for _, a := range byTicket {
		b = append(b, f.Ticket(a.ticket), name(f, a.member), truth(a.member.gone))
	}
	b = append(b, truth(g.subscribed != nil), byte(len(g.subscribed)))
	return g.AppendLogDigest(b, f)
}

// AppendLogDigest appends the part of the digest that the log remembers.
func (g *Group) AppendLogDigest(b []byte, f *Frame) []byte {
	b = append(b, 0xff, truth(g.log.group != nil))
	if v := g.log.group; v != nil {
		b = relative(b, int64(v.Generation), int64(f.Generation))
		b = text(b, v.ProtocolType)
		if v.Protocol != nil {
			b = text(b, *v.Protocol)
		}
		if v.Leader != nil {
			b = append(b, f.Name(*v.Leader))
		}
		for i := range v.Members {
			m := &v.Members[i]
			b = append(b, f.Name(m.ID), truth(m.InstanceID != nil))
			b = relative(relative(b, int64(m.SessionTimeout), 0), int64(m.RebalanceTimeout), 0)
			b = text(text(b, string(m.Subscription)), string(m.Assignment))
		}
	}
	b = append(b, byte(g.log.committed.len()), byte(len(g.log.open)))
	for _, tp := range g.log.committed.partitions() {
		o, _ := g.log.committed.get(tp)
		b = relative(text(b, tp.Topic), int64(tp.Partition), 0)
		b = relative(b, o.Offset, f.Committed)
	}
	return b
}

func (m *member) digest(b []byte, f *Frame) []byte {
	b = append(b, 'm', f.Name(m.id), truth(m.instanceID != nil), truth(m.isNew), truth(m.unsynced), byte(m.unreleased))
	b = f.due(b, m.lease.due)
	b = relative(relative(b, int64(m.sessionTimeout), 0), int64(m.rebalanceTimeout), 0)
	for i := range m.protocols {
		b = text(text(b, m.protocols[i].Name), string(m.protocols[i].Metadata))
	}
	b = text(b, string(m.assignment))
	for _, p := range []*parked{&m.join, &m.sync} {
		b = append(b, truth(p.waits))
		if p.waits {
			b = append(b, f.Ticket(p.ticket))
		}
	}
	return b
}

func name(f *Frame, m *member) byte {
	if m == nil {
		return 0
	}
	return f.Name(m.id)
}

func (f *Frame) due(b []byte, due time.Duration) []byte {
	if due == never {
		return append(b, 0xfe)
	}
	return relative(b, int64(due/time.Millisecond), int64(f.Now.Mono/time.Millisecond))
}

func relative(b []byte, n, to int64) []byte { return binary.AppendVarint(b, n-to) }

func text(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

func truth(holds bool) byte {
	if holds {
		return 1
	}
	return 0
}
