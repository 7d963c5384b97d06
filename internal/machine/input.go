package machine

import (
	"time"

	"rota/internal/schema"
)

// Now is the present, twice. Deadlines run on Mono, which never jumps;
// record timestamps and expiry run on Wall, which may.
type Now struct {
	Mono time.Duration // since an origin of the caller's choosing
	Wall int64         // Unix time in milliseconds
}

// Ticket names one request that is waiting for its reply. The caller picks it
// and keeps whatever it needs to answer; a machine only hands it back.
type Ticket uint64

// Offset is a position in the shard's log.
type Offset = int64

// Code is a Kafka error code.
type Code int16

// Entry is one record of the machine's log as it is read back.
type Entry struct {
	Offset Offset
	// LeaderEpoch is that of the batch, unless the record has an EpochHeader.
	LeaderEpoch   int32
	ProducerID    int64 // -1 if not transactional
	ProducerEpoch int16
	Control       Control
	Key, Value    []byte
	// Decoded is Key as package schema decodes it, if the caller has done so
	// for a committed offset; nil otherwise. It is read during the call only.
	Decoded *schema.OffsetKey
}

// Control tells end-of-transaction markers from data.
type Control int8

const (
	ControlNone Control = iota
	ControlCommit
	ControlAbort
)
