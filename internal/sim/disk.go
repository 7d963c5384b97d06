package sim

import (
	"bytes"
	"slices"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
)

// disk is the log of one shard as the simulated medium has it.
type disk struct {
	batches []stored
	durable int // how many of batches are
	index   index
	codec   record.Codec
	refuse  bool // the next append
	foreign bool // somebody else's batch gets in before the next append
	full    bool
}

// stored is one batch of the log.
type stored struct {
	seq     uint64 // of the shard that appended it
	base    group.Offset
	next    group.Offset
	bytes   []byte
	entries []entry
}

// entry is what one record says.
type entry struct {
	at    group.Offset
	group int // -1: of none
	// An offset of a partition, or the group's metadata.
	isOffset bool
	part     part
	offset   int64              // none for a tombstone
	value    *schema.GroupValue // nil for a tombstone
}

// none stands for "no committed offset".
const none = -1

// part names a partition by the numbers of its topic and itself.
type part struct {
	topic, partition int16
}

// end is the offset of the next record.
func (d *disk) end() group.Offset { return d.nextAfter(len(d.batches)) }

// durableEnd is the end of what is durable.
func (d *disk) durableEnd() group.Offset { return d.nextAfter(d.durable) }

func (d *disk) nextAfter(batches int) group.Offset {
	if batches == 0 {
		return 0
	}
	return d.batches[batches-1].next
}

// append stores a batch at the end and returns its base offset.
func (d *disk) append(w *World, seq uint64, batch []byte, epoch int32) group.Offset {
	base := d.end()
	b := stored{seq: seq, base: base, bytes: bytes.Clone(batch)}
	record.SetBaseOffset(b.bytes, base)
	record.SetLeaderEpoch(b.bytes, epoch)
	b.next = record.NextOffset(b.bytes)
	for r, err := range d.codec.Records(b.bytes) {
		if err != nil {
			w.fail("log", "a batch that cannot be read: %v", err)
			break
		}
		b.entries = append(b.entries, w.parse(r.Offset, r.Key, r.Value))
	}
	d.batches = append(d.batches, b)
	return base
}

// appendForeign stores a record that no group knows, durable at once as far as
// what is before it is.
func (d *disk) appendForeign(w *World, epoch int32) {
	var b record.Builder
	b.Reset(nil)
	b.Append(w.now().Wall, []byte{0, 99}, []byte{1})
	d.append(w, 0, b.Finish(), epoch)
}

// keep cuts the log: of the batches in flight the first n survive, durable.
func (d *disk) keep(n int) {
	d.durable = min(d.durable+n, len(d.batches))
	d.batches = slices.Delete(d.batches, d.durable, len(d.batches))
}

// parse reads a record.
func (w *World) parse(at group.Offset, key, value []byte) entry {
	e := entry{at: at, group: -1, offset: none}
	k, err := schema.ParseKey(key)
	if err != nil {
		w.fail("log", "a key that cannot be read: %v", err)
		return e
	}
	switch k := k.(type) {
	case schema.OffsetKey:
		e.group, e.isOffset, e.part = w.groupIndex(k.Group), true, partOf(k.Topic, k.Partition)
		if value != nil {
			v, err := schema.ParseOffsetValue(value)
			if err != nil {
				w.fail("log", "an offset that cannot be read: %v", err)
			}
			e.offset = v.Offset
		}
	case schema.GroupKey:
		e.group = w.groupIndex(k.Group)
		if value != nil {
			v, err := schema.ParseGroupValue(value)
			if err != nil {
				w.fail("log", "a group that cannot be read: %v", err)
			}
			e.value = &v
		}
	}
	return e
}

// index is what the records so far come to, the way a reader of the log who
// knows nothing of groups would work it out.
type index struct {
	offsets []map[part]known // by group
	groups  []knownGroup
}

// known is the last value of a partition and where it stands.
type known struct {
	offset int64
	at     group.Offset
}

// knownGroup is the last metadata of a group; value is nil if it has none.
type knownGroup struct {
	value *schema.GroupValue
	at    group.Offset // -1 if there never was any
	last  group.Offset // of the last record of any kind, -1 if there is none
}

func (x *index) reset(groups int) {
	x.offsets = make([]map[part]known, groups)
	x.groups = make([]knownGroup, groups)
	for i := range x.groups {
		x.offsets[i] = map[part]known{}
		x.groups[i] = knownGroup{at: -1, last: -1}
	}
}

func (x *index) add(e *entry) {
	if e.group < 0 {
		return
	}
	g := &x.groups[e.group]
	g.last = e.at
	if e.isOffset {
		x.offsets[e.group][e.part] = known{e.offset, e.at}
	} else {
		g.value, g.at = e.value, e.at
	}
}

// rebuild reads the log from its start.
func (d *disk) rebuild(groups int) {
	d.index.reset(groups)
	for i := range d.batches {
		for j := range d.batches[i].entries {
			d.index.add(&d.batches[i].entries[j])
		}
	}
}

var topicNames = []string{"t", "u"}

func partOf(topic string, partition int32) part {
	return part{int16(slices.Index(topicNames, topic)), int16(partition)}
}
