package admin

import (
	"bytes"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/story"
)

// HasHistory says whether the cluster keeps the events of its groups, as Rota
// does.
func (c *Cluster) HasHistory(ctx context.Context) (bool, error) {
	_, err := c.metadata(ctx, []string{story.Topic})
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

// History hands the events of groups to take, those of a group in order: from a
// time on, zero for all that are kept, up to the present end, or with follow on
// and on. With group it is about that one only.
func (c *Cluster) History(ctx context.Context, group string, since time.Time, follow bool, take func(story.Event) bool) error {
	key := []byte(group)
	return c.eventRecords(ctx, since, follow, func(r *kgo.Record) bool {
		if group != "" && !bytes.Equal(r.Key, key) {
			return true
		}
		e, err := story.Parse(r.Value)
		if err != nil {
			return true // of a later version, or not Rota's
		}
		return take(e)
	})
}

// rebalanceStarted is how the events that are counted begin to differ from
// others: most need not be parsed.
var rebalanceStarted = []byte(`"kind":"` + string(story.RebalanceStarted) + `"`)

// Rebalances counts the rebalances of each group since a time.
func (c *Cluster) Rebalances(ctx context.Context, since time.Time) (map[string]int, error) {
	counts := map[string]int{}
	err := c.eventRecords(ctx, since, false, func(r *kgo.Record) bool {
		if bytes.Contains(r.Value, rebalanceStarted) {
			counts[string(r.Key)]++
		}
		return true
	})
	return counts, err
}

func (c *Cluster) eventRecords(ctx context.Context, since time.Time, follow bool, take func(*kgo.Record) bool) error {
	of, err := c.PartitionsOf(ctx, story.Topic)
	if err != nil {
		return err
	}
	ends, err := c.Offsets(ctx, of, End)
	if err != nil {
		return err
	}
	place := Start
	if !since.IsZero() {
		place = since.UnixMilli()
	}
	starts, err := c.Offsets(ctx, of, place)
	if err != nil {
		return err
	}
	spans := map[TopicPartition]Span{}
	for tp, end := range ends {
		s := Span{starts[tp].Offset, end.Offset}
		if s.From < 0 { // nothing is as young
			s.From = end.Offset
		}
		if follow {
			s.Until = -1
		}
		spans[tp] = s
	}
	return c.Read(ctx, spans, take)
}
