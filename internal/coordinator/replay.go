package coordinator

import (
	"encoding/binary"
	"fmt"
	"slices"

	"rota/internal/machine"
	"rota/internal/record"
)

// RecordError says which record of the log cannot be loaded.
type RecordError struct {
	Offset machine.Offset
	Err    error
}

func (e *RecordError) Error() string { return fmt.Sprintf("record at offset %d: %v", e.Offset, e.Err) }
func (e *RecordError) Unwrap() error { return e.Err }

// Replay folds one batch of the log into the machines. Batches come in order.
// The error, a *RecordError, says that a record of a known kind cannot be
// read: the load has failed.
func (s *Shard[Q, R, E]) Replay(batch []byte, c *record.Codec) error {
	h, err := record.ParseHeader(batch)
	if err != nil {
		return &RecordError{Offset: s.flight.next, Err: err}
	}
	e := &s.replaying
	*e = machine.Entry{ProducerID: record.None, ProducerEpoch: record.None}
	if h.Attributes.Transactional() {
		e.ProducerID, e.ProducerEpoch = h.ProducerID, h.ProducerEpoch
		s.noteProducer(h.ProducerID, h.ProducerEpoch, record.None)
	}
	for r, err := range c.Records(batch) {
		if err != nil {
			return &RecordError{Offset: h.BaseOffset, Err: err}
		}
		e.Offset, e.Key, e.Value = r.Offset, r.Key, r.Value
		e.LeaderEpoch, e.Decoded = h.LeaderEpoch, nil
		for key, value := range r.Headers() {
			if key == machine.EpochHeader && len(value) == 4 {
				e.LeaderEpoch = int32(binary.BigEndian.Uint32(value))
			}
		}
		if h.Attributes.Control() {
			err = s.replayMarker(*e)
		} else {
			err = s.replayRecord(e)
		}
		if err != nil {
			return &RecordError{Offset: r.Offset, Err: err}
		}
	}
	s.flight.next = h.NextOffset()
	return nil
}

func (s *Shard[Q, R, E]) replayRecord(e *machine.Entry) error {
	id, unknown, err := s.kind.Owner(e)
	switch {
	case err != nil:
		return err
	case unknown != nil:
		s.skipped[*unknown]++
		return nil
	}
	return s.replayTo(id, *e)
}

// replayTo folds an entry into the machine of that id.
func (s *Shard[Q, R, E]) replayTo(id string, e machine.Entry) error {
	if s.quarantined[id] {
		return nil
	}
	to := s.find(id)
	if e.ProducerID != record.None {
		s.inTransaction(e.ProducerID, to)
	}
	return s.apply(to, e)
}

// inTransaction notes that a machine has something pending of a producer.
func (s *Shard[Q, R, E]) inTransaction(producer int64, e *entry[Q, R, E]) {
	if slices.Contains(s.transactions[producer], e) {
		return
	}
	s.transactions[producer] = append(s.transactions[producer], e)
}

// replayMarker ends a producer's transaction in every machine that has part in it.
func (s *Shard[Q, R, E]) replayMarker(e machine.Entry) error {
	m, ok, err := record.ParseMarker(e.Key, e.Value)
	if err != nil || !ok {
		return err
	}
	s.noteProducer(e.ProducerID, e.ProducerEpoch, m.CoordinatorEpoch)
	e.Key, e.Value = nil, nil
	if e.Control = machine.ControlAbort; m.Type == record.ControlCommit {
		e.Control = machine.ControlCommit
	}
	touched := s.transactions[e.ProducerID]
	delete(s.transactions, e.ProducerID)
	for _, to := range touched {
		if err := s.apply(to, e); err != nil {
			return err
		}
	}
	return nil
}

// apply folds an entry into a machine. A machine that exists no more afterwards
// is dropped; a later record makes it anew.
func (s *Shard[Q, R, E]) apply(to *entry[Q, R, E], e machine.Entry) error {
	s.running = running[Q, R, E]{entry: to, what: "apply"}
	err := to.m.Apply(e)
	s.running = running[Q, R, E]{}
	switch exists := to.m.Exists(); {
	case exists && to.index == nowhere:
		to.index = len(s.order)
		s.order = append(s.order, to)
		s.machines[to.id] = to
	case !exists && to.index != nowhere:
		s.drop(to)
	}
	return err
}

// Activate ends the load: next is the end of the log. Every machine gets its
// sessions and deadlines. It belongs into a turn.
func (s *Shard[Q, R, E]) Activate(next machine.Offset) {
	s.flight.next = next
	s.kind.Loaded()
	s.nextRun = s.now.Mono + s.interval
	for _, e := range append([]*entry[Q, R, E](nil), s.order...) {
		s.running = running[Q, R, E]{entry: e, what: "loaded"}
		s.settle(e, e.m.Loaded(s.now, s.flight.next, s.epoch))
	}
}

// Skipped counts the records of unknown types that the load has passed over.
func (s *Shard[Q, R, E]) Skipped() map[int16]int { return s.skipped }
