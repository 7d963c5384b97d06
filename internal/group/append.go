package group

import (
	"time"

	"rota/internal/schema"
)

// What a record and a batch take beyond keys and values, at most.
const (
	recordOverhead = 32
	batchOverhead  = 128
)

// chunkBytes is how much of a long list of tombstones goes into one batch, so
// that none holds up the log.
const chunkBytes = 1 << 20

// appendBatch hands out records that have been folded in at g.at.
func (g *Group) appendBatch(records []Record, of producer) {
	g.out.Batches = append(g.out.Batches, Batch{Records: records, ProducerID: of.id, ProducerEpoch: of.epoch})
}

// fits reports whether a batch of so many records and bytes may be appended.
func (g *Group) fits(records, bytes int) bool {
	limit := g.cfg.MaxRecordBytes
	return limit <= 0 || bytes+records*recordOverhead+batchOverhead <= limit
}

// appendGroup records the group as v says, and reports whether that was
// possible: a record that is too large is refused and changes nothing.
//
// A static member that restarts, or a member that leaves, may have a generation
// recorded again that an earlier epoch began. The next epoch must still count
// from that one: this epoch may hand out the generations that it would come to
// otherwise.
// So must it when offsets without a group record become a group: the generations
// of what has none count from the first epoch.
func (g *Group) appendGroup(v schema.GroupValue) bool {
	buf := make([]byte, 0, groupBytes(g.id, &v))
	buf = schema.AppendGroupKey(buf, schema.GroupKey{Group: g.id})
	keyEnd := len(buf)
	buf = schema.AppendGroupValue(buf, v)
	if !g.fits(1, len(buf)) {
		return false
	}
	record, epoch := Record{Key: buf[:keyEnd:keyEnd], Value: buf[keyEnd:]}, presentEpoch
	switch {
	case g.log.group != nil && g.log.group.Generation == v.Generation && g.log.epoch != presentEpoch:
		epoch = g.log.epoch
		record.Since = &epoch
	case g.log.group == nil && g.skipTo != 0:
		epoch = 0
		record.Since = &epoch
	}
	g.appendBatch([]Record{record}, noProducer)
	g.log.putGroup(&v, epoch)
	g.at++
	return true
}

// groupBytes is what a group record takes at most.
func groupBytes(id string, v *schema.GroupValue) int {
	const fixed, perMember = 64, 64
	n := fixed + len(id) + len(v.ProtocolType)
	if v.Protocol != nil {
		n += len(*v.Protocol)
	}
	if v.Leader != nil {
		n += len(*v.Leader)
	}
	for i := range v.Members {
		m := &v.Members[i]
		n += perMember + len(m.ID) + len(m.ClientID) + len(m.ClientHost) + len(m.Subscription) + len(m.Assignment)
		if m.InstanceID != nil {
			n += len(*m.InstanceID)
		}
	}
	return n
}

// snapshot is the group record of the present generation. assignment says what
// each member has; nil leaves the members out.
func (g *Group) snapshot(since int64, assignment func(*member) []byte) schema.GroupValue {
	v := schema.GroupValue{ProtocolType: g.protocolType, Generation: g.generation, StateTimestamp: since}
	if assignment == nil {
		return v
	}
	protocol, leader := g.protocolName, g.leader.id
	v.Protocol, v.Leader = &protocol, &leader
	v.Members = make([]schema.MemberValue, len(g.order))
	for i, m := range g.order {
		v.Members[i] = schema.MemberValue{
			ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeout: toMillis(m.rebalanceTimeout), SessionTimeout: toMillis(m.sessionTimeout),
			Subscription: m.metadata(protocol), Assignment: assignment(m),
		}
	}
	return v
}

func toMillis(d time.Duration) int32 { return int32(d / time.Millisecond) }

func fromMillis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// appendTombstones removes the offsets of the partitions, which must have
// some, in as many batches as it takes.
func (g *Group) appendTombstones(partitions []TopicPartition) {
	for len(partitions) > 0 {
		n, size := 0, 0
		for n < len(partitions) && (n == 0 || size < chunkBytes) {
			size += offsetKeyBytes(g.id, partitions[n].Topic)
			n++
		}
		buf, records := make([]byte, 0, size), make([]Record, n)
		for i, tp := range partitions[:n] {
			start := len(buf)
			buf = schema.AppendOffsetKey(buf, schema.OffsetKey{Group: g.id, Topic: tp.Topic, Partition: tp.Partition})
			records[i].Key = buf[start:len(buf):len(buf)]
			g.log.removeOffset(tp)
			g.at++
		}
		g.appendBatch(records, noProducer)
		partitions = partitions[n:]
	}
}

// appendGroupTombstone removes the group record, or says again that there is
// none. It goes into one batch with the last offsets that the same call has
// removed, so that a crash does not leave a deleted group behind without them.
func (g *Group) appendGroupTombstone() {
	record := Record{Key: schema.AppendGroupKey(nil, schema.GroupKey{Group: g.id})}
	if last := len(g.out.Batches) - 1; last >= 0 {
		g.out.Batches[last].Records = append(g.out.Batches[last].Records, record)
	} else {
		g.appendBatch([]Record{record}, noProducer)
	}
	g.log.putGroup(nil, presentEpoch)
	g.at++
}

// offsetKeyBytes is what the key of an offset takes.
func offsetKeyBytes(group, topic string) int { return 10 + len(group) + len(topic) }

// offsetValueBytes is what the value of an offset takes at most.
func offsetValueBytes(metadata string) int { return 28 + len(metadata) }
