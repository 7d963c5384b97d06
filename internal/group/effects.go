package group

import (
	"math"
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
// and keeps whatever it needs to answer; a Group only hands it back.
type Ticket uint64

// Offset is a position in the shard's log.
type Offset = int64

// Code is a Kafka error code.
type Code int16

// Effects is what the caller must do after a call: append Batches in order,
// send each Reply once the batch it names is durable, and publish Events.
// Events leave with the last batch of their step.
//
// The slice of Replies is valid until the next Step, Tick, Loaded or Unload of
// the same Group; all else is the caller's to keep, and not to change.
type Effects struct {
	Batches []Batch
	Replies []Reply
	Events  []Event
}

// Batch is records that are appended as one atomic unit. The Group has
// applied them to itself already, at the offsets that follow the call's at.
type Batch struct {
	Records []Record
	// ProducerID and ProducerEpoch are set for transactional batches;
	// ProducerID is -1 otherwise.
	ProducerID    int64
	ProducerEpoch int16
}

// Record is one record of the group log. A nil Value is a tombstone.
type Record struct {
	Key, Value []byte
	// Since is the leader epoch that the record's generation comes from, if that
	// is not the epoch in which the record is written; else nil. It belongs into
	// a header of the record: generations after a load count from it.
	Since *int32
}

// EpochHeader is the key of the header that holds Record.Since, as 4 bytes.
const EpochHeader = "rota.generation.epoch"

// Epoch is the LeaderEpoch of the Entry that the record is read back as, if its
// batch is of the given epoch.
func (r *Record) Epoch(batch int32) int32 {
	if r.Since != nil {
		return *r.Since
	}
	return batch
}

// Dependency says which batch must be durable before a reply may leave.
type Dependency int8

const (
	// DependsNothing: the reply may leave at once.
	DependsNothing Dependency = iota
	// DependsGroup: the last batch of this group, in this step or before it.
	DependsGroup
	// DependsStep: the last batch of this very step; nothing if it has none.
	DependsStep
)

// Reply answers one request.
type Reply struct {
	Ticket Ticket
	After  Dependency
	Body   Response
	// Session is true when the member's session restarts in full once the
	// shell has released this reply: the shell then calls Released.
	Session bool
}

// Entry is one record of the group log as it is read back.
type Entry struct {
	Offset Offset
	// LeaderEpoch is that of the batch, unless the record has an EpochHeader.
	LeaderEpoch   int32
	ProducerID    int64 // -1 if not transactional
	ProducerEpoch int16
	Control       Control
	Key, Value    []byte
	// Decoded is Key as package schema decodes it, if the caller has done so;
	// nil otherwise. It is read during the call only.
	Decoded *schema.OffsetKey
}

// Control tells end-of-transaction markers from data.
type Control int8

const (
	ControlNone Control = iota
	ControlCommit
	ControlAbort
)

// Config is what the rules need to know of the broker's settings.
type Config struct {
	MinSessionTimeout time.Duration // group.min.session.timeout.ms, 6 s
	MaxSessionTimeout time.Duration // group.max.session.timeout.ms, 30 min
	InitialDelay      time.Duration // group.initial.rebalance.delay.ms; 250 ms is Rota's default
	MaxSize           int           // group.max.size, 2147483647
	MaxMetadata       int           // offset.metadata.max.bytes, 4096 UTF-16 units
	OffsetsRetention  time.Duration // offsets.retention.minutes, 7 days
	NewMemberTimeout  time.Duration // 5 min
	MaxRecordBytes    int           // largest record with its batch, 16 MiB

	// CheckInvariants makes every call end with a search for broken invariants,
	// and a panic that names them. For tests and simulations: it is slow.
	CheckInvariants bool
}

// DefaultConfig returns Kafka's defaults, but for the initial delay: 250 ms,
// because newcomers and tests should not wait for 3 s.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout: 6 * time.Second,
		MaxSessionTimeout: 30 * time.Minute,
		InitialDelay:      250 * time.Millisecond,
		MaxSize:           math.MaxInt32,
		MaxMetadata:       4096,
		OffsetsRetention:  7 * 24 * time.Hour,
		NewMemberTimeout:  5 * time.Minute,
		MaxRecordBytes:    16 << 20,
	}
}
