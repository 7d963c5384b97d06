package machine

// Effects is what the caller must do after a call: append Batches in order,
// send each Reply once the batch it names is durable, and publish Events.
// Events leave with the last batch of their step. R is the machine's type of
// responses, E that of its events.
//
// The slice of Replies is valid until the next call of the same machine that
// returns Effects; all else is the caller's to keep, and not to change.
type Effects[R, E any] struct {
	Batches []Batch
	Replies []Reply[R]
	Events  []E
}

// Batch is records that are appended as one atomic unit. The machine has
// applied them to itself already, at the offsets that follow the call's at.
type Batch struct {
	Records []Record
	// ProducerID and ProducerEpoch are set for transactional batches;
	// ProducerID is -1 otherwise.
	ProducerID    int64
	ProducerEpoch int16
}

// Record is one record of the machine's log. A nil Value is a tombstone.
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
	// DependsMachine: the last batch of this machine, in this step or before it.
	DependsMachine
	// DependsStep: the last batch of this very step; nothing if it has none.
	DependsStep
)

// Reply answers one request.
type Reply[R any] struct {
	Ticket Ticket
	After  Dependency
	Body   R
	// Session is true when a session restarts in full once the shell has
	// released this reply: the shell then calls Released.
	Session bool
}
