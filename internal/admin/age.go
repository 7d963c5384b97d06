package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// AgeBytes is how much a Cluster that is to be used for Ages should fetch of
	// a partition at a time, kgo.FetchMaxPartitionBytes: one record is of interest.
	AgeBytes = 64 << 10
	// agesTime is how long Ages waits for records.
	agesTime = 2 * time.Second
)

// place is an offset of a partition.
type place struct {
	TopicPartition
	offset int64
}

// Ages says how old the oldest record is that a group has not consumed, of
// groups that are behind. It looks at 500 places, those of the groups that are
// furthest behind, for 2 s at most, and leaves out groups of which it has not
// seen them all. Only one Ages, LagOf or Read of a Cluster may be under way.
func (c *Cluster) Ages(ctx context.Context, commits map[string]map[TopicPartition]Committed, ends map[TopicPartition]At) (map[string]time.Duration, error) {
	groups := furthest(commits, ends)
	if len(groups) == 0 {
		return nil, nil
	}
	if err := c.clip(ctx, groups); err != nil {
		return nil, err
	}
	dates, err := c.dates(ctx, groups)
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixMilli()
	ages := map[string]time.Duration{}
	for name, places := range groups {
		age, known := int64(0), true
		for _, p := range places {
			date, found := dates[p]
			age, known = max(age, now-date), known && found
		}
		if known {
			ages[name] = time.Duration(age) * time.Millisecond
		}
	}
	return ages, nil
}

// furthest are the next offsets of the groups that are furthest behind, in all
// partitions where there is something to consume.
func furthest(commits map[string]map[TopicPartition]Committed, ends map[TopicPartition]At) map[string][]place {
	type behind struct {
		group string
		lag   int64
		at    []place
	}
	var all []behind
	for group, of := range commits {
		b := behind{group: group}
		for tp, committed := range of {
			end, known := ends[tp]
			if n := Behind(committed.Offset, end, known); n != nil && *n > 0 {
				b.lag += *n
				b.at = append(b.at, place{tp, committed.Offset})
			}
		}
		if b.lag > 0 {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b behind) int { return cmp.Or(cmp.Compare(b.lag, a.lag), cmp.Compare(a.group, b.group)) })
	chosen, room := map[string][]place{}, mostAges
	for _, b := range all {
		if room -= len(b.at); room < 0 {
			break
		}
		chosen[b.group] = b.at
	}
	return chosen
}

// clip moves places before the start of their log to there.
func (c *Cluster) clip(ctx context.Context, groups map[string][]place) error {
	of := map[string][]int32{}
	for tp := range partitionsIn(groups) {
		of[tp.Topic] = append(of[tp.Topic], tp.Partition)
	}
	starts, err := c.Offsets(ctx, of, Start)
	if err != nil {
		return err
	}
	for _, places := range groups {
		for i := range places {
			places[i].offset = max(places[i].offset, starts[places[i].TopicPartition].Offset)
		}
	}
	return nil
}

// partitionsIn are the places by partition, each once.
func partitionsIn(groups map[string][]place) map[TopicPartition]map[int64]bool {
	in := map[TopicPartition]map[int64]bool{}
	for _, places := range groups {
		for _, p := range places {
			if in[p.TopicPartition] == nil {
				in[p.TopicPartition] = map[int64]bool{}
			}
			in[p.TopicPartition][p.offset] = true
		}
	}
	return in
}

// dates reads the timestamps of the records at places, as many as the time
// suffices for. A partition is read at one place after the other.
func (c *Cluster) dates(ctx context.Context, groups map[string][]place) (map[place]int64, error) {
	limited, cancel := context.WithTimeout(ctx, agesTime)
	defer cancel()
	dates := map[place]int64{}
	for open := partitionsIn(groups); len(open) > 0; {
		spans, from := map[TopicPartition]Span{}, map[TopicPartition]int64{}
		for tp, offsets := range open {
			at := slices.Min(slices.Collect(maps.Keys(offsets)))
			spans[tp], from[tp] = Span{at, at + 1}, at
			if delete(offsets, at); len(offsets) == 0 {
				delete(open, tp)
			}
		}
		err := c.Read(limited, spans, func(r *kgo.Record) bool {
			tp := TopicPartition{r.Topic, r.Partition}
			dates[place{tp, from[tp]}] = r.Timestamp.UnixMilli()
			return true
		})
		if limited.Err() != nil {
			return dates, ctx.Err() // the time is over
		}
		if err != nil {
			return nil, err
		}
	}
	return dates, nil
}
