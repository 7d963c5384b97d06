package txn

import (
	"time"

	"rota/internal/machine"
)

// Request is one call on a transactional id: from a producer, an admin, or the
// shell. The api package builds it from the wire request of any version.
type Request interface{ isRequest() }

// Response is what a request is answered with.
type Response interface{ isResponse() }

// Code is a Kafka error code.
type Code = machine.Code

// TopicPartition names a partition the way transaction records do: by topic name.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Levels of the feature transaction.version, and of the protocol that a client
// uses. A client that sends EndTxn v5, Produce v12 or TxnOffsetCommit v5 and
// newer is at Version2.
const (
	Version0 int16 = 0 // as since Kafka 0.11
	Version1 int16 = 1 // the same with flexible records (KIP-915)
	Version2 int16 = 2 // every end raises the epoch, partitions are added by producing (KIP-890)
)

// InitProducerID is an InitProducerId request with a transactional id: the
// producer takes the id over, and everybody who had it before is fenced.
type InitProducerID struct {
	TimeoutMillis int32 // transaction.timeout.ms
	// ProducerID and ProducerEpoch are what the producer goes on with (v3 and
	// newer, KIP-360); -1 if it has none.
	ProducerID    int64
	ProducerEpoch int16
	// TwoPhaseCommit and KeepPrepared are those of v6 (KIP-939).
	TwoPhaseCommit bool
	KeepPrepared   bool
	// NewProducerID is the producer id that this request may use, should it
	// need one. Transactions.Submit fills it in.
	NewProducerID int64
}

// Initialized answers InitProducerID. With an error the id and epoch are -1.
type Initialized struct {
	Code          Code
	ProducerID    int64
	ProducerEpoch int16
}

// AddPartitions is one transaction's part of an AddPartitionsToTxn request, or
// what a Produce of Version2 adds by itself. The first partition begins a
// transaction.
type AddPartitions struct {
	ProducerID    int64
	ProducerEpoch int16
	Partitions    []TopicPartition
	// VerifyOnly asks whether the partitions have been added, and adds none.
	VerifyOnly bool
	// ClientVersion is Version2 if the client did not send AddPartitionsToTxn
	// itself, else Version0.
	ClientVersion int16
	// Patience is how long the client waits for its answer, if that is told: the
	// request waits no longer for markers than this and Config.Wait. 0: not told.
	Patience time.Duration
}

// AddedPartitions answers AddPartitions: one code for each partition, in order.
// All are Code if that is an error.
type AddedPartitions struct {
	Code  Code
	Codes []Code
}

// AddOffsets is an AddOffsetsToTxn request, or what a TxnOffsetCommit of
// Version2 adds by itself: AddPartitions with the one partition of
// __consumer_offsets that keeps the group.
type AddOffsets struct {
	ProducerID    int64
	ProducerEpoch int16
	Partition     int32 // of __consumer_offsets
	VerifyOnly    bool
	ClientVersion int16
}

// AddedOffsets answers AddOffsets.
type AddedOffsets struct{ Code Code }

// End is an EndTxn request.
type End struct {
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool
	ClientVersion int16 // Version2 for EndTxn v5 and newer, else Version0
	// NewProducerID is the producer id that this request may use, should the
	// epoch be exhausted. Transactions.Submit fills it in.
	NewProducerID int64
}

// Ended answers End. ProducerID and ProducerEpoch are what the producer goes
// on with (v5 and newer); -1 with an error and for Version0.
type Ended struct {
	Code          Code
	ProducerID    int64
	ProducerEpoch int16
}

// Describe is one id's part of a DescribeTransactions request.
type Describe struct{}

// Described answers Describe.
type Described struct {
	Code          Code
	State         string // as in Summary
	ProducerID    int64
	ProducerEpoch int16
	TimeoutMillis int32
	StartedAt     int64 // Unix time in milliseconds, -1 if no transaction was begun
	Partitions    []TopicPartition
}

// MarkersWritten says that every partition of the transaction that was asked
// for with WriteMarkers has its marker, durably. It comes from the shell.
type MarkersWritten struct {
	Decision Offset // that of the event
}

// Completed answers MarkersWritten. With an error the shell is to bring it
// again, as long as it leads.
type Completed struct{ Code Code }

// SupplyProducerID brings the producer id that was asked for with
// NeedProducerID. It comes from the shell.
type SupplyProducerID struct{ ProducerID int64 }

// Supplied answers SupplyProducerID, in the same way.
type Supplied struct{ Code Code }

// Expire gives up an id that has not been used for
// transactional.id.expiration.ms. It has no reply.
type Expire struct{}

func (InitProducerID) isRequest()   {}
func (AddPartitions) isRequest()    {}
func (AddOffsets) isRequest()       {}
func (End) isRequest()              {}
func (Describe) isRequest()         {}
func (MarkersWritten) isRequest()   {}
func (SupplyProducerID) isRequest() {}
func (Expire) isRequest()           {}

func (Initialized) isResponse()     {}
func (AddedPartitions) isResponse() {}
func (AddedOffsets) isResponse()    {}
func (Ended) isResponse()           {}
func (Described) isResponse()       {}
func (Completed) isResponse()       {}
func (Supplied) isResponse()        {}

// Refuse builds the response that says code to a request.
func Refuse(req Request, code Code) Response {
	switch r := req.(type) {
	case InitProducerID:
		return Initialized{Code: code, ProducerID: none, ProducerEpoch: none}
	case AddPartitions:
		return refusePartitions(&r, code)
	case AddOffsets:
		return AddedOffsets{code}
	case End:
		return Ended{Code: code, ProducerID: none, ProducerEpoch: none}
	case Describe:
		return Described{Code: code, ProducerID: none, ProducerEpoch: none, StartedAt: none}
	case MarkersWritten:
		return Completed{code}
	case SupplyProducerID:
		return Supplied{code}
	default:
		panic("txn: unknown request")
	}
}

func refusePartitions(r *AddPartitions, code Code) AddedPartitions {
	codes := make([]Code, len(r.Partitions))
	for i := range codes {
		codes[i] = code
	}
	return AddedPartitions{Code: code, Codes: codes}
}
