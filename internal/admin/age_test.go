package admin

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Ages are looked up for the groups that are furthest behind, whole groups only.
func TestFurthestBehind(t *testing.T) {
	at := func(p int32) TopicPartition { return TopicPartition{"t", p} }
	ends := map[TopicPartition]At{at(0): {Offset: 100}, at(1): {Offset: 50}}
	commits := map[string]map[TopicPartition]Committed{
		"far":   {at(0): {Offset: 10}, at(1): {Offset: 50}},
		"near":  {at(0): {Offset: 99}, at(1): {Offset: 49}},
		"there": {at(0): {Offset: 100}, at(7): {Offset: 1}},
	}
	want := map[string][]int64{"far": {10}, "near": {49, 99}}
	got := map[string][]int64{}
	for name, places := range furthest(commits, ends) {
		for _, p := range places {
			got[name] = append(got[name], p.offset)
		}
		if len(got[name]) == 2 && got[name][0] > got[name][1] {
			got[name][0], got[name][1] = got[name][1], got[name][0]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * mostAges {
		commits[fmt.Sprint("g", i)] = map[TopicPartition]Committed{at(1): {Offset: 0}}
	}
	chosen := furthest(commits, ends)
	if len(chosen) != mostAges || chosen["far"] == nil || chosen["near"] != nil {
		t.Errorf("%d groups are chosen", len(chosen))
	}
}
