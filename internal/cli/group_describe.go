package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/admin"
	"rota/internal/lag"
	"rota/internal/story"
)

// groupDescribe is rota group describe.
type groupDescribe struct {
	connection
	Names []string      `arg:"" name:"group" help:"Groups to show."`
	Rates time.Duration `placeholder:"DURATION" help:"Look twice, so far apart, and tell how fast records are consumed and produced."`
}

// groupDetails is a group with its lag.
type groupDetails struct {
	admin.Group
	Partitions []admin.Lag `json:"partitions" doc:"Lag in each partition that the group has committed to or is assigned."`
	Lag        int64       `json:"lag" doc:"Records that it is behind in all of those together."`
	Verdict    lag.Verdict `json:"verdict" doc:"The worst of the verdicts on its partitions: ok, lagging, stalled, stopped."`
}

// describeAnswer is what describe prints with --json.
type describeAnswer struct {
	Groups []groupDetails `json:"groups" doc:"The groups, in the order of the command."`
}

// Run shows the groups.
func (c *groupDescribe) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	var answer describeAnswer
	for _, n := range c.Names {
		details, err := describeGroup(ctx, cluster, n, c.Rates)
		if err != nil {
			return explain(err)
		}
		answer.Groups = append(answer.Groups, details)
	}
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	for i, g := range answer.Groups {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		showGroup(s, g)
	}
	return nil
}

func describeGroup(ctx context.Context, cluster *admin.Cluster, group string, rates time.Duration) (groupDetails, error) {
	g, err := cluster.Find(ctx, group)
	if err != nil {
		return groupDetails{}, err
	}
	groups := []admin.Group{g}
	if err := cluster.Describe(ctx, groups); err != nil {
		return groupDetails{}, err
	}
	d := groupDetails{Group: groups[0]}
	if d.State == "Dead" {
		return d, noGroup(group)
	}
	if d.Partitions, err = cluster.LagOf(ctx, d.Group, rates); err != nil {
		return d, err
	}
	all := make([]lag.Lag, 0, len(d.Partitions))
	for _, p := range d.Partitions {
		if !p.Gone {
			d.Lag += p.Records
			all = append(all, p.Lag)
		}
	}
	d.Verdict = lag.Worst(all)
	return d, nil
}

// noGroup is the error of a group that there is not.
func noGroup(group string) error {
	return &admin.RefusedError{What: fmt.Sprintf("group %q", group), Err: kerr.GroupIDNotFound, Message: "there is no such group"}
}

func showGroup(s *Streams, g groupDetails) {
	fmt.Fprintf(s.Out, "group %s: %s, %s, lag %d (%s), coordinator %d", name(g.Name), name(g.State), plural(len(g.Members), "member"), g.Lag, g.Verdict, g.Coordinator)
	if g.Protocol != "" {
		fmt.Fprintf(s.Out, ", assignor %s", name(g.Protocol))
	}
	fmt.Fprintln(s.Out)
	if len(g.Members) > 0 {
		fmt.Fprintln(s.Out)
		t := newTable("CLIENT", "MEMBER", "INSTANCE", "HOST", "PARTITIONS")
		for _, m := range g.Members {
			instance := m.InstanceID
			if instance == "" {
				instance = "-"
			}
			t.add(name(m.ClientID), name(m.ID), name(instance), name(m.Host), owns(m))
		}
		t.print(s.Out, 2)
	}
	if len(g.Partitions) == 0 {
		return
	}
	fmt.Fprintln(s.Out)
	clients := map[string]string{}
	for _, m := range g.Members {
		clients[m.ID] = m.ClientID
	}
	t := newTable("TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG", ">BEHIND", "CLIENT", "VERDICT")
	for _, p := range g.Partitions {
		client := name(clients[p.Owner])
		if p.Owner == "" {
			client = "-"
		}
		if p.Gone {
			t.add(name(p.Topic), fmt.Sprint(p.Partition), known(p.Committed), "gone", "-", "-", client, "-")
			continue
		}
		behind := "?"
		if p.Exact {
			behind = story.Took(time.Duration(p.Time))
		}
		verdict := fmt.Sprintf("%s: %s", p.Verdict, p.Rule)
		if p.Consumed != nil {
			verdict += fmt.Sprintf("; %.1f/s consumed, %.1f/s produced", *p.Consumed, *p.Produced)
		}
		t.add(name(p.Topic), fmt.Sprint(p.Partition), known(p.Committed), fmt.Sprint(p.LogEnd), fmt.Sprint(p.Records), behind, client, verdict)
	}
	t.print(s.Out, 2)
}

// known is an offset that may be none.
func known(offset int64) string {
	if offset < 0 {
		return "-"
	}
	return fmt.Sprint(offset)
}

// owns writes what is assigned to a member.
func owns(m admin.Member) string {
	var parts []string
	for i, share := range m.Owns {
		if i == 10 {
			parts = append(parts, fmt.Sprintf("and %d topics", len(m.Owns)-i))
			break
		}
		parts = append(parts, name(share.Topic)+":"+numbers(share.Partitions))
	}
	if len(parts) == 0 {
		if m.Bytes > 0 {
			return fmt.Sprintf("(%d bytes)", m.Bytes)
		}
		return "-"
	}
	return strings.Join(parts, " ")
}
