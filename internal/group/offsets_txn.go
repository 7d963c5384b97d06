package group

import "rota/internal/schema"

// commitInTransaction runs a TxnOffsetCommit: the offsets of one request are
// one batch of their producer, and count from the marker on that ends its
// transaction. That the transaction is open is known to the caller: a group
// knows only what has been recorded.
func (g *Group) commitInTransaction(t Ticket, r *TxnCommit) {
	exists := g.Exists()
	if code := g.checkTxnCommit(r, exists); code != codeNone {
		g.reply(t, DependsStep, Committed{Codes: repeat(code, len(r.Offsets))})
		e := g.emit(CommitRefused)
		e.Member, e.Code = g.senderRef(r.MemberID, r.InstanceID), code
		return
	}
	// A commit of version 5 to 7 has neither a retention nor a timestamp.
	c := Commit{Version: 7, Retention: -1, Offsets: r.Offsets}
	codes := make([]Code, len(r.Offsets))
	wrote := g.appendOffsets(&c, producer{r.ProducerID, r.ProducerEpoch}, codes)
	g.reply(t, DependsStep, Committed{Codes: codes})
	if wrote && !exists {
		g.emit(GroupCreated)
	}
}

// checkTxnCommit decides whether a commit within a transaction may be taken
// (KIP-447). It differs from a plain one: a producer that names no member may
// commit for a group that has some, as all could before version 3, and the end
// of a rebalance need not be waited for. It is no sign of life of the member.
func (g *Group) checkTxnCommit(r *TxnCommit, exists bool) Code {
	if g.id == "" || len(g.id) > schema.MaxString {
		return codeInvalidGroupID
	}
	if !exists && r.Generation >= 0 {
		if r.Version >= 6 {
			return codeGroupIDNotFound
		}
		return codeIllegalGeneration
	}
	if r.Generation < 0 && (g.state == Empty || r.MemberID == "" && r.InstanceID == nil) {
		return codeNone
	}
	if _, code := g.identify(r.MemberID, r.InstanceID); code != codeNone {
		return code
	}
	if r.Generation != g.generation {
		return codeIllegalGeneration
	}
	return codeNone
}
