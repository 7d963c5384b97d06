package schema

import (
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// PartitionOf returns the partition of __consumer_offsets, out of partitions,
// that keeps a group: the hash of Java's String over the UTF-16 units of its
// id. A byte that is not UTF-8 counts as U+FFFD, as it does in Java.
func PartitionOf(group string, partitions int32) int32 {
	h := int32(0)
	for _, r := range group {
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			h = (h*31+r1)*31 + r2
		} else {
			h = h*31 + r
		}
	}
	if h == math.MinInt32 { // has no absolute value
		return 0
	}
	return max(h, -h) % partitions
}
