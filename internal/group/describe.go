package group

// describe runs one group's part of a DescribeGroups. What members offered and
// were assigned is shown in a stable group only: in any other it is in flux.
func (g *Group) describe(t Ticket, r *Describe) {
	if !g.Exists() {
		answer := Described{State: Dead.String()}
		if r.Version >= 6 {
			answer.Code = codeGroupIDNotFound
			answer.ErrorMessage = "There is no group of that id."
		}
		g.reply(t, DependsGroup, answer)
		return
	}
	answer := Described{State: g.state.String(), ProtocolType: g.protocolType, Members: make([]DescribedMember, len(g.order))}
	for i, m := range g.order {
		d := DescribedMember{MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost}
		if g.state == Stable {
			d.Metadata, d.Assignment = m.metadata(g.protocolName), m.assignment
		}
		answer.Members[i] = d
	}
	if g.state == Stable {
		answer.ProtocolData = g.protocolName
	}
	g.reply(t, DependsGroup, answer)
}
