package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"rota/internal/schema"
	"rota/internal/story"
)

// maxRange bounds the partitions of one entry of an assignment.
const maxRange = 100_000

// parseAssignment reads entries such as t/0 and t/2-5. Those of one topic must
// stand together.
func parseAssignment(entries []string) ([]byte, error) {
	a := schema.Assignment{}
	for _, e := range entries {
		topic, numbers, _ := strings.Cut(e, "/")
		low, high, isRange := strings.Cut(numbers, "-")
		first, err := strconv.ParseInt(low, 10, 32)
		last := first
		if isRange && err == nil {
			last, err = strconv.ParseInt(high, 10, 32)
		}
		if err != nil || first < 0 || last < first || last-first > maxRange {
			return nil, fmt.Errorf("%s is no topic/partition or topic/first-last", e)
		}
		if n := len(a.Partitions); n == 0 || a.Partitions[n-1].Topic != topic {
			a.Partitions = append(a.Partitions, schema.TopicPartitions{Topic: topic})
		}
		t := &a.Partitions[len(a.Partitions)-1]
		for p := first; p <= last; p++ {
			t.Partitions = append(t.Partitions, int32(p))
		}
	}
	return schema.AppendAssignment(nil, a), nil
}

// formatAssignment writes raw as parseAssignment reads it, if it can.
func formatAssignment(raw []byte) (string, bool) {
	a, err := schema.ParseAssignment(raw)
	if err != nil || len(a.Partitions) == 0 {
		return "", false
	}
	var entries []string
	for _, t := range a.Partitions {
		if !isPlain(t.Topic) || strings.Contains(t.Topic, "/") || len(t.Partitions) == 0 {
			return "", false
		}
		for r := range strings.SplitSeq(story.Ranges(t.Partitions), ",") {
			entries = append(entries, t.Topic+"/"+r)
		}
	}
	again, err := parseAssignment(entries)
	if err != nil || !bytes.Equal(again, raw) {
		return "", false
	}
	return "[" + strings.Join(entries, ",") + "]", true
}
