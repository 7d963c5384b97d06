package txn

import (
	"math"
	"time"

	"rota/internal/schema"
)

// initProducerID lets a producer take the id over. A producer that says what
// it had (KIP-360) is let on only if nobody else has taken over since.
func (p *Producer) initProducerID(w waiting, r *InitProducerID) {
	switch code := p.refuseInit(r); {
	case code != codeNone:
		p.reply(w.ticket, Refuse(*r, code))
	case !p.log.exists:
		p.takeOver(w, r, r.NewProducerID, 0, none)
	case ending(p.log.State):
		p.wait(w)
	case p.log.State == Ongoing:
		// The epoch of the abort is given to nobody: the producer gets the one
		// after it, once the abort is complete.
		if !p.fence(Fenced, r.NewProducerID) {
			p.reply(w.ticket, Refuse(*r, codeUnknownServerError))
			return
		}
		p.wait(w)
		p.resume()
	default:
		p.raise(w, r)
	}
}

// refuseInit is the code of an InitProducerID that is wrong whatever the state,
// or comes from a producer that was fenced.
func (p *Producer) refuseInit(r *InitProducerID) Code {
	switch {
	case r.TwoPhaseCommit && !p.cfg.TwoPhaseCommit:
		return codeTransactionalIDAuthorizationFailed
	case r.KeepPrepared:
		return codeUnsupportedVersion
	case !r.TwoPhaseCommit && (r.TimeoutMillis <= 0 || time.Duration(r.TimeoutMillis)*time.Millisecond > p.cfg.MaxTimeout):
		return codeInvalidTransactionTimeout
	case !p.log.exists || !r.continues():
		return codeNone
	case r.ProducerID == p.log.ProducerID: // the epoch is looked at later
		return codeNone
	case r.ProducerID == p.log.PreviousProducerID && IsExhausted(r.ProducerEpoch):
		return codeNone // it may not have heard that its id was replaced
	}
	return codeProducerFenced
}

// continues reports whether the producer says what it had.
func (r *InitProducerID) continues() bool { return r.ProducerID != none || r.ProducerEpoch != none }

// raise gives the producer the next epoch of its producer id, or a new id.
func (p *Producer) raise(w waiting, r *InitProducerID) {
	epoch := p.log.ProducerEpoch
	switch {
	case IsExhausted(epoch) && (!r.continues() || r.ProducerEpoch == epoch):
		last := int16(none)
		if r.continues() {
			last = epoch
		}
		p.takeOver(w, r, r.NewProducerID, 0, last)
	case IsExhausted(epoch):
		p.reply(w.ticket, Refuse(*r, codeProducerFenced))
	case !r.continues():
		p.takeOver(w, r, p.log.ProducerID, epoch+1, none)
	case r.ProducerEpoch == epoch:
		p.takeOver(w, r, p.log.ProducerID, epoch+1, epoch)
	case r.ProducerEpoch == p.lastEpoch:
		// It repeats a request that was granted: another producer that has come
		// since would have cleared lastEpoch.
		p.takeOver(w, r, p.log.ProducerID, epoch, p.lastEpoch)
	default:
		p.reply(w.ticket, Refuse(*r, codeProducerFenced))
	}
}

// takeOver records the new holder of the id and answers it.
func (p *Producer) takeOver(w waiting, r *InitProducerID, id int64, epoch, last int16) {
	timeout := r.TimeoutMillis
	if r.TwoPhaseCommit {
		timeout = math.MaxInt32 // never
	}
	ok := p.record(schema.TransactionValue{
		ProducerID: id, NextProducerID: none, ProducerEpoch: epoch, TimeoutMillis: timeout,
		State: Empty, StartedAt: none, ClientVersion: p.log.ClientVersion,
	})
	if !ok {
		p.reply(w.ticket, Refuse(*r, codeUnknownServerError))
		return
	}
	p.lastEpoch = last
	p.reply(w.ticket, Initialized{ProducerID: id, ProducerEpoch: epoch})
}
