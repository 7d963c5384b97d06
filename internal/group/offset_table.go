package group

import (
	"cmp"
	"slices"
	"strings"

	"rota/internal/schema"
)

// offsetTable holds the committed offsets of a group, by topic and partition.
// A broker holds millions of them, most of which nobody asks for: a table takes
// about 50 bytes for each, a third of what a map does. The zero value is empty.
type offsetTable struct {
	topics []topicOffsets // by name
	count  int
}

type topicOffsets struct {
	topic   string
	offsets []packedOffset // by partition
}

// packedOffset is an offset without what most of them do not have.
type packedOffset struct {
	partition   int32
	leaderEpoch int32
	offset      int64
	committed   int64 // CommitTimestamp
	at          Offset
	rest        *restOfOffset // nil if it would be the zero one
}

// restOfOffset is what few offsets have.
type restOfOffset struct {
	metadata string
	expires  int64
	topicID  [16]byte
}

func pack(partition int32, o *offset) packedOffset {
	p := packedOffset{partition: partition, leaderEpoch: o.LeaderEpoch, offset: o.Offset, committed: o.CommitTimestamp, at: o.at}
	rest := restOfOffset{o.Metadata, o.ExpireTimestamp, o.TopicID}
	if rest != (restOfOffset{expires: schema.None}) {
		p.rest = &rest
	}
	return p
}

func (p *packedOffset) unpack() offset {
	o := offset{at: p.at}
	o.Offset, o.LeaderEpoch, o.CommitTimestamp, o.ExpireTimestamp = p.offset, p.leaderEpoch, p.committed, schema.None
	if p.rest != nil {
		o.Metadata, o.ExpireTimestamp, o.TopicID = p.rest.metadata, p.rest.expires, p.rest.topicID
	}
	return o
}

func (t *offsetTable) topic(name string) (int, bool) {
	return slices.BinarySearchFunc(t.topics, name, func(o topicOffsets, name string) int { return strings.Compare(o.topic, name) })
}

func (o *topicOffsets) find(partition int32) (int, bool) {
	return slices.BinarySearchFunc(o.offsets, partition, func(p packedOffset, partition int32) int { return cmp.Compare(p.partition, partition) })
}

// get returns the offset of a partition.
func (t *offsetTable) get(tp TopicPartition) (offset, bool) {
	i, ok := t.topic(tp.Topic)
	if !ok {
		return offset{}, false
	}
	j, ok := t.topics[i].find(tp.Partition)
	if !ok {
		return offset{}, false
	}
	return t.topics[i].offsets[j].unpack(), true
}

// put stores the offset of a partition.
func (t *offsetTable) put(tp TopicPartition, o offset) {
	i, ok := t.topic(tp.Topic)
	if !ok {
		t.topics = slices.Insert(t.topics, i, topicOffsets{topic: tp.Topic})
	}
	list := &t.topics[i]
	p := pack(tp.Partition, &o)
	j, ok := list.find(tp.Partition)
	if ok {
		list.offsets[j] = p
		return
	}
	if len(list.offsets) == cap(list.offsets) {
		// A quarter more, not twice as much: tables seldom grow, and stay.
		list.offsets = slices.Grow(slices.Clip(list.offsets), 1+len(list.offsets)/4)
	}
	list.offsets = slices.Insert(list.offsets, j, p)
	t.count++
}

// remove takes the offset of a partition away, if there is one.
func (t *offsetTable) remove(tp TopicPartition) {
	i, ok := t.topic(tp.Topic)
	if !ok {
		return
	}
	list := &t.topics[i]
	j, ok := list.find(tp.Partition)
	if !ok {
		return
	}
	list.offsets = slices.Delete(list.offsets, j, j+1)
	t.count--
	if len(list.offsets) == 0 {
		t.topics = slices.Delete(t.topics, i, i+1)
	}
}

// len is the number of partitions that have an offset.
func (t *offsetTable) len() int { return t.count }

// partitions lists those that have one, in order.
func (t *offsetTable) partitions() []TopicPartition {
	list := make([]TopicPartition, 0, t.count)
	for i := range t.topics {
		for j := range t.topics[i].offsets {
			list = append(list, TopicPartition{t.topics[i].topic, t.topics[i].offsets[j].partition})
		}
	}
	return list
}

// clone returns a copy that shares nothing that changes.
func (t *offsetTable) clone() offsetTable {
	c := offsetTable{slices.Clone(t.topics), t.count}
	for i := range c.topics {
		c.topics[i].offsets = slices.Clone(c.topics[i].offsets)
	}
	return c
}
