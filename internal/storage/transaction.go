package storage

import (
	"cmp"
	"math"
	"slices"

	"rota/internal/record"
)

// Guard is the permission to begin a producer's transaction in a log, once the
// transaction coordinator has said that this log is part of one. The zero Guard
// is none. See Log.Verification.
type Guard struct{ number uint64 }

// verification is a Guard that has been given out, as the log remembers it: until
// the transaction begins, or a marker says that it is over.
type verification struct {
	number uint64
	epoch  int16
	// lowest is the lowest base sequence of the batches that asked. A later
	// one must not begin the transaction before it: it would be refused ever
	// after.
	lowest int32
	asked  int64 // wall clock, milliseconds
}

// Verification tells what a transactional batch of a producer needs before
// AppendVerified takes it. needed is false if that is nothing: a transaction of
// this producer and epoch is open here, or a batch with this base sequence is
// here already. Otherwise the transaction coordinator must be asked whether
// the log is part of the producer's transaction; its yes makes the Guard good.
// A marker of the producer that is appended in between makes it void, so no
// batch lands behind the marker of its transaction (KIP-890). Errors:
// ErrInvalidProducerEpoch, ErrFlushFailed, ErrClosed, a *CorruptError.
func (l *Log) Verification(producerID int64, epoch int16, baseSequence int32) (g Guard, needed bool, err error) {
	now := l.s.c.Now().UnixMilli()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusalLocked(); err != nil {
		return Guard{}, false, err
	}
	if p := l.producers.known[producerID]; p != nil && !p.idle(now, l.s.c.ProducerExpiry.Milliseconds()) {
		switch {
		case epoch < p.epoch:
			return Guard{}, false, ErrInvalidProducerEpoch
		case epoch == p.epoch && (p.txn >= 0 || p.has(baseSequence)):
			return Guard{}, false, nil
		}
	}
	v := l.guards[producerID]
	if v == nil {
		v = &verification{number: l.s.guards.Add(1), epoch: epoch, lowest: baseSequence}
		if l.guards == nil {
			l.guards = make(map[int64]*verification)
		}
		l.guards[producerID] = v
	}
	if epoch > v.epoch || epoch == v.epoch && sequenceBefore(baseSequence, v.lowest) {
		v.epoch, v.lowest = epoch, baseSequence
	}
	v.asked = now
	return Guard{v.number}, true, nil
}

// has reports whether a batch with this base sequence is among the last ones.
func (p *producer) has(baseSequence int32) bool {
	return slices.ContainsFunc(p.last[:p.n], func(q sequence) bool { return q.first == baseSequence })
}

// sequenceBefore compares sequences that are not far from each other: they wrap.
func sequenceBefore(a, b int32) bool {
	distance := (b - a) & 0x7fffffff
	return distance > 0 && distance < 1<<30
}

// verifyLocked decides whether a client's batch that is next in its producer's
// sequence may be appended as far as transactions are concerned.
func (l *Log) verifyLocked(a *admission) error {
	p := l.producers.known[a.h.ProducerID]
	open := p != nil && p.txn >= 0
	switch {
	case !a.h.Attributes.Transactional() && open:
		return ErrTransactionOpen
	case !a.h.Attributes.Transactional() || open && p.epoch == a.h.ProducerEpoch:
		return nil
	}
	v := l.guards[a.h.ProducerID]
	switch {
	case v == nil || v.number != a.guard.number:
		return ErrNotVerified
	case v.epoch == a.h.ProducerEpoch && sequenceBefore(v.lowest, a.h.BaseSequence):
		return ErrOutOfOrderSequence
	}
	delete(l.guards, a.h.ProducerID)
	return nil
}

// forgetGuardsLocked drops guards that nobody has come back with for expiry
// milliseconds.
func (l *Log) forgetGuardsLocked(now, expiry int64) {
	for id, v := range l.guards {
		if now-v.asked >= expiry {
			delete(l.guards, id)
		}
	}
}

// Marker ends a producer's transaction in a log.
type Marker struct {
	ProducerID    int64
	ProducerEpoch int16
	// CoordinatorEpoch is the transaction coordinator's; it never falls.
	CoordinatorEpoch int32
	Commit           bool // else abort
	// Raised says that the epoch is above that of the transaction, as all are
	// that end with transaction.version 2, so that one of the same epoch is late:
	// the transaction that is open now is the next one (KIP-1228).
	Raised bool
}

// Late reports whether the marker belongs to an earlier transaction of a
// producer that is known with an epoch and, if open is true, has another one
// open. The last epoch of all cannot be raised.
func (m *Marker) Late(epoch int16, open bool) bool {
	return m.ProducerEpoch < epoch || m.Raised && m.ProducerEpoch == epoch && open && epoch < math.MaxInt16
}

// Batch is the control batch with the marker, stamped with the wall clock in
// milliseconds: what a Writer appends.
func (m Marker) Batch(now int64) []byte {
	kind := record.ControlAbort
	if m.Commit {
		kind = record.ControlCommit
	}
	var b record.Builder
	b.Reset(make([]byte, 0, markerSize))
	b.SetProducer(m.ProducerID, m.ProducerEpoch, record.None)
	b.AppendMarker(now, record.Marker{Type: kind, CoordinatorEpoch: m.CoordinatorEpoch})
	return b.Finish()
}

// markerSize is the size of a batch with a marker.
const markerSize = record.HeaderSize + 17

// AppendMarker ends a transaction. done is called once, as Append's is, when
// the marker is durable. One without an open transaction is appended too.
// Errors: ErrCoordinatorFenced, ErrInvalidProducerEpoch (Marker.Late), ErrFull, ErrFlushFailed, ErrClosed, a *CorruptError.
func (l *Log) AppendMarker(m Marker, done func(error)) {
	now := l.s.c.Now().UnixMilli()
	if l.s.full(true) {
		done(ErrFull)
		return
	}
	batch := m.Batch(now)
	h, err := record.ParseHeader(batch)
	if err != nil {
		done(err)
		return
	}
	c, pos := l.copyIn(batch)
	l.mu.Lock()
	if err = l.refusalLocked(); err == nil {
		err = l.checkMarkerLocked(&m, now)
	}
	if err == nil {
		err = l.foldLocked(&h, batch, now)
	}
	if err != nil {
		l.mu.Unlock()
		c.release()
		done(err)
		return
	}
	_, push := l.pushLocked(c, pos, len(batch), &h)
	l.waiters.push(waiter{end: l.end, wrote: done})
	l.mu.Unlock()
	if push {
		l.s.pushReady(l)
	}
}

func (l *Log) checkMarkerLocked(m *Marker, now int64) error {
	p := l.producers.known[m.ProducerID]
	switch {
	case p == nil || p.idle(now, l.s.c.ProducerExpiry.Milliseconds()):
		return nil
	case m.Late(p.epoch, p.txn >= 0):
		return ErrInvalidProducerEpoch
	case m.CoordinatorEpoch < p.coordinator:
		return ErrCoordinatorFenced
	}
	return nil
}

// foldLocked takes a producer's batch that is about to get the offset l.end into
// what the log knows. Errors: those of a marker that cannot be read.
func (l *Log) foldLocked(h *record.Header, batch []byte, now int64) error {
	aborted, err := l.producers.fold(h, batch, l.end, now)
	if err != nil {
		return err
	}
	if aborted != nil {
		l.aborted.push(*aborted)
	}
	if h.Attributes.Transactional() {
		delete(l.guards, h.ProducerID)
	}
	return nil
}

// OpenTransaction is one whose marker has not been appended.
type OpenTransaction struct {
	ProducerID  int64
	Epoch       int16
	FirstOffset int64
	// StartedAt is the wall clock of its first append here, in milliseconds,
	// but after a restart the time when that was moved to a segment, or read
	// back from the journal.
	StartedAt int64
}

// OpenTransactions lists the open transactions by first offset.
func (l *Log) OpenTransactions() []OpenTransaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []OpenTransaction
	for id, p := range l.producers.known {
		if p.txn >= 0 {
			open = append(open, OpenTransaction{ProducerID: id, Epoch: p.epoch, FirstOffset: p.txn, StartedAt: p.began})
		}
	}
	slices.SortFunc(open, func(a, b OpenTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return open
}
