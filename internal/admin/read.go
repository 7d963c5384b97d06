package admin

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// quiet ends a read up to an offset that no record has: the last ones may have
// been compacted away.
const quiet = 3 * time.Second

// Span is where to read in one partition: from an offset up to, and without,
// another. Until is negative to go on with what is yet to come.
type Span struct {
	From, Until int64
}

// Read hands the records of partitions to take, those of one partition in
// order. It ends without an error at the end of all spans, or when take says
// false. Only one Read of a Cluster may be under way.
func (c *Cluster) Read(ctx context.Context, spans map[TopicPartition]Span, take func(*kgo.Record) bool) error {
	open := map[TopicPartition]int64{}
	add := map[string]map[int32]kgo.Offset{}
	follow := false
	for tp, s := range spans {
		if s.Until >= 0 && s.From >= s.Until {
			continue
		}
		follow = follow || s.Until < 0
		open[tp] = s.Until
		if add[tp.Topic] == nil {
			add[tp.Topic] = map[int32]kgo.Offset{}
		}
		add[tp.Topic][tp.Partition] = kgo.NewOffset().At(s.From)
	}
	if len(open) == 0 {
		return nil
	}
	c.client.AddConsumePartitions(add)
	defer func() {
		remove := map[string][]int32{}
		for topic, partitions := range add {
			for p := range partitions {
				remove[topic] = append(remove[topic], p)
			}
		}
		c.client.RemoveConsumePartitions(remove)
	}()
	return c.poll(ctx, open, follow, take)
}

func (c *Cluster) poll(ctx context.Context, open map[TopicPartition]int64, follow bool, take func(*kgo.Record) bool) error {
	for len(open) > 0 {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if !follow {
			wait, cancel = context.WithTimeout(ctx, max(quiet, c.timeout/4))
		}
		fetches := c.client.PollFetches(wait)
		late := wait.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fetches.Err(); err != nil && !late {
			if errors.Is(err, kgo.ErrClientClosed) {
				return nil
			}
			return err
		}
		if late && fetches.NumRecords() == 0 {
			return nil
		}
		if !takeAll(fetches, open, take) {
			return nil
		}
	}
	return nil
}

// takeAll hands on what was fetched and closes the spans that are over. It
// reports whether there is a wish for more.
func takeAll(fetches kgo.Fetches, open map[TopicPartition]int64, take func(*kgo.Record) bool) bool {
	for _, f := range fetches {
		for _, t := range f.Topics {
			for _, p := range t.Partitions {
				tp := TopicPartition{t.Topic, p.Partition}
				until, wanted := open[tp]
				for _, r := range p.Records {
					if !wanted || until >= 0 && r.Offset >= until {
						break
					}
					if !r.Attrs.IsControl() && !take(r) {
						return false
					}
				}
				if n := len(p.Records); n > 0 && until >= 0 && p.Records[n-1].Offset >= until-1 {
					delete(open, tp)
				}
			}
		}
	}
	return true
}
