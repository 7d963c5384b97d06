package client

import (
	"slices"

	"rota/internal/schema"
)

// without is list less what is in other. Both are sorted.
func without(list, other []Partition) []Partition {
	var left []Partition
	for _, p := range list {
		if !owns(other, p) {
			left = append(left, p)
		}
	}
	return left
}

// owns reports whether the sorted list has the partition.
func owns(list []Partition, p Partition) bool {
	_, ok := slices.BinarySearchFunc(list, p, Partition.Compare)
	return ok
}

// grouped collects sorted partitions by topic, as the wire has them.
func grouped(list []Partition) []schema.TopicPartitions {
	var out []schema.TopicPartitions
	for _, p := range list {
		if n := len(out); n == 0 || out[n-1].Topic != p.Topic {
			out = append(out, schema.TopicPartitions{Topic: p.Topic})
		}
		last := &out[len(out)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return out
}

// flat is the reverse of grouped.
func flat(list []schema.TopicPartitions) []Partition {
	var out []Partition
	for _, t := range list {
		for _, p := range t.Partitions {
			out = append(out, Partition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}
