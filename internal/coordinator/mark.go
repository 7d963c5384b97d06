package coordinator

import (
	"time"

	"rota/internal/group"
	"rota/internal/machine"
	"rota/internal/record"
	"rota/internal/storage"
)

// A marker for __consumer_offsets ends a producer's transaction in every group
// of a partition at once. It is an event of the shard, the partition's only
// writer, and no request of any group.

// producerMemory is how long a shard remembers the epochs of a producer that
// it has heard nothing more of. Nobody tries to write a marker for longer.
const producerMemory = 24 * time.Hour

// producerEpochs are the newest epochs that a shard has seen of a producer with
// transactions, and of its coordinator.
type producerEpochs struct {
	producer    int16
	coordinator int32
	at          time.Duration // Now.Mono at which they were seen
}

// noteProducer notes epochs; None says that one is not told.
func (s *Shard[Q, R, E]) noteProducer(id int64, epoch int16, coordinator int32) {
	if s.producers == nil {
		s.producers = make(map[int64]producerEpochs)
	}
	known, ok := s.producers[id]
	if !ok {
		known = producerEpochs{record.None, record.None, 0}
	}
	s.producers[id] = producerEpochs{max(known.producer, epoch), max(known.coordinator, coordinator), s.now.Mono}
}

// forgetProducers drops what nobody needs any more.
func (s *Shard[Q, R, E]) forgetProducers() {
	for id, p := range s.producers {
		if s.now.Mono-p.at > producerMemory && len(s.transactions[id]) == 0 {
			delete(s.producers, id)
		}
	}
}

// EndTransaction appends a marker and ends the producer's transaction in every
// machine that has part in it. done comes back in a Release once the marker is
// durable, or has failed. Errors: storage.ErrInvalidProducerEpoch,
// storage.ErrCoordinatorFenced, storage.ErrFull, ErrNotServing.
func (s *Shard[Q, R, E]) EndTransaction(m storage.Marker, done func(error)) {
	if err := s.refuseMarker(&m); err != nil {
		s.tell(done, err)
		return
	}
	b := s.flight.mark(m.Batch(s.now.Wall))
	b.marks = append(b.marks, done)
	s.noteProducer(m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch)
	e := machine.Entry{
		Offset: b.base, LeaderEpoch: s.epoch, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		Control: machine.ControlAbort,
	}
	if m.Commit {
		e.Control = machine.ControlCommit
	}
	touched := s.transactions[m.ProducerID]
	delete(s.transactions, m.ProducerID)
	for _, to := range touched {
		to.last = b.seq
		s.running = running[Q, R, E]{entry: to, what: "apply"}
		if err := to.m.Apply(e); err != nil {
			panic("coordinator: a marker cannot be applied: " + err.Error())
		}
		s.running = running[Q, R, E]{}
		s.keep(to)
	}
}

func (s *Shard[Q, R, E]) refuseMarker(m *storage.Marker) error {
	known, ok := s.producers[m.ProducerID]
	switch {
	case s.ended != nil:
		return ErrNotServing
	case ok && m.CoordinatorEpoch < known.coordinator:
		return storage.ErrCoordinatorFenced
	case ok && m.Late(known.producer, len(s.transactions[m.ProducerID]) > 0):
		return storage.ErrInvalidProducerEpoch
	case s.full:
		return storage.ErrFull
	}
	return nil
}

// tell lets the outcome of a marker leave.
func (s *Shard[Q, R, E]) tell(done func(error), err error) {
	s.out.Releases = append(s.out.Releases, Release[R]{Done: func(R) { done(err) }})
}

// mark puts a batch with a marker behind the open batch. It is never shared.
func (f *flight[Q, R, E]) mark(marker []byte) *batch[Q, R, E] {
	f.close()
	f.begin()
	f.open = false
	f.buf = append(f.buf, marker...)
	f.next++
	b := f.batches[len(f.batches)-1]
	f.appends = append(f.appends, Append{Seq: b.seq, Base: b.base, Batch: f.buf[f.start:]})
	return b
}

// marking is a marker that has come while its shard was loading.
type marking struct {
	m    storage.Marker
	done func(error)
}

// mark brings a marker to the shard. One that comes during a load waits for it.
func (r *runner[Q, R, E]) mark(m storage.Marker, done func(error)) {
	switch r.state {
	case active:
		r.shard.EndTransaction(m, done)
	case loading:
		r.marks = append(r.marks, marking{m, done})
	case failed, away, draining, stopped:
		done(ErrNotServing)
	}
}

// refuseMarks ends the wait of markers for a load that will not be.
func (r *runner[Q, R, E]) refuseMarks() {
	for _, w := range r.marks {
		w.done(ErrNotServing)
	}
	r.marks = nil
}

// EndTransaction appends a marker to partition p of __consumer_offsets. done is
// called once: when the marker is durable, or with why it is not. Errors:
// storage.ErrInvalidProducerEpoch and storage.ErrCoordinatorFenced if the
// partition knows better, ErrNotServing, storage.ErrFull, an *AppendError.
func (c *Coordinator) EndTransaction(p int32, m storage.Marker, done func(error)) {
	if p < 0 || p >= c.config.Partitions {
		done(ErrNotServing)
		return
	}
	c.endings.end(ending{p, m.ProducerID})
	if !c.runners[p].control(func(r *groupRunner) { r.mark(m, done) }) {
		done(ErrNotServing)
	}
}

// groupRunner is the runner of a shard of groups.
type groupRunner = runner[group.Request, group.Response, group.Event]
