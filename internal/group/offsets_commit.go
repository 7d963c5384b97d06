package group

import (
	"time"

	"rota/internal/schema"
)

// commit runs an OffsetCommit: the offsets of one request are one batch.
func (g *Group) commit(t Ticket, r *Commit) {
	exists := g.Exists()
	m, code := g.checkCommit(r, exists)
	if code != codeNone {
		g.reply(t, DependsStep, Committed{Codes: repeat(code, len(r.Offsets))})
		e := g.emit(CommitRefused)
		e.Member, e.Code = g.senderRef(r.MemberID, r.InstanceID), code
		return
	}
	codes := make([]Code, len(r.Offsets))
	wrote := g.appendOffsets(r, noProducer, codes)
	switch {
	case m != nil && wrote:
		g.answerMember(m, t, DependsStep, Committed{Codes: codes})
	case m != nil:
		g.extend(m)
		fallthrough
	default:
		g.reply(t, DependsStep, Committed{Codes: codes})
	}
	if wrote && !exists {
		g.emit(GroupCreated)
	}
}

// checkCommit decides whether a commit may be taken. The member is nil for one
// that needs none: of a consumer that manages its partitions itself.
func (g *Group) checkCommit(r *Commit, exists bool) (*member, Code) {
	if len(g.id) > schema.MaxString {
		return nil, codeInvalidGroupID
	}
	if !exists && r.Generation >= 0 {
		if r.Version >= 9 {
			return nil, codeGroupIDNotFound
		}
		return nil, codeIllegalGeneration
	}
	if g.state == Empty && r.Generation < 0 {
		return nil, codeNone
	}
	if r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil {
		return nil, codeUnknownMemberID
	}
	m, code := g.identify(r.MemberID, r.InstanceID)
	switch {
	case code != codeNone:
		return nil, code
	case r.Generation != g.generation:
		return nil, g.wrongGeneration(r.Generation)
	case g.state == CompletingRebalance:
		return nil, codeRebalanceInProgress
	}
	return m, codeNone
}

// producer is whose transaction a batch belongs to.
type producer struct {
	id    int64
	epoch int16
}

// noProducer is of a batch that belongs to no transaction.
var noProducer = producer{-1, -1}

// appendOffsets records the offsets that are acceptable by themselves, and
// writes into codes what the others are refused with. It reports whether there
// is anything to wait for. Those of a producer are pending from here on.
func (g *Group) appendOffsets(r *Commit, of producer, codes []Code) bool {
	accepted, size := 0, 0
	for i := range r.Offsets {
		o := &r.Offsets[i]
		if g.metadataTooLarge(o.Metadata) {
			codes[i] = codeOffsetMetadataTooLarge
			continue
		}
		accepted++
		size += offsetKeyBytes(g.id, o.Topic) + offsetValueBytes(o.Metadata)
	}
	if accepted == 0 {
		return false
	}
	if !g.fits(accepted, size) {
		for i := range codes {
			if codes[i] == codeNone {
				codes[i] = codeInvalidCommitOffsetSize
			}
		}
		return false
	}
	buf, records := make([]byte, 0, size), make([]Record, 0, accepted)
	for i := range r.Offsets {
		if codes[i] != codeNone {
			continue
		}
		o := &r.Offsets[i]
		v := g.offsetValue(r, o)
		start := len(buf)
		buf = schema.AppendOffsetKey(buf, schema.OffsetKey{Group: g.id, Topic: o.Topic, Partition: o.Partition})
		keyEnd := len(buf)
		buf = schema.AppendOffsetValue(buf, v)
		records = append(records, Record{Key: buf[start:keyEnd:keyEnd], Value: buf[keyEnd:len(buf):len(buf)]})
		if of == noProducer {
			g.log.putOffset(o.TopicPartition, offset{v, g.at})
		} else {
			g.log.putPending(of.id, o.TopicPartition, offset{v, g.at})
		}
		g.at++
	}
	g.appendBatch(records, of)
	return true
}

// offsetValue is what is recorded of a committed offset. A retention of its
// own costs it the leader epoch: the one record version that has room for the
// first has none for the second.
func (g *Group) offsetValue(r *Commit, o *CommitOffset) schema.OffsetValue {
	v := schema.OffsetValue{
		Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata,
		CommitTimestamp: g.now.Wall, ExpireTimestamp: schema.None,
	}
	if r.Version == 1 && o.Timestamp >= 0 {
		v.CommitTimestamp = o.Timestamp
	}
	if r.Version <= 4 && r.Retention >= 0 {
		v.ExpireTimestamp = g.now.Wall + int64(r.Retention/time.Millisecond)
		v.LeaderEpoch = schema.None
	}
	return v
}

// metadataTooLarge measures in UTF-16 units, as Kafka does.
func (g *Group) metadataTooLarge(s string) bool {
	if len(s) > schema.MaxString {
		return true
	}
	if len(s) <= g.cfg.MaxMetadata {
		return false
	}
	units := 0
	for _, r := range s {
		units++
		if r > 0xffff {
			units++
		}
	}
	return units > g.cfg.MaxMetadata
}

// senderRef names who sent a commit, as far as the group knows.
func (g *Group) senderRef(id string, instanceID *string) MemberRef {
	if m := g.members[id]; m != nil {
		return m.ref()
	}
	ref := MemberRef{ID: id}
	if instanceID != nil {
		ref.InstanceID = *instanceID
	}
	return ref
}
