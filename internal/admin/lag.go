package admin

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/lag"
)

// Lag is how far a group is behind in a partition.
type Lag struct {
	lag.Lag
	Metadata string `json:"metadata,omitempty" doc:"What the group has stored with its offset."`
	Owner    string `json:"owner,omitempty" doc:"Id of the member that the partition is assigned to."`
	Gone     bool   `json:"gone,omitempty" doc:"The partition is gone; only the commit is left."`
}

// Ends asks for the ends of all partitions that groups have committed to.
func (c *Cluster) Ends(ctx context.Context, commits map[string]map[TopicPartition]Committed) (map[TopicPartition]At, error) {
	of := map[string][]int32{}
	seen := map[TopicPartition]bool{}
	for _, group := range commits {
		for tp := range group {
			if !seen[tp] {
				seen[tp] = true
				of[tp.Topic] = append(of[tp.Topic], tp.Partition)
			}
		}
	}
	return c.Offsets(ctx, of, End)
}

// Behind is how many records a group is behind in a partition: nil if that
// cannot be told.
func Behind(committed int64, end At, known bool) *int64 {
	if !known || end.Err != nil {
		return nil
	}
	n := max(end.Offset-committed, 0)
	return &n
}

// Total adds up the lag of a group, nil if it has committed nothing that is
// still there.
func Total(commits map[TopicPartition]Committed, ends map[TopicPartition]At) *int64 {
	var sum *int64
	for tp, committed := range commits {
		end, known := ends[tp]
		if n := Behind(committed.Offset, end, known); n != nil {
			if sum == nil {
				sum = new(int64)
			}
			*sum += *n
		}
	}
	return sum
}

// mostAges is in how many partitions the age of the lag is looked up: it takes a
// fetch for each. Ages looks at as many places.
const mostAges = 500

// LagOf tells how far a group is behind, in each partition that it has
// committed to or that is assigned to a member. If over is not 0 it looks twice,
// with that time in between, and tells rates. Only one LagOf or Read of a Cluster
// may be under way.
func (c *Cluster) LagOf(ctx context.Context, g Group, over time.Duration) ([]Lag, error) {
	var tracker lag.Tracker
	if over > 0 {
		seen, err := c.look(ctx, g)
		if err != nil {
			return nil, err
		}
		tracker.Judge(g.Name, seen.readings)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(over):
		}
	}
	seen, err := c.look(ctx, g)
	if err != nil {
		return nil, err
	}
	list := make([]Lag, 0, len(seen.readings))
	for _, l := range tracker.Judge(g.Name, seen.readings) {
		tp := TopicPartition{l.Topic, l.Partition}
		list = append(list, Lag{Lag: l, Metadata: seen.commits[tp].Metadata, Owner: seen.owners[tp], Gone: seen.gone[tp]})
	}
	return list, nil
}

// looked is what was seen of a group at one moment.
type looked struct {
	readings []lag.Reading
	commits  map[TopicPartition]Committed
	owners   map[TopicPartition]string
	gone     map[TopicPartition]bool
}

func (c *Cluster) look(ctx context.Context, g Group) (looked, error) {
	seen := looked{owners: map[TopicPartition]string{}, gone: map[TopicPartition]bool{}}
	commits, err := c.Commits(ctx, []Group{g})
	if err != nil {
		return seen, err
	}
	seen.commits = commits[g.Name]
	of := map[string][]int32{}
	for tp := range seen.commits {
		of[tp.Topic] = append(of[tp.Topic], tp.Partition)
	}
	for _, m := range g.Members {
		for _, s := range m.Owns {
			for _, p := range s.Partitions {
				tp := TopicPartition{s.Topic, p}
				if _, twice := seen.owners[tp]; !twice && !slices.Contains(of[s.Topic], p) {
					of[s.Topic] = append(of[s.Topic], p)
				}
				seen.owners[tp] = m.ID
			}
		}
	}
	starts, err := c.Offsets(ctx, of, Start)
	if err != nil {
		return seen, err
	}
	ends, err := c.Offsets(ctx, of, End)
	if err != nil {
		return seen, err
	}
	now := time.Now().UnixMilli()
	for topic, partitions := range of {
		for _, p := range partitions {
			tp := TopicPartition{topic, p}
			end, known := ends[tp]
			seen.gone[tp] = !known || end.Err != nil
			r := lag.Reading{
				Topic: topic, Partition: p, AtMillis: now, LogStart: max(starts[tp].Offset, 0), LogEnd: max(end.Offset, 0),
				Committed: lag.Unknown, CommittedMillis: lag.Unknown, NextMillis: lag.Unknown, ExpiresMillis: lag.Unknown, Owned: seen.owners[tp] != "",
			}
			if committed, ok := seen.commits[tp]; ok {
				r.Committed = committed.Offset
			}
			seen.readings = append(seen.readings, r)
		}
	}
	lag.Sort(seen.readings)
	return seen, c.ages(ctx, seen.readings)
}

// ages looks up the timestamps of the records that are to be consumed next.
func (c *Cluster) ages(ctx context.Context, readings []lag.Reading) error {
	spans := map[TopicPartition]Span{}
	at := map[TopicPartition]*lag.Reading{}
	for i := range readings {
		r := &readings[i]
		if from := max(r.Committed, r.LogStart); from < r.LogEnd && len(spans) < mostAges {
			tp := TopicPartition{r.Topic, r.Partition}
			spans[tp], at[tp] = Span{from, from + 1}, r
		}
	}
	return c.Read(ctx, spans, func(r *kgo.Record) bool {
		at[TopicPartition{r.Topic, r.Partition}].NextMillis = r.Timestamp.UnixMilli()
		return true
	})
}
