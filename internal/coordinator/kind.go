package coordinator

import (
	"time"

	"rota/internal/machine"
)

// Machine is a pure state machine that a Shard runs. Q is the type of its
// requests, R that of its responses and E that of its events.
type Machine[Q, R, E any] interface {
	Exists() bool
	Step(now machine.Now, at machine.Offset, t machine.Ticket, req Q) machine.Effects[R, E]
	Tick(now machine.Now, at machine.Offset) machine.Effects[R, E]
	Deadline() (time.Duration, bool)
	Apply(e machine.Entry) error
	Loaded(now machine.Now, at machine.Offset, epoch int32) machine.Effects[R, E]
	Released(now machine.Now, t machine.Ticket)
	Forgive(now machine.Now, late time.Duration)
	Unload(now machine.Now) machine.Effects[R, E]
	MarshalText() ([]byte, error)
}

// Kind is what a Shard must know about its machines that no single machine
// can tell. A Kind belongs to one shard.
type Kind[Q, R, E any] interface {
	// New returns the machine of that id, without any state.
	New(id string) Machine[Q, R, E]
	// Owner tells from its key whose record an entry is, and may fill in
	// e.Decoded. unknown is set, and there is no owner, for a record of a type
	// that this version does not know; the error is for one that is damaged.
	Owner(e *machine.Entry) (id string, unknown *int16, err error)
	// Loaded says that Owner will not be asked again.
	Loaded()
	// Refuse is the answer to a request that is not run.
	Refuse(req Q, code machine.Code) R
	// MayWrite reports whether a request can put records into the log. Others
	// go on while the log takes none.
	MayWrite(req Q) bool
	// Expire is the request that goes to every machine from time to time.
	Expire() Q
	// Lost is the event that stands for n events which nobody will be told,
	// because their records did not become durable.
	Lost(n int) E
}
