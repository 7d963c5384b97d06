package group

import (
	"fmt"
	"maps"

	"rota/internal/schema"
)

// logged is what a restart must remember: the fold of the group's records.
type logged struct {
	// group is the last group record, nil if there is none or a tombstone.
	// It is never changed, only replaced.
	group *schema.GroupValue
	// epoch is the leader epoch that its generation comes from, or presentEpoch.
	epoch int32

	committed offsetTable
	// open are the offsets of transactions that have not ended, by producer.
	open map[int64]map[TopicPartition]offset
	// unstable counts the open transactions that hold an offset of a partition.
	unstable map[TopicPartition]int
}

// presentEpoch stands for the leader epoch of this shard, which a Group learns
// only when it is loaded.
const presentEpoch int32 = -1

// offset is a committed offset and where in the log it stands.
type offset struct {
	schema.OffsetValue
	at Offset
}

// Apply folds one entry of the group log into the group. Step and Tick do the
// same with the entries they emit; recovery calls it for those it reads. The error
// says that a known record cannot be decoded: the load of the shard fails.
// Keys are decoded by package schema, which also says to which group they belong.
// A marker that ends a transaction belongs to every group of the shard.
func (g *Group) Apply(e Entry) error {
	if e.Control != ControlNone {
		g.log.endTransaction(e.ProducerID, e.Control == ControlCommit)
		return nil
	}
	if k := e.Decoded; k != nil && k.Group == g.id {
		if err := g.log.applyOffset(TopicPartition{k.Topic, k.Partition}, &e); err != nil {
			return fmt.Errorf("group %q, offset %d: %w", g.id, e.Offset, err)
		}
		return nil
	}
	key, err := schema.ParseKey(e.Key)
	if err != nil {
		return fmt.Errorf("group %q, offset %d: %w", g.id, e.Offset, err)
	}
	if owner, known := schema.GroupOf(key); known && owner != g.id {
		return fmt.Errorf("group %q, offset %d: record of group %q", g.id, e.Offset, owner)
	}
	switch key := key.(type) {
	case schema.OffsetKey:
		err = g.log.applyOffset(TopicPartition{key.Topic, key.Partition}, &e)
	case schema.GroupKey:
		err = g.log.applyGroup(&e)
	}
	if err != nil {
		return fmt.Errorf("group %q, offset %d: %w", g.id, e.Offset, err)
	}
	return nil
}

func (l *logged) applyOffset(tp TopicPartition, e *Entry) error {
	if e.Value == nil {
		l.removeOffset(tp)
		return nil
	}
	v, err := schema.ParseOffsetValue(e.Value)
	if err != nil {
		return err
	}
	if e.ProducerID >= 0 {
		l.putPending(e.ProducerID, tp, offset{v, e.Offset})
	} else {
		l.putOffset(tp, offset{v, e.Offset})
	}
	return nil
}

func (l *logged) applyGroup(e *Entry) error {
	if e.Value == nil {
		l.putGroup(nil, e.LeaderEpoch)
		return nil
	}
	v, err := schema.ParseGroupValue(e.Value)
	if err != nil {
		return err
	}
	l.putGroup(&v, e.LeaderEpoch)
	return nil
}

// putGroup replaces the group's metadata; nil takes it away.
func (l *logged) putGroup(v *schema.GroupValue, epoch int32) { l.group, l.epoch = v, epoch }

// putOffset stores a committed offset.
func (l *logged) putOffset(tp TopicPartition, o offset) { l.committed.put(tp, o) }

// putPending stores an offset of an open transaction.
func (l *logged) putPending(producer int64, tp TopicPartition, o offset) {
	offsets := l.open[producer]
	if offsets == nil {
		offsets = make(map[TopicPartition]offset)
		if l.open == nil {
			l.open = make(map[int64]map[TopicPartition]offset)
			l.unstable = make(map[TopicPartition]int)
		}
		l.open[producer] = offsets
	}
	if _, again := offsets[tp]; !again {
		l.unstable[tp]++
	}
	offsets[tp] = o
}

// removeOffset takes away the committed offset of a partition and those of
// open transactions.
func (l *logged) removeOffset(tp TopicPartition) {
	l.committed.remove(tp)
	if l.unstable[tp] == 0 {
		return
	}
	delete(l.unstable, tp)
	for producer, offsets := range l.open {
		delete(offsets, tp)
		if len(offsets) == 0 {
			delete(l.open, producer)
		}
	}
}

// endTransaction commits or drops what a producer has left open. An offset
// that was committed after the transaction's own stays.
func (l *logged) endTransaction(producer int64, commit bool) {
	for tp, o := range l.open[producer] {
		if l.unstable[tp]--; l.unstable[tp] == 0 {
			delete(l.unstable, tp)
		}
		if old, ok := l.committed.get(tp); commit && (!ok || o.at > old.at) {
			l.putOffset(tp, o)
		}
	}
	delete(l.open, producer)
}

// holdsOffset reports whether the partition has an offset, committed or open.
func (l *logged) holdsOffset(tp TopicPartition) bool {
	_, ok := l.committed.get(tp)
	return ok || l.unstable[tp] > 0
}

// holdsOffsets reports whether any partition has.
func (l *logged) holdsOffsets() bool { return l.committed.len() > 0 || len(l.open) > 0 }

// holdsAny reports whether there is anything to remember.
func (l *logged) holdsAny() bool { return l.group != nil || l.holdsOffsets() }

// copyTo writes a copy that shares nothing that either of them changes.
func (l *logged) copyTo(c *logged) {
	*c = *l
	c.committed, c.unstable = l.committed.clone(), maps.Clone(l.unstable)
	c.open = maps.Clone(l.open)
	for producer, offsets := range l.open {
		c.open[producer] = maps.Clone(offsets)
	}
}
