package group

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"rota/internal/schema"
)

// OpenLine parts the text of a group: above it stands what the log remembers,
// which is the same for a group that was read back; below it what it forgets.
const OpenLine = "--- not in the log"

// MarshalText writes everything the group knows, sorted and readable: what
// replay tests compare and what a crash report holds. What a restart forgets,
// open requests and deadlines among it, comes last, under OpenLine, so that a
// comparison can leave it out.
func (g *Group) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "group %q\n", g.id)
	g.log.write(&b)
	b.WriteString(OpenLine + "\n")
	g.writeState(&b)
	g.writeMembers(&b)
	g.writeOpen(&b)
	return b.Bytes(), nil
}

func (l *logged) write(b *bytes.Buffer) {
	if v := l.group; v != nil {
		fmt.Fprintf(b, "record generation=%d type=%q protocol=%s leader=%s since=%d\n",
			v.Generation, v.ProtocolType, orNone(v.Protocol), orNone(v.Leader), v.StateTimestamp)
		for i := range v.Members {
			m := &v.Members[i]
			fmt.Fprintf(b, "  member %q instance=%s client=%q host=%q rebalance=%s session=%s subscription=%x assignment=%x\n",
				m.ID, orNone(m.InstanceID), m.ClientID, m.ClientHost,
				fromMillis(m.RebalanceTimeout), fromMillis(m.SessionTimeout), m.Subscription, m.Assignment)
		}
	}
	for _, tp := range l.committed.partitions() {
		b.WriteString("committed ")
		o, _ := l.committed.get(tp)
		writeOffset(b, tp, o)
	}
	producers := make([]int64, 0, len(l.open))
	for p := range l.open {
		producers = append(producers, p)
	}
	slices.Sort(producers)
	for _, p := range producers {
		for _, tp := range sortedPartitions(l.open[p]) {
			fmt.Fprintf(b, "pending producer=%d ", p)
			writeOffset(b, tp, l.open[p][tp])
		}
	}
}

func writeOffset(b *bytes.Buffer, tp TopicPartition, o offset) {
	fmt.Fprintf(b, "%q-%d offset=%d epoch=%d metadata=%q time=%d", tp.Topic, tp.Partition, o.Offset, o.LeaderEpoch, o.Metadata, o.CommitTimestamp)
	if o.ExpireTimestamp != schema.None {
		fmt.Fprintf(b, " expires=%d", o.ExpireTimestamp)
	}
	if o.TopicID != [16]byte{} {
		fmt.Fprintf(b, " id=%x", o.TopicID)
	}
	fmt.Fprintf(b, " at=%d\n", o.at)
}

func (g *Group) writeState(b *bytes.Buffer) {
	leader := ""
	if g.leader != nil {
		leader = g.leader.id
	}
	fmt.Fprintf(b, "state %s since=%d generation=%d next=%d type=%q protocol=%q leader=%q record-epoch=%d\n",
		g.state, g.since, g.generation, g.skipTo, g.protocolType, g.protocolName, leader, g.log.epoch)
	if g.subscribed != nil {
		topics := make([]string, 0, len(g.subscribed))
		for t := range g.subscribed {
			topics = append(topics, t)
		}
		slices.Sort(topics)
		fmt.Fprintf(b, "subscribed %q\n", topics)
	}
	if j := &g.joining; g.state == PreparingRebalance {
		fmt.Fprintf(b, "joining by=%s began=%s waiting=%d", due(j.by), j.began, j.waiting)
		if j.initial {
			fmt.Fprintf(b, " initial newcomer=%t delay=%s remaining=%s", j.newcomer, j.delay, j.remaining)
		}
		b.WriteByte('\n')
	}
	if s := &g.syncing; s.missing > 0 {
		fmt.Fprintf(b, "syncing by=%s began=%s missing=%d\n", due(s.by), s.began, s.missing)
	}
}

func (g *Group) writeMembers(b *bytes.Buffer) {
	for _, m := range g.order {
		fmt.Fprintf(b, "member %q instance=%s client=%q host=%q rebalance=%s session=%s due=%s",
			m.id, orNone(m.instanceID), m.clientID, m.clientHost, m.rebalanceTimeout, m.sessionTimeout, due(m.lease.due))
		for _, f := range []struct {
			name string
			set  bool
		}{{"new", m.isNew}, {"unsynced", m.unsynced}, {"join-parked", m.join.waits}, {"sync-parked", m.sync.waits}} {
			if f.set {
				b.WriteString(" " + f.name)
			}
		}
		if m.unreleased > 0 {
			fmt.Fprintf(b, " unreleased=%d", m.unreleased)
		}
		fmt.Fprintf(b, " assignment=%x\n", m.assignment)
		for i := range m.protocols {
			fmt.Fprintf(b, "  protocol %q %x\n", m.protocols[i].Name, m.protocols[i].Metadata)
		}
	}
}

func (g *Group) writeOpen(b *bytes.Buffer) {
	for _, p := range g.pendingInOrder() {
		fmt.Fprintf(b, "pending-join %q client=%q host=%q due=%s\n", p.ref.ID, p.ref.ClientID, p.ref.ClientHost, due(p.lease.due))
	}
	for _, p := range g.parked() {
		kind := "sync"
		if p.joins {
			kind = "join"
		}
		fmt.Fprintf(b, "parked %s ticket=%d member=%q\n", kind, p.ticket, p.member.id)
	}
	for _, a := range g.unreleased.all() {
		fmt.Fprintf(b, "unreleased ticket=%d member=%q\n", a.ticket, a.member.id)
	}
}

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return strconv.Quote(*s)
}

func due(d time.Duration) string {
	if d == never {
		return "never"
	}
	return d.String()
}
