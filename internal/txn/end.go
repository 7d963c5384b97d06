package txn

import (
	"math"
	"slices"

	"rota/internal/schema"
)

// end commits or aborts the transaction. It is decided once the record that
// this appends is durable; so is the answer.
func (p *Producer) end(w waiting, r *End) {
	verdict := p.endVersion1
	if r.ClientVersion >= Version2 {
		verdict = p.endVersion2
	}
	switch code, decides := verdict(r); {
	case code == codeConcurrentTransactions:
		p.wait(w)
	case code != codeNone:
		p.reply(w.ticket, Refuse(*r, code))
	case decides && !p.decide(r.Commit, r.ClientVersion, r.NewProducerID):
		p.reply(w.ticket, Refuse(*r, codeUnknownServerError))
	case r.ClientVersion < Version2:
		p.reply(w.ticket, Ended{ProducerID: none, ProducerEpoch: none})
	default:
		id, epoch := p.next()
		p.reply(w.ticket, Ended{ProducerID: id, ProducerEpoch: epoch})
	}
}

// next is what the producer goes on with once the markers are written.
func (p *Producer) next() (id int64, epoch int16) {
	if ending(p.log.State) && p.log.NextProducerID != none {
		return p.log.NextProducerID, 0
	}
	return p.log.ProducerID, p.log.ProducerEpoch
}

// endVersion1 is the verdict on the End of a client below Version2: the code
// of its answer, and whether there is a transaction to decide. The epoch stays,
// so a repeated End is known by the state.
func (p *Producer) endVersion1(r *End) (code Code, decides bool) {
	if code := p.refuseProducer(r.ProducerID, r.ProducerEpoch); code != codeNone {
		return code, false
	}
	if p.needsID {
		return codeConcurrentTransactions, false
	}
	state, prepares := p.log.State, p.prepares(r.Commit)
	switch {
	case state == Ongoing:
		return codeNone, true
	case state == prepares:
		return codeConcurrentTransactions, false
	case state == completes(prepares):
		return codeNone, false
	}
	return codeInvalidTxnState, false
}

// endVersion2 is the verdict on the End of a client of Version2 (KIP-890). The
// epoch has been raised by an End before, so a repeated one is known by its
// epoch; one of the present epoch means the next transaction, which has no
// partitions yet. It may be aborted, which raises the epoch and so shuts out
// batches that are still under way; while markers are missing that waits, as
// whatever else belongs to the next transaction.
func (p *Producer) endVersion2(r *End) (code Code, decides bool) {
	l := &p.log
	if !l.exists {
		return codeInvalidProducerIDMapping, false
	}
	if p.needsID {
		return codeConcurrentTransactions, false
	}
	if id, epoch := p.next(); ending(l.State) && l.ClientVersion >= Version2 && id == r.ProducerID && epoch == r.ProducerEpoch {
		return codeConcurrentTransactions, false
	}
	replaced := l.PreviousProducerID == r.ProducerID && r.ProducerEpoch == math.MaxInt16-1 && l.ProducerEpoch == 0
	raised := r.ProducerEpoch < math.MaxInt16 && l.ProducerEpoch == r.ProducerEpoch+1
	if l.ProducerID != r.ProducerID && !replaced {
		return codeInvalidProducerIDMapping, false
	}
	again := raised || replaced
	current := r.ProducerEpoch == l.ProducerEpoch
	switch l.State {
	case Empty, Ongoing:
		if !current {
			return codeProducerFenced, false
		}
	case PrepareCommit, PrepareAbort:
		if !raised {
			return codeProducerFenced, false
		}
	default:
		if !current && !again {
			return codeProducerFenced, false
		}
	}
	switch {
	case l.State == Ongoing:
		return codeNone, true
	case l.State == p.prepares(r.Commit):
		return codeConcurrentTransactions, false
	case ending(l.State):
		return codeInvalidTxnState, false
	case again && l.State == completes(p.prepares(r.Commit)):
		return codeNone, false
	case !again && !r.Commit:
		return codeNone, true
	}
	return codeInvalidTxnState, false
}

// prepares is the state that an end leads to.
func (*Producer) prepares(commit bool) State {
	if commit {
		return PrepareCommit
	}
	return PrepareAbort
}

// completes is the state that follows a preparing one.
func completes(s State) State {
	if s == PrepareCommit {
		return CompleteCommit
	}
	return CompleteAbort
}

// decide records the outcome of the transaction. A transaction without
// partitions needs no markers and is complete at once. It reports false, and
// has done nothing, if the record is too large.
//
// With Version2 the epoch is raised; if there is none left the producer id newID
// takes over when the markers are written.
func (p *Producer) decide(commit bool, version int16, newID int64) bool {
	v := p.log.TransactionValue
	last := p.lastEpoch
	v.State, v.NextProducerID, v.ClientVersion = p.prepares(commit), none, version
	if idle(p.log.State) {
		v.StartedAt = p.now.Wall
	}
	if version >= Version2 {
		last = v.ProducerEpoch
		if IsExhausted(v.ProducerEpoch) {
			if newID == none {
				return false // the shell has not brought one: a bug, which must not cost an id its fencing
			}
			v.NextProducerID = newID
		}
		if v.ProducerEpoch < math.MaxInt16 {
			v.ProducerEpoch++
		}
	}
	return p.prepare(v, last)
}

// fence aborts the transaction for somebody who is not its producer, with a
// higher epoch in its markers. It reports false, and has done nothing, if the
// record is too large.
func (p *Producer) fence(why EventKind, newID int64) bool {
	old, told := p.log, len(p.out.Events)
	if p.cfg.Version >= Version2 {
		if !p.decide(false, p.cfg.Version, newID) {
			return false
		}
	} else {
		v := old.TransactionValue
		v.State, v.NextProducerID, v.ClientVersion = PrepareAbort, none, Version0
		if v.ProducerEpoch < math.MaxInt16 {
			v.ProducerEpoch++
		}
		if !p.prepare(v, none) {
			return false
		}
	}
	p.out.Events = slices.Insert(p.out.Events, told, Event{Kind: why, ProducerID: old.ProducerID, ProducerEpoch: old.ProducerEpoch})
	return true
}

// prepare records a decided outcome and asks for its markers.
func (p *Producer) prepare(v schema.TransactionValue, last int16) bool {
	if !p.record(v) {
		return false
	}
	p.lastEpoch, p.timeout, p.needsID = last, never, false
	if len(v.Partitions) == 0 {
		p.complete()
	} else {
		p.askForMarkers()
	}
	return true
}
