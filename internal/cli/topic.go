package cli

import (
	"context"
	"fmt"
	"strings"

	"rota/internal/admin"
)

// topicCommands is rota topic.
type topicCommands struct {
	Create   topicCreate   `cmd:"" help:"Make topics."`
	List     topicList     `cmd:"" help:"List topics."`
	Describe topicDescribe `cmd:"" help:"Show partitions, offsets, sizes and settings of topics."`
	Alter    topicAlter    `cmd:"" help:"Change settings of a topic, or give it more partitions."`
	Delete   topicDelete   `cmd:"" help:"Delete topics and all that is in them."`
}

// topicList is rota topic list.
type topicList struct {
	connection
	Internal bool `help:"List the cluster's own topics too."`
}

// topicsAnswer is what list and describe print with --json.
type topicsAnswer struct {
	Topics []admin.Topic `json:"topics" doc:"The topics, sorted by name; describe keeps the order of the command."`
}

// Run lists the topics.
func (c *topicList) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	topics, err := cluster.Topics(ctx, c.Internal)
	if err != nil {
		return explain(err)
	}
	if c.JSON {
		return printJSON(s.Out, topicsAnswer{topics})
	}
	t := newTable("TOPIC", ">PARTITIONS", ">REPLICAS")
	for _, topic := range topics {
		t.add(name(topic.Name), fmt.Sprint(topic.Partitions), fmt.Sprint(topic.Replicas))
	}
	t.print(s.Out, 0)
	return nil
}

// topicDescribe is rota topic describe.
type topicDescribe struct {
	connection
	Names []string `arg:"" name:"topic" help:"Topics to show."`
}

// Run shows the topics.
func (c *topicDescribe) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	topics, err := cluster.DescribeTopics(ctx, c.Names...)
	if err != nil {
		return explain(err)
	}
	if c.JSON {
		return printJSON(s.Out, topicsAnswer{topics})
	}
	for i, topic := range topics {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		showTopic(s, topic)
	}
	return nil
}

func showTopic(s *Streams, topic admin.Topic) {
	fmt.Fprintf(s.Out, "topic %s: %s, replicas %d, %d records, %s\n",
		name(topic.Name), plural(topic.Partitions, "partition"), topic.Replicas, *topic.Records, size(topic.Bytes))
	for _, setting := range topic.Settings {
		value := "(not told)"
		if setting.Value != nil {
			value = name(*setting.Value)
		}
		fmt.Fprintf(s.Out, "  %s=%s (%s)\n", name(setting.Name), value, setting.Source)
	}
	t := newTable(">PARTITION", ">LEADER", "REPLICAS", "IN SYNC", ">START", ">END", ">SIZE")
	for _, p := range topic.Details {
		t.add(fmt.Sprint(p.Partition), fmt.Sprint(p.Leader), numbers(p.Replicas), numbers(p.InSync), fmt.Sprint(p.Start), fmt.Sprint(p.End), size(p.Bytes))
	}
	t.print(s.Out, 2)
}

// topicCreate is rota topic create.
type topicCreate struct {
	connection
	Names       []string          `arg:"" name:"topic" help:"Topics to make."`
	Partitions  int32             `short:"p" default:"-1" help:"How many partitions; -1 for the cluster's default."`
	Replicas    int16             `default:"-1" help:"How many replicas of each; -1 for the cluster's default."`
	Config      map[string]string `short:"c" sep:"none" mapsep:"none" placeholder:"KEY=VALUE" help:"Setting of the topic, by Kafka's name; repeatable."`
	IfNotExists bool              `help:"A topic that is there already is no error, and stays as it is."`
	DryRun      bool              `help:"Check only, change nothing."`
}

// changed is what commands that change something print with --json.
type changed struct {
	Name    string `json:"name" doc:"Name of the topic or group."`
	Changed bool   `json:"changed" doc:"Whether it was changed; false if it was as wanted already, and in a dry run."`
	DryRun  bool   `json:"dry_run" doc:"Whether nothing was to be changed."`
}

// changesAnswer is the document of them.
type changesAnswer struct {
	Changes []changed `json:"changes" doc:"One for each name of the command."`
}

// Run makes the topics.
func (c *topicCreate) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	var topics []admin.NewTopic
	for _, n := range c.Names {
		topics = append(topics, admin.NewTopic{Name: n, Partitions: c.Partitions, Replicas: c.Replicas, Settings: c.Config})
	}
	made, err := cluster.CreateTopics(ctx, topics, c.IfNotExists, c.DryRun)
	if err != nil {
		return explain(err)
	}
	return tellChanges(s, c.JSON, c.DryRun, c.Names, made, "created", "is there already")
}

// tellChanges says what became of each name.
func tellChanges(s *Streams, asJSON, dry bool, names []string, done []bool, verb, otherwise string) error {
	var answer changesAnswer
	for i, n := range names {
		answer.Changes = append(answer.Changes, changed{n, done[i] && !dry, dry})
		switch {
		case asJSON:
		case !done[i]:
			fmt.Fprintf(s.Out, "%s %s\n", name(n), otherwise)
		case dry:
			fmt.Fprintf(s.Out, "%s would be %s\n", name(n), verb)
		default:
			fmt.Fprintf(s.Out, "%s %s\n", name(n), verb)
		}
	}
	if asJSON {
		return printJSON(s.Out, answer)
	}
	return nil
}

// topicDelete is rota topic delete.
type topicDelete struct {
	connection
	Names    []string `arg:"" name:"topic" help:"Topics to delete."`
	IfExists bool     `help:"A topic that is not there is no error."`
}

// Run deletes the topics.
func (c *topicDelete) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	gone, err := cluster.DeleteTopics(ctx, c.Names, c.IfExists)
	if err != nil {
		return explain(err)
	}
	return tellChanges(s, c.JSON, false, c.Names, gone, "deleted", "is not there")
}

// topicAlter is rota topic alter.
type topicAlter struct {
	connection
	Name       string            `arg:"" name:"topic" help:"Topic to change."`
	Partitions int32             `short:"p" help:"How many partitions it shall have; there is no way back."`
	Config     map[string]string `short:"c" sep:"none" mapsep:"none" placeholder:"KEY=VALUE" help:"Setting of the topic, by Kafka's name; repeatable."`
	Unset      []string          `placeholder:"KEY" help:"Setting to take back to its default; repeatable."`
	DryRun     bool              `help:"Check only, change nothing."`
}

// Validate refuses a command that changes nothing.
func (c *topicAlter) Validate() error {
	if c.Partitions == 0 && len(c.Config) == 0 && len(c.Unset) == 0 {
		return MisuseError("nothing to alter: give --partitions, --config or --unset")
	}
	return nil
}

// Run changes the topic: settings first, since they can be taken back.
func (c *topicAlter) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	var what []string
	if len(c.Config)+len(c.Unset) > 0 {
		if err := cluster.AlterTopic(ctx, c.Name, c.Config, c.Unset, c.DryRun); err != nil {
			return explain(err)
		}
		what = append(what, plural(len(c.Config)+len(c.Unset), "setting"))
	}
	if c.Partitions != 0 {
		if err := cluster.AddPartitions(ctx, c.Name, c.Partitions, c.DryRun); err != nil {
			return explain(err)
		}
		what = append(what, plural(int(c.Partitions), "partition"))
	}
	return tellChanges(s, c.JSON, c.DryRun, []string{c.Name}, []bool{true}, "altered: "+strings.Join(what, ", "), "")
}
