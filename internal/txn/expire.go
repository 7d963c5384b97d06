package txn

import (
	"rota/internal/machine"
	"rota/internal/schema"
)

// expire gives up an id that nobody has used for a long time. An open
// transaction keeps it.
func (p *Producer) expire() {
	if !p.log.exists || !idle(p.log.State) || len(p.waiting) > 0 || p.log.UpdatedAt > p.now.Wall-p.cfg.IDExpiration.Milliseconds() {
		return
	}
	p.emit(Event{Kind: Expired, ProducerID: p.log.ProducerID, ProducerEpoch: p.log.ProducerEpoch})
	p.appendRecord(machine.Record{Key: schema.AppendTransactionKey(nil, schema.TransactionKey{TransactionalID: p.id})})
	p.log, p.lastEpoch = logged{at: p.at - 1}, none
}
