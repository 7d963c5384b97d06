package group

// heartbeat runs a Heartbeat. It writes nothing and waits for nothing. While a
// rebalance is prepared the member is told to join again; the generation that
// it must name is still the old one.
func (g *Group) heartbeat(t Ticket, r *Heartbeat) {
	g.reply(t, DependsNothing, Beat{Code: g.beat(r)})
}

func (g *Group) beat(r *Heartbeat) Code {
	if g.id == "" {
		return codeInvalidGroupID
	}
	m, code := g.identify(r.MemberID, r.InstanceID)
	if code != codeNone {
		return code
	}
	forgotten := g.forgot(r.Generation)
	if r.Generation != g.generation && !forgotten {
		return codeIllegalGeneration
	}
	g.extend(m)
	if g.state == PreparingRebalance || forgotten {
		return codeRebalanceInProgress
	}
	return codeNone
}
