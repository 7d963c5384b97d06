package history

import (
	"reflect"

	"rota/internal/story"
)

// What things take in memory, about.
var (
	// eventOverhead is an event without what it refers to: itself in a piece that
	// may have room to spare, and its entry in the queue.
	eventOverhead = int(reflect.TypeFor[kept]().Size())*5/4 + 16
	memberBytes   = int(reflect.TypeFor[story.Member]().Size())
	waitedBytes   = int(reflect.TypeFor[story.Waited]().Size())
	assignedBytes = int(reflect.TypeFor[story.MemberAssignment]().Size())
	topicBytes    = int(reflect.TypeFor[story.TopicPartitions]().Size())
	changeBytes   = int(reflect.TypeFor[story.Change]().Size())
	allBytes      = int(reflect.TypeFor[story.Assignment]().Size())
)

const (
	stringBytes   = 16  // of a string in a list
	groupOverhead = 256 // of a group without its events
)

// sizeOf is what an event takes in memory, about.
func sizeOf(e *story.Event) int {
	n := eventOverhead + len(e.Group) + len(e.Replaced) + len(e.Protocol) + len(e.ProtocolType)
	if e.Member != nil {
		n += memberBytes + textOf(e.Member)
	}
	for i := range e.WaitedFor {
		n += waitedBytes + textOf(&e.WaitedFor[i].Member)
	}
	if c := e.Changed; c != nil {
		n += changeBytes
		for _, list := range [][]string{c.ProtocolsBefore, c.ProtocolsAfter, c.TopicsAdded, c.TopicsRemoved} {
			n += listBytes(list)
		}
	}
	if a := e.Assignment; a != nil {
		n += allBytes
		for i := range a.Members {
			m := &a.Members[i]
			n += assignedBytes + textOf(&m.Member) + listBytes(m.Subscribed) + partitionBytes(m.Gained) + partitionBytes(m.Lost)
		}
		for i := range a.Topics {
			n += topicBytes + len(a.Topics[i].Topic)
		}
	}
	return n
}

func textOf(m *story.Member) int {
	return len(m.ID) + len(m.ClientID) + len(m.Host) + len(m.InstanceID) + len(m.Reason)
}

func listBytes(list []string) int {
	n := 0
	for _, s := range list {
		n += stringBytes + len(s)
	}
	return n
}

func partitionBytes(list []story.TopicPartitions) int {
	n := 0
	for i := range list {
		n += topicBytes + len(list[i].Topic) + 4*len(list[i].Partitions)
	}
	return n
}
