package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rota/internal/admin"
)

// groupReset is rota group reset.
type groupReset struct {
	connection
	Name    string   `arg:"" name:"group" help:"Group without members whose offsets shall change."`
	To      place    `required:"" placeholder:"PLACE" help:"Where to: start, end, last:N, offset:N, by:N (from where it is, also less), a time, or how long ago."`
	Topic   []string `short:"t" placeholder:"TOPIC[:PARTITION,...]" sep:"none" help:"Topics, or some of their partitions; all that the group has committed to unless given; repeatable."`
	Execute bool     `help:"Do it; without this flag it is only shown."`
}

// resetRow is one offset that changes.
type resetRow struct {
	Topic     string `json:"topic" doc:"Topic."`
	Partition int32  `json:"partition" doc:"Partition."`
	Before    *int64 `json:"before" doc:"Offset that was committed, null for none."`
	After     int64  `json:"after" doc:"Offset that is to be committed."`
	Lag       int64  `json:"lag" doc:"Records between that and the end."`
}

// resetAnswer is what reset prints with --json.
type resetAnswer struct {
	Group      string     `json:"group" doc:"Group id."`
	DryRun     bool       `json:"dry_run" doc:"Whether nothing was changed."`
	Partitions []resetRow `json:"partitions" doc:"The offsets, sorted by topic and partition."`
}

// Run shows what would change, and changes it with --execute.
func (c *groupReset) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	answer, err := c.plan(ctx, cluster)
	if err != nil {
		return explain(err)
	}
	if c.Execute {
		offsets := map[admin.TopicPartition]int64{}
		for _, r := range answer.Partitions {
			offsets[admin.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r.After
		}
		if err := cluster.Commit(ctx, c.Name, offsets); err != nil {
			return explain(err)
		}
	}
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	t := newTable("TOPIC", ">PARTITION", ">BEFORE", ">AFTER", ">LAG")
	for _, r := range answer.Partitions {
		t.add(name(r.Topic), fmt.Sprint(r.Partition), count(r.Before), fmt.Sprint(r.After), fmt.Sprint(r.Lag))
	}
	t.print(s.Out, 0)
	if !c.Execute {
		fmt.Fprintln(s.Err, "nothing has changed: add --execute to do it")
	}
	return nil
}

// plan works out the new offsets.
func (c *groupReset) plan(ctx context.Context, cluster *admin.Cluster) (resetAnswer, error) {
	g, err := cluster.Find(ctx, c.Name)
	if err != nil {
		return resetAnswer{}, err
	}
	groups := []admin.Group{g}
	if err := cluster.Describe(ctx, groups); err != nil {
		return resetAnswer{}, err
	}
	if n := len(groups[0].Members); n > 0 {
		return resetAnswer{}, HintError{
			fmt.Errorf("group %s has %s, which would go on from their own offsets", name(c.Name), plural(n, "member")),
			"stop them first; rota group describe lists them",
		}
	}
	commits, err := cluster.Commits(ctx, groups)
	if err != nil {
		return resetAnswer{}, err
	}
	before := map[admin.TopicPartition]int64{}
	for tp, committed := range commits[c.Name] {
		before[tp] = committed.Offset
	}
	of, err := c.partitions(ctx, cluster, before)
	if err != nil {
		return resetAnswer{}, err
	}
	after, err := c.To.resolve(ctx, cluster, of, before)
	if err != nil {
		return resetAnswer{}, err
	}
	ends, err := cluster.Offsets(ctx, of, admin.End)
	if err != nil {
		return resetAnswer{}, err
	}
	answer := resetAnswer{Group: c.Name, DryRun: !c.Execute, Partitions: []resetRow{}}
	for tp, offset := range after {
		row := resetRow{Topic: tp.Topic, Partition: tp.Partition, After: offset, Lag: ends[tp].Offset - offset}
		if was, committed := before[tp]; committed {
			row.Before = &was
		}
		answer.Partitions = append(answer.Partitions, row)
	}
	slices.SortFunc(answer.Partitions, func(a, b resetRow) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return answer, nil
}

// partitions are those that the flags name, or that the group has committed to.
func (c *groupReset) partitions(ctx context.Context, cluster *admin.Cluster, before map[admin.TopicPartition]int64) (map[string][]int32, error) {
	of := map[string][]int32{}
	if len(c.Topic) == 0 {
		if len(before) == 0 {
			return nil, HintError{fmt.Errorf("group %s has committed nothing", name(c.Name)), "name the topics with --topic"}
		}
		for tp := range before {
			of[tp.Topic] = append(of[tp.Topic], tp.Partition)
		}
		return of, nil
	}
	for _, t := range c.Topic {
		topic, list, some := strings.Cut(t, ":")
		all, err := cluster.PartitionsOf(ctx, topic)
		if err != nil {
			return nil, err
		}
		if !some {
			of[topic] = all[topic]
			continue
		}
		for text := range strings.SplitSeq(list, ",") {
			p, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, MisuseError(fmt.Sprintf("--topic %s: %q is no partition", name(t), text))
			}
			if !slices.Contains(all[topic], int32(p)) {
				return nil, fmt.Errorf("topic %s has no partition %d", name(topic), p)
			}
			of[topic] = append(of[topic], int32(p))
		}
	}
	return of, nil
}
