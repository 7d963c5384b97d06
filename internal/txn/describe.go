package txn

// describe tells what the id stands for (KIP-664).
func (p *Producer) describe(t Ticket) {
	if !p.log.exists {
		p.reply(t, Refuse(Describe{}, codeTransactionalIDNotFound))
		return
	}
	p.reply(t, Described{
		State: p.log.State.String(), ProducerID: p.log.ProducerID, ProducerEpoch: p.log.ProducerEpoch,
		TimeoutMillis: p.log.TimeoutMillis, StartedAt: p.log.StartedAt, Partitions: p.partitions(),
	})
}

// Summary is an id's line in ListTransactions.
type Summary struct {
	TransactionalID string
	ProducerID      int64
	State           string // Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort
	StartedAt       int64  // Unix time in milliseconds, -1 if no transaction was begun
}

// Summary describes the id for ListTransactions, and is false if there is
// nothing recorded of it.
func (p *Producer) Summary() (Summary, bool) {
	return Summary{TransactionalID: p.id, ProducerID: p.log.ProducerID, State: p.log.State.String(), StartedAt: p.log.StartedAt}, p.log.exists
}
