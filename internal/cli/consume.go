package cli

import (
	"bufio"
	"context"
	"fmt"
	"os/signal"
	"slices"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/admin"
)

// consumeCommand is rota consume.
type consumeCommand struct {
	connection
	Topics    []string `arg:"" name:"topic" help:"Topics to read."`
	Group     *string  `short:"g" help:"Join this group, read its share, and commit what was printed; ctrl-c leaves it."`
	From      *place   `default:"start" placeholder:"PLACE" help:"Where to begin: start, end, last:N, offset:N, a time, or how long ago. In a group: where it has not committed, start or end."`
	Follow    bool     `short:"F" help:"Go on with records that are yet to come. A group always does."`
	Max       int      `short:"n" placeholder:"N" help:"End after so many records."`
	Partition []int32  `short:"p" placeholder:"N" help:"Read these partitions only; repeatable."`
	Format    string   `short:"f" default:"%v\\n" help:"What to print of a record: %t topic, %p partition, %o offset, %T time, %k key, %v value, %h headers; \\n and \\t."`
	Raw       bool     `help:"Print keys and values as they are on a terminal too, though they may hold its commands."`
	Committed bool     `help:"Leave out records of transactions that are not committed."`
}

// Validate refuses flags that contradict each other.
func (c *consumeCommand) Validate() error {
	p := printer{format: c.Format}
	if err := p.check(); err != nil {
		return err
	}
	if c.Group != nil && *c.Group == "" {
		return MisuseError("--group is empty; leave it out to read without a group")
	}
	if c.Group != nil && len(c.Partition) > 0 {
		return MisuseError("a group shares all partitions: --partition does not go with --group")
	}
	if c.Group != nil && c.From.kind != "start" && c.From.kind != "end" {
		return MisuseError("in a group --from is start or end; rota group reset sets its offsets")
	}
	if c.From.kind == "by" {
		return MisuseError("--from does not know by:N")
	}
	return nil
}

// Run prints the records.
func (c *consumeCommand) Run(ctx context.Context, s *Streams) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	out := bufio.NewWriterSize(s.Out, 64<<10)
	p := printer{format: c.Format, safe: s.Terminal && !c.Raw}
	left := c.Max
	var failed error
	take := func(r *kgo.Record) bool {
		if c.JSON {
			failed = printLine(out, recordOf(r))
		} else {
			failed = p.print(out, r)
		}
		left--
		return failed == nil && left != 0
	}
	var err error
	if c.Group != nil {
		err = c.join(ctx, out, take)
	} else {
		err = c.read(ctx, out, take)
	}
	if ctx.Err() != nil {
		err = nil // ctrl-c is how it ends
	}
	for _, e := range []error{err, failed, out.Flush()} {
		if e != nil {
			return explain(e)
		}
	}
	return nil
}

// read reads partitions without a group.
func (c *consumeCommand) read(ctx context.Context, out *bufio.Writer, take func(*kgo.Record) bool) error {
	cluster, err := c.open(ctx, c.isolation())
	if err != nil {
		return err
	}
	defer cluster.Close()
	of, err := cluster.PartitionsOf(ctx, c.Topics...)
	if err != nil {
		return err
	}
	if len(c.Partition) > 0 {
		for topic, all := range of {
			for _, p := range c.Partition {
				if !slices.Contains(all, p) {
					return HintError{fmt.Errorf("topic %s has no partition %d", name(topic), p), fmt.Sprintf("it has %s", plural(len(all), "partition"))}
				}
			}
			of[topic] = c.Partition
		}
	}
	from, err := c.From.resolve(ctx, cluster, of, nil)
	if err != nil {
		return err
	}
	ends, err := cluster.Offsets(ctx, of, admin.End)
	if err != nil {
		return err
	}
	spans := map[admin.TopicPartition]admin.Span{}
	for tp, offset := range from {
		spans[tp] = admin.Span{From: offset, Until: ends[tp].Offset}
		if c.Follow {
			spans[tp] = admin.Span{From: offset, Until: -1}
		}
	}
	return cluster.Read(ctx, spans, func(r *kgo.Record) bool {
		more := take(r)
		if c.Follow { // somebody watches
			more = out.Flush() == nil && more
		}
		return more
	})
}

func (c *consumeCommand) isolation() kgo.Opt {
	if c.Committed {
		return kgo.FetchIsolationLevel(kgo.ReadCommitted())
	}
	return kgo.FetchIsolationLevel(kgo.ReadUncommitted())
}

// join reads as a member of a group.
func (c *consumeCommand) join(ctx context.Context, out *bufio.Writer, take func(*kgo.Record) bool) error {
	begin := kgo.NewOffset().AtStart()
	if c.From.kind == "end" {
		begin = kgo.NewOffset().AtEnd()
	}
	cluster, err := c.open(ctx, c.isolation(), kgo.ConsumerGroup(*c.Group), kgo.ConsumeTopics(c.Topics...),
		kgo.ConsumeResetOffset(begin), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())
	if err != nil {
		return err
	}
	client := cluster.Client()
	defer client.CloseAllowingRebalance()
	for more := true; more; client.AllowRebalance() {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		var printed []*kgo.Record
		for r := range fetches.RecordsAll() {
			if more && !r.Attrs.IsControl() {
				more = take(r)
				printed = append(printed, r)
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		// Committed is what was printed: what --max left over is for the next.
		if err := client.CommitRecords(context.WithoutCancel(ctx), printed...); err != nil {
			return err
		}
	}
	return nil
}
