package txn

// askForMarkers tells the shell which markers the decided transaction needs.
// The offset of the decision tells one transaction of a producer epoch from
// another.
func (p *Producer) askForMarkers() {
	p.emit(Event{
		Kind: WriteMarkers, Decision: p.log.at, ProducerID: p.log.ProducerID, ProducerEpoch: p.log.ProducerEpoch,
		Commit: p.log.State == PrepareCommit, Partitions: p.partitions(),
	})
}

// markersWritten completes the transaction, unless it is complete already:
// markers are written again after a load.
func (p *Producer) markersWritten(t Ticket, r *MarkersWritten) {
	if p.log.exists && ending(p.log.State) && p.log.at == r.Decision {
		p.complete()
	}
	p.reply(t, Completed{})
	p.resume()
}

// complete records that nothing of the transaction is left to do. The producer
// id that replaces an exhausted one takes over.
func (p *Producer) complete() {
	v := p.log.TransactionValue
	v.ProducerID, v.ProducerEpoch = p.next()
	v.State, v.NextProducerID, v.Partitions = completes(v.State), none, nil
	p.record(v) // smaller than the record before
}

// timedOut aborts a transaction that is open for too long.
func (p *Producer) timedOut() {
	p.timeout = never
	if p.cfg.Version >= Version2 && IsExhausted(p.log.ProducerEpoch) {
		p.needsID = true
		p.emit(Event{Kind: NeedProducerID})
		return
	}
	p.fence(TimedOut, none)
}

// supplyProducerID goes on with an abort that has waited for a producer id.
func (p *Producer) supplyProducerID(t Ticket, r *SupplyProducerID) {
	if p.needsID {
		p.fence(TimedOut, r.ProducerID)
	}
	p.reply(t, Supplied{})
	p.resume()
}
