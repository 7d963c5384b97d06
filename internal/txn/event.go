package txn

// Event is something that happened to a transaction. WriteMarkers and
// NeedProducerID are commands to the shell; the others are for its log.
type Event struct {
	Kind          EventKind
	ProducerID    int64
	ProducerEpoch int16
	// Decision is where the log holds the decision that the markers follow
	// from; MarkersWritten repeats it.
	Decision   Offset
	Commit     bool             // of WriteMarkers
	Partitions []TopicPartition // of WriteMarkers
	Count      int              // of EventsLost
}

// EventKind says what happened.
type EventKind uint8

const (
	// WriteMarkers: the transaction is decided, durably. Each of Partitions is
	// to get a marker of ProducerID and ProducerEpoch; then the shell brings
	// MarkersWritten. It comes again after a load.
	WriteMarkers EventKind = iota + 1
	// NeedProducerID: the epoch is exhausted. The shell is to bring
	// SupplyProducerID.
	NeedProducerID
	// Fenced: a new producer has taken the id over while the old one had a
	// transaction open, which is aborted.
	Fenced
	// TimedOut: a transaction was open for longer than its producer allows, and
	// is aborted.
	TimedOut
	// Expired: the id has not been used for transactional.id.expiration.ms.
	Expired
	// EventsLost: Count events before this one are not told, because the
	// records of their steps did not become durable.
	EventsLost
)

var eventNames = [...]string{
	WriteMarkers: "write-markers", NeedProducerID: "need-producer-id", Fenced: "fenced",
	TimedOut: "timed-out", Expired: "expired", EventsLost: "events-lost",
}

// String returns the kind's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && k > 0 {
		return eventNames[k]
	}
	return "unknown"
}
