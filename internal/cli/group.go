package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/admin"
	"rota/internal/story"
)

// groupCommands is rota group.
type groupCommands struct {
	List     groupList       `cmd:"" help:"List groups with their members, lag, and rebalances of the last hour."`
	Describe groupDescribe   `cmd:"" help:"Show members of groups, who has which partition, and the lag."`
	Reset    groupReset      `cmd:"" help:"Set the offsets of a group without members; a dry run unless --execute."`
	Delete   groupDelete     `cmd:"" help:"Delete groups without members, with their offsets."`
	Explain  explainCommand  `cmd:"" help:"The same as rota explain."`
	Timeline timelineCommand `cmd:"" help:"The same as rota timeline."`
	Watch    watchCommand    `cmd:"" help:"The same as rota watch."`
	Events   eventsCommand   `cmd:"" help:"The same as rota events."`
}

// noHistory is said where a cluster keeps no events of its groups.
const noHistory = "rebalances: this cluster keeps no history of its groups (there is no topic __group_events, which Rota makes with the first event)"

// groupList is rota group list.
type groupList struct {
	connection
	State []string `placeholder:"STATE" help:"Only groups in these states."`
}

// groupRow is a group of the list.
type groupRow struct {
	Group        string `json:"group" doc:"Group id."`
	State        string `json:"state" doc:"State by Kafka's name: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, ..."`
	Type         string `json:"type" doc:"Classic, Consumer, Share or Streams."`
	ProtocolType string `json:"protocol_type" doc:"What kind of members it has: consumer, connect, ...; empty for a group of offsets only."`
	Coordinator  int32  `json:"coordinator" doc:"Node id of the broker that runs the group."`
	Members      *int   `json:"members" doc:"How many members, null if the cluster does not tell."`
	Partitions   int    `json:"partitions" doc:"How many partitions it has committed to."`
	Lag          *int64 `json:"lag" doc:"Records that it is behind in all of those together, null if there are none."`
	// LagTime is null of groups that were not looked at, too.
	LagTime    *story.Millis `json:"lag_ms" doc:"Age of the oldest of those records, by its own timestamp. Null if there are none, or if it was not read: it is looked up at 500 places, for 2 s at most, for the groups that are furthest behind."`
	Rebalances *int          `json:"rebalances_last_hour" doc:"Rebalances that began in the last hour, null where the cluster keeps no history."`
}

// groupsAnswer is what list prints with --json.
type groupsAnswer struct {
	Groups  []groupRow `json:"groups" doc:"The groups, sorted by name."`
	Missing []string   `json:"missing,omitempty" doc:"What the cluster does not tell, a sentence each."`
}

// groupStates are all states that Kafka has for groups of any type.
var groupStates = []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling", "NotReady"}

// Validate gives states Kafka's spelling and refuses those that there are not.
func (c *groupList) Validate() error {
	for i, state := range c.State {
		at := slices.IndexFunc(groupStates, func(s string) bool { return strings.EqualFold(s, state) })
		if at < 0 {
			return MisuseError("there is no state " + story.Quote(state) + "; groups are " + strings.Join(groupStates, ", "))
		}
		c.State[i] = groupStates[at]
	}
	return nil
}

// Run lists the groups.
func (c *groupList) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	answer, err := c.ask(ctx, cluster)
	if err != nil {
		return explain(err)
	}
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	t := newTable("GROUP", "STATE", "TYPE", ">MEMBERS", ">PARTITIONS", ">LAG", ">OLDEST", ">REBALANCES/H")
	for _, g := range answer.Groups {
		kind := g.ProtocolType
		if kind == "" {
			kind = "-"
		}
		t.add(name(g.Group), name(g.State), name(kind), count(g.Members), fmt.Sprint(g.Partitions), count(g.Lag), g.oldest(), count(g.Rebalances))
	}
	t.print(s.Out, 0)
	for _, m := range answer.Missing {
		fmt.Fprintln(s.Err, "missing:", m)
	}
	return nil
}

// ask asks everything at once: what it waits for is the slowest answer.
func (c *groupList) ask(ctx context.Context, cluster *admin.Cluster) (groupsAnswer, error) {
	type history struct {
		counts map[string]int
		kept   bool
		err    error
	}
	counted := make(chan history, 1)
	go func() {
		var h history
		if h.kept, h.err = cluster.HasHistory(ctx); h.kept && h.err == nil {
			h.counts, h.err = cluster.Rebalances(ctx, time.Now().Add(-time.Hour))
		}
		counted <- h
	}()
	groups, err := cluster.Groups(ctx, c.State...)
	if err != nil {
		return groupsAnswer{}, err
	}
	described := make(chan error, 1)
	go func() { described <- cluster.Describe(ctx, groups) }()
	commits, err := cluster.Commits(ctx, groups)
	if err != nil {
		return groupsAnswer{}, errors.Join(err, <-described)
	}
	ends, err := cluster.Ends(ctx, commits)
	if err := errors.Join(err, <-described); err != nil {
		return groupsAnswer{}, err
	}
	ages, err := c.ages(ctx, commits, ends)
	if err != nil {
		return groupsAnswer{}, err
	}
	h := <-counted
	if h.err != nil {
		return groupsAnswer{}, h.err
	}
	answer := groupsAnswer{Groups: make([]groupRow, 0, len(groups))}
	for i := range groups {
		g := &groups[i]
		row := groupRow{
			Group: g.Name, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType, Coordinator: g.Coordinator,
			Partitions: len(commits[g.Name]), Lag: admin.Total(commits[g.Name], ends),
		}
		if g.Known() {
			n := len(g.Members)
			row.Members = &n
		}
		if age, known := ages[g.Name]; known {
			row.LagTime = (*story.Millis)(&age)
		}
		if h.kept {
			n := h.counts[g.Name]
			row.Rebalances = &n
		}
		answer.Groups = append(answer.Groups, row)
	}
	if !h.kept {
		answer.Missing = append(answer.Missing, noHistory)
	}
	return answer, nil
}

// ages looks for the oldest records that groups have not consumed, on a
// connection of its own: the history is read at the same time.
func (c *groupList) ages(ctx context.Context, commits map[string]map[admin.TopicPartition]admin.Committed, ends map[admin.TopicPartition]admin.At) (map[string]time.Duration, error) {
	isBehind := func(of map[admin.TopicPartition]admin.Committed) bool {
		n := admin.Total(of, ends)
		return n != nil && *n > 0
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(commits)), isBehind) {
		return nil, nil
	}
	cluster, err := c.open(ctx, kgo.FetchMaxPartitionBytes(admin.AgeBytes))
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	return cluster.Ages(ctx, commits, ends)
}

// oldest is the age of the lag as text.
func (g *groupRow) oldest() string {
	switch {
	case g.LagTime != nil:
		return took(time.Duration(*g.LagTime))
	case g.Lag != nil && *g.Lag > 0:
		return "?"
	}
	return "-"
}

// groupDelete is rota group delete.
type groupDelete struct {
	connection
	Names []string `arg:"" name:"group" help:"Groups to delete."`
}

// Run deletes the groups. It goes on after one that cannot be deleted.
func (c *groupDelete) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	failed := cluster.DeleteGroups(ctx, c.Names)
	var done []string
	var errs []error
	gone := []bool{}
	for _, n := range c.Names {
		if err := failed[n]; err != nil {
			errs = append(errs, err)
			continue
		}
		done, gone = append(done, n), append(gone, true)
	}
	if err := tellChanges(s, c.JSON, false, done, gone, "deleted", ""); err != nil {
		return err
	}
	return explain(errors.Join(errs...))
}
