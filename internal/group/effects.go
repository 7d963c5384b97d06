package group

import (
	"math"
	"time"

	"rota/internal/machine"
)

// The vocabulary that a Group shares with the other machines of the shell.
type (
	// Now is the present; see machine.Now.
	Now = machine.Now
	// Ticket names one request that is waiting for its reply.
	Ticket = machine.Ticket
	// Offset is a position in the shard's log.
	Offset = machine.Offset
	// Code is a Kafka error code.
	Code = machine.Code
	// Effects is what the caller must do after a call. The slice of Replies is
	// valid until the next Step, Tick, Loaded or Unload of the same Group.
	Effects = machine.Effects[Response, Event]
	// Batch is records that are appended as one atomic unit.
	Batch = machine.Batch
	// Record is one record of the group log. A nil Value is a tombstone.
	Record = machine.Record
	// Dependency says which batch must be durable before a reply may leave.
	Dependency = machine.Dependency
	// Reply answers one request. Session is true when the member's session
	// restarts in full once the shell has released it.
	Reply = machine.Reply[Response]
	// Entry is one record of the group log as it is read back.
	Entry = machine.Entry
	// Control tells end-of-transaction markers from data.
	Control = machine.Control
)

// EpochHeader is the key of the header that holds Record.Since, as 4 bytes.
const EpochHeader = machine.EpochHeader

const (
	// DependsNothing: the reply may leave at once.
	DependsNothing = machine.DependsNothing
	// DependsGroup: the last batch of this group, in this step or before it.
	DependsGroup = machine.DependsMachine
	// DependsStep: the last batch of this very step; nothing if it has none.
	DependsStep = machine.DependsStep
)

const (
	ControlNone   = machine.ControlNone
	ControlCommit = machine.ControlCommit
	ControlAbort  = machine.ControlAbort
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
