package txn

import (
	"fmt"

	"rota/internal/machine"
	"rota/internal/schema"
)

// logged is what a restart must remember: the last record of the id. Only
// Apply and record change it.
type logged struct {
	schema.TransactionValue
	exists bool
	at     Offset // of the record
}

// Apply folds one entry of the log into the id. Step and Tick do the same with
// the entries they emit; recovery calls it for those it reads. The error says
// that the record cannot be decoded: the load of the shard fails.
func (p *Producer) Apply(e Entry) error {
	if e.Control != machine.ControlNone {
		return nil
	}
	if e.Value == nil {
		p.log = logged{at: e.Offset}
		return nil
	}
	v, err := schema.ParseTransactionValue(e.Value)
	if err != nil {
		return fmt.Errorf("transactional id %q, offset %d: %w", p.id, e.Offset, err)
	}
	p.log = logged{v, true, e.Offset}
	return nil
}

// record appends v as the record of the id and folds it in. It reports false,
// and has done nothing, if the record is too large.
func (p *Producer) record(v schema.TransactionValue) bool {
	const overhead = 256
	// As in Kafka, this is the id from before the change even if the change is
	// none of the id.
	if p.log.exists {
		v.PreviousProducerID = p.log.ProducerID
	} else {
		v.PreviousProducerID = v.ProducerID
	}
	v.UpdatedAt = p.now.Wall
	buf := schema.AppendTransactionKey(nil, schema.TransactionKey{TransactionalID: p.id})
	end := len(buf)
	buf = schema.AppendTransactionValue(buf, &v, min(p.cfg.Version, 1))
	if p.cfg.MaxRecordBytes > 0 && len(buf)+overhead > p.cfg.MaxRecordBytes {
		return false
	}
	if p.cfg.Version < Version1 { // what such a record forgets
		v.PreviousProducerID, v.NextProducerID, v.ClientVersion = none, none, Version0
	}
	p.appendRecord(machine.Record{Key: buf[:end:end], Value: buf[end:]})
	p.log = logged{v, true, p.at - 1}
	return true
}

// appendRecord puts a record into the batch of the call.
func (p *Producer) appendRecord(r machine.Record) {
	if len(p.out.Batches) == 0 {
		p.out.Batches = []machine.Batch{{ProducerID: none, ProducerEpoch: none}}
	}
	p.out.Batches[0].Records = append(p.out.Batches[0].Records, r)
	p.at++
}
