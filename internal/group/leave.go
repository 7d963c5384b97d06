package group

// leave runs a LeaveGroup: each member of the list goes or is refused by
// itself, and then the group does once what it owes those that stay.
func (g *Group) leave(t Ticket, r *Leave) {
	if g.id == "" {
		g.reply(t, DependsStep, Left{Code: codeInvalidGroupID})
		return
	}
	answer := Left{Members: make([]LeftMember, len(r.Members))}
	var first *MemberRef // of the members that went
	var dropped *MemberRef
	for i := range r.Members {
		l := &r.Members[i]
		answer.Members[i] = LeftMember{MemberID: l.MemberID, InstanceID: l.InstanceID}
		if p := g.pending[l.MemberID]; p != nil && l.MemberID != "" {
			g.dropPending(p)
			g.waitEnded(p.ref, OutcomeLeft, p.since)
			dropped = &p.ref
			continue
		}
		m, code := g.leaving(l)
		if code != codeNone {
			answer.Members[i].Code = code
			continue
		}
		m.reason = l.Reason
		g.evict(m, MemberLeft, CauseMemberLeft)
		if first == nil {
			ref := m.ref()
			first = &ref
		}
	}
	if r.Version < 3 && len(answer.Members) == 1 {
		answer.Code = answer.Members[0].Code
	}
	g.reply(t, DependsStep, answer)
	switch {
	case first != nil:
		g.afterLoss(CauseMemberLeft, *first)
		g.recordLosses()
	case dropped != nil:
		g.completeIfAllJoined(*dropped)
	}
}

// leaving finds the member that an entry of a LeaveGroup means: an instance id
// alone is enough, as operators' tools send it.
func (g *Group) leaving(l *LeavingMember) (*member, Code) {
	if l.MemberID == "" {
		if l.InstanceID != nil {
			if m := g.statics[*l.InstanceID]; m != nil {
				return m, codeNone
			}
		}
		return nil, codeUnknownMemberID
	}
	return g.identify(l.MemberID, l.InstanceID)
}
