package record

import "encoding/binary"

// ControlType is the type of a control record.
type ControlType int16

// The control records that end a transaction (KIP-98). Readers skip others.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// Marker ends a producer's transaction in one partition.
type Marker struct {
	Type             ControlType
	CoordinatorEpoch int32
}

// AppendMarker adds an end-of-transaction marker and makes the batch a control
// batch of the producer given by SetProducer. Kafka's markers have sequence -1.
func (b *Builder) AppendMarker(ts int64, m Marker) {
	b.attributes |= controlBit | transactionalBit
	var key [4]byte // version 0, type
	binary.BigEndian.PutUint16(key[2:], uint16(m.Type))
	var value [6]byte // version 0, coordinator epoch
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))
	b.Append(ts, key[:], value[:])
}

// ParseMarker reads a record of a control batch. ok is false for a control
// record of another type, which readers must skip, and err is set for a marker
// that cannot be read. Newer versions begin like version 0.
func ParseMarker(key, value []byte) (m Marker, ok bool, err error) {
	if len(key) < 4 || int16(binary.BigEndian.Uint16(key)) < 0 {
		return Marker{}, false, &InvalidError{Record: 0, Reason: "control record key is damaged"}
	}
	m.Type = ControlType(binary.BigEndian.Uint16(key[2:]))
	if m.Type != ControlAbort && m.Type != ControlCommit {
		return Marker{}, false, nil
	}
	if len(value) < 6 || int16(binary.BigEndian.Uint16(value)) < 0 {
		return Marker{}, false, &InvalidError{Record: 0, Reason: "control record value is damaged"}
	}
	m.CoordinatorEpoch = int32(binary.BigEndian.Uint32(value[2:]))
	return m, true, nil
}

// MarkerOf reads the marker that a whole control batch carries. ok is false
// for a control batch of another type, and for one that has lost its records.
// Errors: those of a batch or a marker that cannot be read; Kafka's control
// batches are not compressed.
func MarkerOf(batch []byte) (m Marker, ok bool, err error) {
	h, err := ParseHeader(batch)
	switch {
	case err != nil:
		return Marker{}, false, err
	case !h.Attributes.Control() || h.Attributes.Compression() != Uncompressed:
		return Marker{}, false, invalidBatch("not a control batch, or a compressed one")
	}
	for r, err := range (*Codec)(nil).Records(batch) {
		if err != nil {
			return Marker{}, false, err
		}
		return ParseMarker(r.Key, r.Value)
	}
	return Marker{}, false, nil
}
