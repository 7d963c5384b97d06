package storage

// Guard is the permission to begin a producer's transaction in a log, once the
// transaction coordinator has said that this log is part of one. The zero Guard
// is none. See Log.Verification.
type Guard struct{ number uint64 }

// Verification tells what a transactional batch of a producer needs before
// AppendVerified takes it. needed is false if that is nothing: a transaction of
// this producer and epoch is open here, or a batch with this base sequence is
// here already. Otherwise the transaction coordinator must be asked whether
// the log is part of the producer's transaction; its yes makes the Guard good.
// A marker of the producer that is appended in between makes it void, so no
// batch lands behind the marker of its transaction (KIP-890). Errors:
// ErrInvalidProducerEpoch, ErrFlushFailed, ErrClosed, a *CorruptError.
func (l *Log) Verification(producerID int64, epoch int16, baseSequence int32) (g Guard, needed bool, err error) {
	return Guard{}, false, ErrNotVerified
}

// AppendVerified is Append for batches of which some may be transactional.
// Such a one begins its producer's transaction in this log, with a good Guard,
// or belongs to the one that is open. Errors beside those of Append:
// ErrNotVerified, and ErrTransactionOpen for a batch that is not transactional.
func (l *Log) AppendVerified(batch []byte, g Guard, ack Ack, done func(Appended)) {
	done(refused(ErrNotVerified))
}

// Marker ends a producer's transaction in a log.
type Marker struct {
	ProducerID    int64
	ProducerEpoch int16
	// CoordinatorEpoch is the transaction coordinator's; it never falls.
	CoordinatorEpoch int32
	Commit           bool // else abort
}

// AppendMarker ends a transaction. done is called once, as Append's is, when
// the marker is durable. One without an open transaction is appended too.
// Errors: ErrCoordinatorFenced, ErrInvalidProducerEpoch (the marker's is older
// than the one known), ErrFull, ErrFlushFailed, ErrClosed, a *CorruptError.
func (l *Log) AppendMarker(m Marker, done func(error)) { done(ErrClosed) }

// OpenTransaction is one whose marker has not been appended.
type OpenTransaction struct {
	ProducerID  int64
	Epoch       int16
	FirstOffset int64
	StartedAt   int64 // wall clock of its first append here, milliseconds
}

// OpenTransactions lists the open transactions by first offset.
func (l *Log) OpenTransactions() []OpenTransaction { return nil }
