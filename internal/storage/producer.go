package storage

import (
	"maps"
	"math"
	"slices"

	"rota/internal/record"
)

// keptSequences is how many batches of an idempotent producer are remembered:
// as many as one may have unanswered (KIP-98, KAFKA-5494).
const keptSequences = 5

// producers is what the batches of a log up to some offset tell of its
// producers. The zero value is that of an empty log.
type producers struct {
	known map[int64]*producer
	spans spans
}

type producer struct {
	epoch int16
	n     uint8 // how many of last are in use
	// coordinator is the coordinator's epoch in the last marker, -1 if there
	// was none.
	coordinator int32
	last        [keptSequences]sequence // oldest first
	seen        int64                   // wall clock of the newest batch, milliseconds
	stamp       int64                   // max timestamp of the newest batch
	// txn is the first offset of the open transaction, -1 if there is none, and
	// began the wall clock when it got it, milliseconds.
	txn, began int64
}

// sequence is one batch of a producer.
type sequence struct {
	first, last int32 // sequence numbers
	base        int64 // offset
	count       int32 // offsets it takes
	stamp       int64 // max timestamp
}

func (q *sequence) end() int64 { return q.base + int64(q.count) }

// idle reports whether the log may forget the producer: it has not been seen
// for expiry (milliseconds), and no transaction waits for its end.
func (p *producer) idle(now, expiry int64) bool { return p.txn < 0 && now-p.seen >= expiry }

// check tells what the batch is to its producer: the next one (nil, nil), one
// that the log has already, or an error. An idle producer is a new one, and a
// new one may begin anywhere: what the log knew may have been deleted.
func (ps *producers) check(h *record.Header, now, expiry int64) (*sequence, error) {
	p := ps.known[h.ProducerID]
	if p == nil || p.idle(now, expiry) {
		return nil, nil
	}
	switch {
	case h.ProducerEpoch < p.epoch:
		return nil, ErrInvalidProducerEpoch
	case h.ProducerEpoch > p.epoch:
		if h.BaseSequence != 0 {
			return nil, ErrOutOfOrderSequence
		}
		return nil, nil
	}
	for i := range p.last[:p.n] {
		if q := &p.last[i]; q.first == h.BaseSequence && q.last == h.LastSequence() {
			return q, nil
		}
	}
	next := int32(0) // only a marker has told of this epoch
	if p.n > 0 {
		next = nextSequence(p.last[p.n-1].last)
	}
	if h.BaseSequence != next {
		return nil, ErrOutOfOrderSequence
	}
	return nil, nil
}

// nextSequence follows 2147483647 by 0.
func nextSequence(last int32) int32 {
	if last == math.MaxInt32 {
		return 0
	}
	return last + 1
}

// fold takes in a batch of a producer that has its offset. aborted is the
// transaction that it aborts, if any. Errors: those of a marker that cannot be
// read.
func (ps *producers) fold(h *record.Header, batch []byte, base, now int64) (aborted *AbortedTransaction, err error) {
	if !h.Attributes.Control() {
		ps.add(h, base, now)
		return nil, nil
	}
	m, ok, err := record.MarkerOf(batch)
	if err != nil || !ok {
		return nil, err
	}
	p := ps.touch(h, now)
	p.coordinator = m.CoordinatorEpoch
	if p.txn < 0 {
		return nil, nil
	}
	ps.spans.end(p.txn, base)
	if m.Type == record.ControlAbort {
		aborted = &AbortedTransaction{
			ProducerID: h.ProducerID, First: p.txn, Last: base, Stable: ps.spans.stable(base + 1),
		}
	}
	p.txn = -1
	return aborted, nil
}

// add folds in a batch of data.
func (ps *producers) add(h *record.Header, base, now int64) {
	p := ps.touch(h, now)
	if h.Attributes.Transactional() && p.txn < 0 {
		p.txn, p.began = base, now
		ps.spans.begin(base)
	}
	if h.BaseSequence < 0 {
		return // a coordinator's
	}
	if p.n == keptSequences {
		copy(p.last[:], p.last[1:])
		p.n--
	}
	p.last[p.n] = sequence{
		first: h.BaseSequence, last: h.LastSequence(),
		base: base, count: h.LastOffsetDelta + 1, stamp: h.MaxTimestamp,
	}
	p.n++
}

// touch returns the producer of a batch, in the batch's epoch.
func (ps *producers) touch(h *record.Header, now int64) *producer {
	p := ps.known[h.ProducerID]
	if p == nil {
		p = &producer{coordinator: -1, txn: -1}
		if ps.known == nil {
			ps.known = make(map[int64]*producer)
		}
		ps.known[h.ProducerID] = p
	}
	if p.epoch != h.ProducerEpoch {
		p.epoch, p.n = h.ProducerEpoch, 0
	}
	p.seen, p.stamp = now, h.MaxTimestamp
	return p
}

// expire forgets producers that have been idle for expiry milliseconds.
func (ps *producers) expire(now, expiry int64) {
	maps.DeleteFunc(ps.known, func(_ int64, p *producer) bool { return p.idle(now, expiry) })
}

func (ps *producers) clone() producers {
	c := producers{known: make(map[int64]*producer, len(ps.known)), spans: ps.spans.clone()}
	for id, p := range ps.known {
		copied := *p
		c.known[id] = &copied
	}
	return c
}

// ProducerState describes one producer that the log remembers.
type ProducerState struct {
	ID            int64
	Epoch         int16
	LastSequence  int32
	LastTimestamp int64
	// CoordinatorEpoch is the one of the last marker, -1 if there was none.
	CoordinatorEpoch int32
	CurrentTxn       int64 // first offset of the open transaction, -1 if none
}

// Producers lists the producers that the log remembers, by id.
func (l *Log) Producers() []ProducerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]ProducerState, 0, len(l.producers.known))
	for _, id := range slices.Sorted(maps.Keys(l.producers.known)) {
		p := l.producers.known[id]
		st := ProducerState{
			ID: id, Epoch: p.epoch, LastSequence: record.None, LastTimestamp: p.stamp,
			CoordinatorEpoch: p.coordinator, CurrentTxn: p.txn,
		}
		if p.n > 0 {
			st.LastSequence = p.last[p.n-1].last
		}
		all = append(all, st)
	}
	return all
}
