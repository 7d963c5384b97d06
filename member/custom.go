package member

import (
	"fmt"
	"slices"

	"rota/internal/client"
	"rota/internal/client/assignor"
)

// custom hands bytes to a program's own protocols.
type custom struct{ customWork }

func (c *custom) ProtocolType() string { return c.protocolType }

func (c *custom) Cooperative() bool {
	return !slices.ContainsFunc(c.protocols, func(p Protocol) bool { return !p.Cooperative() })
}

func (*custom) topics([]client.JoinedMember) []string { return nil }
func (*custom) learn(map[string]int32)                {}
func (*custom) had([]assignor.Partition, int32)       {}
func (*custom) update([]byte)                         {}

// Protocols implements client.Dialect.
func (c *custom) Protocols(owned []assignor.Partition, generation int32) []client.Protocol {
	list := make([]client.Protocol, len(c.protocols))
	for i, p := range c.protocols {
		list[i] = client.Protocol{Name: p.Name(), Metadata: p.Metadata(shardsOf(owned), generation)}
	}
	return list
}

// Lead implements client.Dialect.
func (c *custom) Lead(protocol string, members []client.JoinedMember, skip bool) ([]client.Assignment, error) {
	i := slices.IndexFunc(c.protocols, func(p Protocol) bool { return p.Name() == protocol })
	if i < 0 {
		return nil, fmt.Errorf("member: the group has chosen %q, which this member does not have", protocol)
	}
	if skip {
		return nil, nil
	}
	list := make([]CustomCandidate, len(members))
	for k, m := range members {
		list[k] = CustomCandidate{ID: m.MemberID, InstanceID: m.InstanceID, Metadata: m.Metadata}
	}
	shares, err := c.protocols[i].Assign(list)
	if err != nil {
		return nil, err
	}
	out := make([]client.Assignment, len(members))
	for k, m := range members {
		out[k] = client.Assignment{MemberID: m.MemberID, Data: shares[m.MemberID]}
	}
	return out, nil
}

// Share implements client.Dialect.
func (c *custom) Share(protocol string, assignment []byte) ([]assignor.Partition, error) {
	i := slices.IndexFunc(c.protocols, func(p Protocol) bool { return p.Name() == protocol })
	if i < 0 {
		return nil, fmt.Errorf("member: the group has chosen %q, which this member does not have", protocol)
	}
	list, err := c.protocols[i].Shards(assignment)
	if err != nil {
		return nil, err
	}
	return partitions(list), nil
}
