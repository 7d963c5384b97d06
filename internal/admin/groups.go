package admin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/schema"
)

// Group is a group as its coordinator tells of it.
type Group struct {
	Name         string `json:"group" doc:"Group id."`
	Type         string `json:"type" doc:"Classic, Consumer, Share or Streams; empty if the cluster does not tell."`
	State        string `json:"state" doc:"State by Kafka's name: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, ..."`
	ProtocolType string `json:"protocol_type" doc:"What kind of members it has: consumer, connect, ...; empty for a group of offsets only."`
	// Coordinator is the node id of the broker that runs the group.
	Coordinator int32  `json:"coordinator" doc:"Node id of the broker that runs the group."`
	Protocol    string `json:"protocol,omitempty" doc:"Assignor in use."`
	// Members are nil if they were not asked for, or the cluster did not tell.
	Members []Member `json:"members,omitempty" doc:"The members. Of describe only."`
	known   bool     // the members were told
}

// Member is a member of a group.
type Member struct {
	ID         string   `json:"id" doc:"Member id."`
	InstanceID string   `json:"instance_id,omitempty" doc:"Instance id of a static member."`
	ClientID   string   `json:"client_id" doc:"Client id, as the client calls itself."`
	Host       string   `json:"host" doc:"Address of the client."`
	Topics     []string `json:"topics,omitempty" doc:"Topics it subscribes to, where they can be read."`
	Owns       []Share  `json:"owns,omitempty" doc:"Partitions it is assigned, where they can be read."`
	Bytes      int      `json:"assignment_bytes,omitempty" doc:"Size of its assignment, where that cannot be read."`
}

// Share is partitions of one topic.
type Share struct {
	Topic      string  `json:"topic" doc:"Topic."`
	Partitions []int32 `json:"partitions" doc:"Its partitions."`
}

// Groups lists the groups of all brokers, sorted by name; with states only those
// that are in one of them.
func (c *Cluster) Groups(ctx context.Context, states ...string) ([]Group, error) {
	var list []Group
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter = states
	err := askAll(ctx, c, req, func(node int32, resp *kmsg.ListGroupsResponse) error {
		if err := refused(resp.ErrorCode, nil, "list of the groups of broker %d", node); err != nil {
			return err
		}
		for _, g := range resp.Groups {
			list = append(list, Group{Name: g.Group, Type: typeOf(g.GroupType), State: g.GroupState, ProtocolType: g.ProtocolType, Coordinator: node})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// typeOf gives a type the form that Kafka's documentation uses.
func typeOf(t string) string {
	if t == "" {
		return ""
	}
	return strings.ToUpper(t[:1]) + strings.ToLower(t[1:])
}

// Find returns one group with its coordinator. It need not exist.
func (c *Cluster) Find(ctx context.Context, group string) (Group, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	resp, err := ask[*kmsg.FindCoordinatorResponse](ctx, c, req)
	if err != nil {
		return Group{}, err
	}
	node, code, message := resp.NodeID, resp.ErrorCode, resp.ErrorMessage
	for _, k := range resp.Coordinators {
		node, code, message = k.NodeID, k.ErrorCode, k.ErrorMessage
	}
	return Group{Name: group, Coordinator: node}, refused(code, message, "coordinator of group %q", group)
}

// Describe fills in states and members. A group that is no more is Dead.
func (c *Cluster) Describe(ctx context.Context, groups []Group) error {
	byNode := map[int32][]*Group{}
	for i := range groups {
		g := &groups[i]
		byNode[g.Coordinator] = append(byNode[g.Coordinator], g)
	}
	for node, list := range byNode {
		if err := c.describeOn(ctx, node, list); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) describeOn(ctx context.Context, node int32, list []*Group) error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	byName := map[string]*Group{}
	for _, g := range list {
		byName[g.Name] = g
		if g.Type == "" || g.Type == "Classic" {
			req.Groups = append(req.Groups, g.Name)
		}
	}
	var other []string
	if len(req.Groups) > 0 {
		resp, err := askBroker[*kmsg.DescribeGroupsResponse](ctx, c, node, req)
		if err != nil {
			return err
		}
		for _, d := range resp.Groups {
			g := byName[d.Group]
			// A group of another type is not found under its name here.
			if d.ErrorCode == kerr.GroupIDNotFound.Code {
				other = append(other, d.Group)
				continue
			}
			if err := refused(d.ErrorCode, d.ErrorMessage, "group %q", d.Group); err != nil {
				return err
			}
			g.describe(d)
		}
	}
	for _, g := range list {
		if g.Type == "Consumer" {
			other = append(other, g.Name)
		}
	}
	return c.describeConsumer(ctx, node, other, byName)
}

func (g *Group) describe(d kmsg.DescribeGroupsResponseGroup) {
	g.State, g.ProtocolType, g.Protocol, g.known = d.State, d.ProtocolType, d.Protocol, true
	g.Members = make([]Member, 0, len(d.Members))
	for _, m := range d.Members {
		of := Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			of.InstanceID = *m.InstanceID
		}
		if g.ProtocolType == "consumer" {
			of.read(m.ProtocolMetadata, m.MemberAssignment)
		} else {
			of.Bytes = len(m.MemberAssignment)
		}
		g.Members = append(g.Members, of)
	}
	sortMembers(g.Members)
}

func sortMembers(list []Member) {
	slices.SortFunc(list, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.ClientID, b.ClientID), strings.Compare(a.InstanceID, b.InstanceID), strings.Compare(a.ID, b.ID))
	})
}

// read decodes what members of protocol type "consumer" exchange.
func (m *Member) read(subscription, assignment []byte) {
	if topics, err := schema.SubscribedTopics(subscription); err == nil {
		m.Topics = topics
	}
	a, err := schema.ParseAssignment(assignment)
	if err != nil {
		m.Bytes = len(assignment)
		return
	}
	for _, t := range a.Partitions {
		slices.Sort(t.Partitions)
		m.Owns = append(m.Owns, Share{t.Topic, t.Partitions})
	}
	slices.SortFunc(m.Owns, func(a, b Share) int { return strings.Compare(a.Topic, b.Topic) })
}

// describeConsumer describes groups of the newer protocol (KIP-848), where the
// cluster knows it.
func (c *Cluster) describeConsumer(ctx context.Context, node int32, names []string, byName map[string]*Group) error {
	for _, name := range names {
		if g := byName[name]; g.State == "" {
			g.State = "Dead"
		}
	}
	if len(names) == 0 {
		return nil
	}
	if ok, err := c.supports(ctx, kmsg.ConsumerGroupDescribe); !ok || err != nil {
		return err
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names
	resp, err := askBroker[*kmsg.ConsumerGroupDescribeResponse](ctx, c, node, req)
	if err != nil {
		return err
	}
	for _, d := range resp.Groups {
		err := refused(d.ErrorCode, d.ErrorMessage, "group %q", d.Group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		g := byName[d.Group]
		g.Type, g.State, g.ProtocolType, g.Protocol, g.known = "Consumer", d.State, "consumer", d.AssignorName, true
		g.Members = make([]Member, 0, len(d.Members))
		for _, m := range d.Members {
			of := Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Topics: m.SubscribedTopics}
			if m.InstanceID != nil {
				of.InstanceID = *m.InstanceID
			}
			for _, t := range m.Assignment.TopicPartitions {
				of.Owns = append(of.Owns, Share{t.Topic, t.Partitions})
			}
			g.Members = append(g.Members, of)
		}
		sortMembers(g.Members)
	}
	return nil
}

// Known says whether the cluster told the members of the group.
func (g *Group) Known() bool { return g.known }

// DeleteGroups deletes groups with their offsets. It goes on after a group that
// cannot be deleted, and returns an error for each of those.
func (c *Cluster) DeleteGroups(ctx context.Context, names []string) map[string]error {
	failed := map[string]error{}
	for _, name := range names {
		g, err := c.Find(ctx, name)
		if err == nil {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{name}
			var resp *kmsg.DeleteGroupsResponse
			if resp, err = askBroker[*kmsg.DeleteGroupsResponse](ctx, c, g.Coordinator, req); err == nil {
				for _, d := range resp.Groups {
					err = refused(d.ErrorCode, nil, "delete group %q", name)
				}
			}
		}
		if err != nil {
			failed[name] = err
		}
	}
	return failed
}
