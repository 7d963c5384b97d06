package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/admin"
)

// groupDescribe is rota group describe.
type groupDescribe struct {
	connection
	Names []string `arg:"" name:"group" help:"Groups to show."`
}

// groupDetails is a group with its lag.
type groupDetails struct {
	admin.Group
	Partitions []admin.Lag `json:"partitions" doc:"Lag in each partition that the group has committed to or is assigned."`
	Lag        *int64      `json:"lag" doc:"Records that it is behind in all of those together, null if nothing is committed."`
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
		details, err := describeGroup(ctx, cluster, n)
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

func describeGroup(ctx context.Context, cluster *admin.Cluster, group string) (groupDetails, error) {
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
	if d.Partitions, err = cluster.LagOf(ctx, d.Group); err != nil {
		return d, err
	}
	for _, p := range d.Partitions {
		if p.Lag != nil {
			if d.Lag == nil {
				d.Lag = new(int64)
			}
			*d.Lag += *p.Lag
		}
	}
	return d, nil
}

// noGroup is the error of a group that there is not.
func noGroup(group string) error {
	return &admin.RefusedError{What: fmt.Sprintf("group %q", group), Err: kerr.GroupIDNotFound, Message: "there is no such group"}
}

func showGroup(s *Streams, g groupDetails) {
	fmt.Fprintf(s.Out, "group %s: %s, %s, lag %s, coordinator %d", name(g.Name), name(g.State), plural(len(g.Members), "member"), count(g.Lag), g.Coordinator)
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
	t := newTable("TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG", "CLIENT")
	for _, p := range g.Partitions {
		client := name(clients[p.Owner])
		if p.Owner == "" {
			client = "-"
		}
		end := fmt.Sprint(p.End)
		if p.Gone {
			end = "gone"
		}
		t.add(name(p.Topic), fmt.Sprint(p.Partition), count(p.Committed), end, count(p.Lag), client)
	}
	t.print(s.Out, 2)
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
