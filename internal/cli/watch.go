package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"rota/internal/admin"
	"rota/internal/story"
)

// errNoHistory is what a command says that needs the events of groups.
var errNoHistory = errors.New("this cluster keeps no history of its groups: there is no topic " + story.Topic)

// watchCommand is rota watch.
type watchCommand struct {
	connection
	Name     string        `arg:"" optional:"" name:"group" help:"Group to watch; all unless given."`
	Interval time.Duration `default:"1s" help:"On a cluster that keeps no history: how often to ask for the states of groups."`
}

// watched is a line that watch prints with --json.
type watched struct {
	Event     *story.Event     `json:"event,omitempty" doc:"What has happened, on a cluster that keeps a history."`
	Sentence  string           `json:"sentence,omitempty" doc:"The event in a plain sentence."`
	Rebalance *story.Rebalance `json:"rebalance,omitempty" doc:"The rebalance that the event ends."`
	Story     []string         `json:"story,omitempty" doc:"That rebalance in plain sentences."`
	State     *observed        `json:"state,omitempty" doc:"A state that has changed, on other clusters."`
}

// observed is the state of a group at a moment.
type observed struct {
	Time    time.Time `json:"time" doc:"When it was seen."`
	Group   string    `json:"group" doc:"Group id."`
	Before  string    `json:"before" doc:"State before, empty for a group that is new."`
	After   string    `json:"after" doc:"State, Dead if the group is no more."`
	Members int       `json:"members" doc:"How many members it has."`
}

// Run tells what happens until ctrl-c.
func (c *watchCommand) Run(ctx context.Context, s *Streams) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if c.Interval <= 0 {
		return MisuseError("--interval must be more than 0")
	}
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	kept, err := cluster.HasHistory(ctx)
	if err == nil {
		if kept {
			err = c.follow(ctx, cluster, s)
		} else {
			fmt.Fprintln(s.Err, "missing: causes and members:", errNoHistory.Error()+"; states are asked for every", took(c.Interval), "and what is shorter is missed")
			err = c.poll(ctx, cluster, s)
		}
	}
	if ctx.Err() != nil {
		return nil // ctrl-c is how it ends
	}
	return explain(err)
}

// follow tells of events, and the whole story when a rebalance ends.
func (c *watchCommand) follow(ctx context.Context, cluster *admin.Cluster, s *Streams) error {
	groups := map[string]*story.Folder{}
	var failed error
	err := cluster.History(ctx, c.Name, time.Now(), true, func(e story.Event) bool {
		f := groups[e.Group]
		if f == nil {
			f = &story.Folder{}
			groups[e.Group] = f
		}
		w := watched{Event: &e, Sentence: e.Sentence(), Rebalance: f.Add(&e)}
		if w.Rebalance != nil {
			w.Story = w.Rebalance.Sentences()
		}
		failed = c.print(s, w)
		return failed == nil
	})
	return errors.Join(err, failed)
}

func (c *watchCommand) print(s *Streams, w watched) error {
	switch {
	case c.JSON:
		return printLine(s.Out, w)
	case w.State != nil:
		_, err := fmt.Fprintf(s.Out, "%s  %s  %s, before %s, %s\n", story.Clock(w.State.Time.UnixMilli()), name(w.State.Group),
			name(w.State.After), name(orNone(w.State.Before)), plural(w.State.Members, "member"))
		return err
	}
	_, err := fmt.Fprintf(s.Out, "%s  %s  %s\n", story.Clock(w.Event.TimeMillis), name(w.Event.Group), w.Sentence)
	for _, sentence := range w.Story {
		wrap(s.Out, "      | ", "      |   ", sentence)
	}
	return err
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// poll tells of states that have changed, where the cluster tells no more.
func (c *watchCommand) poll(ctx context.Context, cluster *admin.Cluster, s *Streams) error {
	before := map[string]admin.Group{}
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for first := true; ; first = false {
		groups, err := c.groups(ctx, cluster)
		if err != nil {
			return err
		}
		seen := map[string]admin.Group{}
		for _, g := range groups {
			seen[g.Name] = g
		}
		for _, n := range slices.Sorted(maps.Keys(before)) {
			if _, there := seen[n]; !there {
				seen[n] = admin.Group{Name: n, State: "Dead"}
			}
		}
		for _, n := range slices.Sorted(maps.Keys(seen)) {
			g, was := seen[n], before[n]
			if !first && g.State == was.State && len(g.Members) == len(was.Members) {
				continue
			}
			o := &observed{Time: time.Now(), Group: n, Before: was.State, After: g.State, Members: len(g.Members)}
			if err := c.print(s, watched{State: o}); err != nil {
				return err
			}
		}
		maps.DeleteFunc(seen, func(_ string, g admin.Group) bool { return g.State == "Dead" })
		before = seen
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// groups are the one that is watched, or all.
func (c *watchCommand) groups(ctx context.Context, cluster *admin.Cluster) ([]admin.Group, error) {
	var groups []admin.Group
	var err error
	if c.Name == "" {
		groups, err = cluster.Groups(ctx)
	} else {
		var g admin.Group
		g, err = cluster.Find(ctx, c.Name)
		groups = []admin.Group{g}
	}
	if err != nil {
		return nil, err
	}
	return groups, cluster.Describe(ctx, groups)
}
