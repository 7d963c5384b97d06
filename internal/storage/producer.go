package storage

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"rota/internal/record"
)

// keptSequences is how many batches of an idempotent producer are remembered:
// as many as one may have unanswered (KIP-98, KAFKA-5494).
const keptSequences = 5

// producers is what a log knows of its idempotent producers.
type producers map[int64]*producer

type producer struct {
	epoch int16
	n     uint8                   // how many of last are in use
	last  [keptSequences]sequence // oldest first
	seen  int64                   // wall clock of the newest batch, milliseconds
}

// sequence is one batch of a producer.
type sequence struct {
	first, last int32 // sequence numbers
	base        int64 // offset
	count       int32 // offsets it takes
	stamp       int64 // max timestamp
}

func (q *sequence) end() int64 { return q.base + int64(q.count) }

// check tells what the batch is to its producer: the next one (nil, nil), one
// that the log has already, or an error. A producer that has not been seen for
// expiry (milliseconds) is a new one, and a new one may begin anywhere: what
// the log knew may have been deleted.
func (ps producers) check(h *record.Header, now, expiry int64) (*sequence, error) {
	p := ps[h.ProducerID]
	if p == nil || now-p.seen >= expiry {
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
	if p.n > 0 && h.BaseSequence != nextSequence(p.last[p.n-1].last) {
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

// add folds in a batch that has its offset.
func (ps producers) add(h *record.Header, base, now int64) {
	p := ps[h.ProducerID]
	if p == nil {
		p = new(producer)
		ps[h.ProducerID] = p
	}
	if p.epoch != h.ProducerEpoch {
		p.epoch, p.n = h.ProducerEpoch, 0
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
	p.seen = now
}

// expire forgets producers that have not been seen for expiry milliseconds.
func (ps producers) expire(now, expiry int64) {
	maps.DeleteFunc(ps, func(_ int64, p *producer) bool { return now-p.seen >= expiry })
}

func (ps producers) clone() producers {
	c := make(producers, len(ps))
	for id, p := range ps {
		copied := *p
		c[id] = &copied
	}
	return c
}

// Sizes in the encoded form, which docs/format/producers.md describes.
const (
	producersVersion = 1
	producerSize     = 8 + 2 + 8 + 1
	sequenceSize     = 4 + 4 + 8 + 4 + 8
)

// encode is the form that manifests keep; nil if there are none.
func (ps producers) encode() []byte {
	if len(ps) == 0 {
		return nil
	}
	b := make([]byte, 0, 5+len(ps)*(producerSize+2*sequenceSize))
	b = append(b, producersVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(ps)))
	for _, id := range slices.Sorted(maps.Keys(ps)) {
		p := ps[id]
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint16(b, uint16(p.epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(p.seen))
		b = append(b, p.n)
		for i := range p.last[:p.n] {
			q := &p.last[i]
			b = binary.BigEndian.AppendUint32(b, uint32(q.first))
			b = binary.BigEndian.AppendUint32(b, uint32(q.last))
			b = binary.BigEndian.AppendUint64(b, uint64(q.base))
			b = binary.BigEndian.AppendUint32(b, uint32(q.count))
			b = binary.BigEndian.AppendUint64(b, uint64(q.stamp))
		}
	}
	return b
}

var errProducers = errors.New("producer state cannot be read")

// decodeProducers reads what encode wrote.
func decodeProducers(b []byte) (producers, error) {
	ps := make(producers)
	if len(b) == 0 {
		return ps, nil
	}
	if len(b) < 5 || b[0] != producersVersion {
		return nil, errProducers
	}
	count := binary.BigEndian.Uint32(b[1:])
	b = b[5:]
	for range count {
		if len(b) < producerSize {
			return nil, errProducers
		}
		id := int64(binary.BigEndian.Uint64(b))
		p := &producer{
			epoch: int16(binary.BigEndian.Uint16(b[8:])),
			seen:  int64(binary.BigEndian.Uint64(b[10:])),
			n:     b[18],
		}
		b = b[producerSize:]
		if p.n > keptSequences || len(b) < int(p.n)*sequenceSize {
			return nil, errProducers
		}
		for i := range p.last[:p.n] {
			p.last[i] = sequence{
				first: int32(binary.BigEndian.Uint32(b)),
				last:  int32(binary.BigEndian.Uint32(b[4:])),
				base:  int64(binary.BigEndian.Uint64(b[8:])),
				count: int32(binary.BigEndian.Uint32(b[16:])),
				stamp: int64(binary.BigEndian.Uint64(b[20:])),
			}
			b = b[sequenceSize:]
		}
		ps[id] = p
	}
	if len(b) != 0 || len(ps) != int(count) {
		return nil, errProducers
	}
	return ps, nil
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
	all := make([]ProducerState, 0, len(l.producers))
	for _, id := range slices.Sorted(maps.Keys(l.producers)) {
		p := l.producers[id]
		st := ProducerState{ID: id, Epoch: p.epoch, LastSequence: record.None, LastTimestamp: record.None, CoordinatorEpoch: -1, CurrentTxn: -1}
		if p.n > 0 {
			st.LastSequence, st.LastTimestamp = p.last[p.n-1].last, p.last[p.n-1].stamp
		}
		all = append(all, st)
	}
	return all
}
