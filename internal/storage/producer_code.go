package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// The encoded form, which docs/format/producers.md describes.
const (
	producersVersion = 2
	producerSize     = 8 + 2 + 8 + 8 + 4 + 8 + 8 + 1
	// Version 1 knew no transactions.
	producersVersion1 = 1
	producerSize1     = 8 + 2 + 8 + 1
	sequenceSize      = 4 + 4 + 8 + 4 + 8
)

// encode is the form that manifests keep; nil if there are none.
func (ps *producers) encode() []byte {
	if len(ps.known) == 0 {
		return nil
	}
	be := binary.BigEndian
	b := make([]byte, 0, 5+len(ps.known)*(producerSize+2*sequenceSize))
	b = append(b, producersVersion)
	b = be.AppendUint32(b, uint32(len(ps.known)))
	for _, id := range slices.Sorted(maps.Keys(ps.known)) {
		p := ps.known[id]
		b = be.AppendUint64(b, uint64(id))
		b = be.AppendUint16(b, uint16(p.epoch))
		b = be.AppendUint64(b, uint64(p.seen))
		b = be.AppendUint64(b, uint64(p.stamp))
		b = be.AppendUint32(b, uint32(p.coordinator))
		b = be.AppendUint64(b, uint64(p.txn))
		b = be.AppendUint64(b, uint64(p.began))
		b = append(b, p.n)
		for i := range p.last[:p.n] {
			q := &p.last[i]
			b = be.AppendUint32(b, uint32(q.first))
			b = be.AppendUint32(b, uint32(q.last))
			b = be.AppendUint64(b, uint64(q.base))
			b = be.AppendUint32(b, uint32(q.count))
			b = be.AppendUint64(b, uint64(q.stamp))
		}
	}
	return b
}

var errProducers = errors.New("producer state cannot be read")

// decodeProducers reads what encode wrote, in this version or an earlier one.
func decodeProducers(b []byte) (producers, error) {
	ps := producers{known: make(map[int64]*producer)}
	if len(b) == 0 {
		return ps, nil
	}
	if len(b) < 5 || b[0] < producersVersion1 || b[0] > producersVersion {
		return producers{}, errProducers
	}
	version, count := b[0], binary.BigEndian.Uint32(b[1:])
	b = b[5:]
	for range count {
		id, p, rest, ok := decodeProducer(b, version)
		if !ok {
			return producers{}, errProducers
		}
		ps.known[id] = p
		if p.txn >= 0 {
			ps.spans.begin(p.txn)
		}
		b = rest
	}
	if len(b) != 0 || len(ps.known) != int(count) {
		return producers{}, errProducers
	}
	open := ps.spans.all()
	slices.SortFunc(open, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(open); i++ {
		if open[i] == open[i-1] {
			return producers{}, errProducers
		}
	}
	return ps, nil
}

func decodeProducer(b []byte, version byte) (id int64, p *producer, rest []byte, ok bool) {
	be := binary.BigEndian
	size := producerSize
	if version == producersVersion1 {
		size = producerSize1
	}
	if len(b) < size {
		return 0, nil, nil, false
	}
	id = int64(be.Uint64(b))
	p = &producer{epoch: int16(be.Uint16(b[8:])), seen: int64(be.Uint64(b[10:])), n: b[size-1], coordinator: -1, txn: -1}
	if version > producersVersion1 {
		p.stamp, p.coordinator = int64(be.Uint64(b[18:])), int32(be.Uint32(b[26:]))
		p.txn, p.began = int64(be.Uint64(b[30:])), int64(be.Uint64(b[38:]))
	}
	b = b[size:]
	if p.n > keptSequences || len(b) < int(p.n)*sequenceSize || p.txn < -1 {
		return 0, nil, nil, false
	}
	for i := range p.last[:p.n] {
		p.last[i] = sequence{
			first: int32(be.Uint32(b)),
			last:  int32(be.Uint32(b[4:])),
			base:  int64(be.Uint64(b[8:])),
			count: int32(be.Uint32(b[16:])),
			stamp: int64(be.Uint64(b[20:])),
		}
		b = b[sequenceSize:]
	}
	if version == producersVersion1 && p.n > 0 {
		p.stamp = p.last[p.n-1].stamp
	}
	return id, p, b, true
}
