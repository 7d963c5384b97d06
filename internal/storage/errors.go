package storage

import (
	"errors"
	"fmt"
)

var (
	// ErrOffsetOutOfRange: the offset lies before the log start or after the
	// end that the reader may see.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrFlushFailed: the append was not made durable and has been taken back.
	ErrFlushFailed = errors.New("flush failed")
	// ErrFull: the medium has less free space than appends of this kind need.
	ErrFull = errors.New("not enough free space")
	// ErrFenced: the writer's leader epoch is no longer the log's.
	ErrFenced = errors.New("writer is fenced by a newer leader epoch")
	// ErrClosed: the store, or the partition, is closed or removed.
	ErrClosed = errors.New("log is closed")
	// ErrTooLarge: the batch is larger than max.message.bytes.
	ErrTooLarge = errors.New("batch is too large")
	// ErrOutOfOrderSequence: a gap in a producer's sequence, or a duplicate
	// too old to be known.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: the producer epoch is older than the last one.
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")
	// ErrInvalidTimestamp: a record timestamp lies outside the topic's bounds.
	ErrInvalidTimestamp = errors.New("invalid timestamp")
	// ErrNotVerified: a transactional batch whose transaction is not open in
	// this log, without a good Guard (INVALID_TXN_STATE).
	ErrNotVerified = errors.New("transaction is not verified")
	// ErrTransactionOpen: a batch that is not transactional from a producer
	// with an open transaction (INVALID_TXN_STATE).
	ErrTransactionOpen = errors.New("producer has an open transaction")
	// ErrCoordinatorFenced: a marker of an older epoch of the transaction
	// coordinator (TRANSACTION_COORDINATOR_FENCED).
	ErrCoordinatorFenced = errors.New("transaction coordinator is fenced")
)

// CorruptError names damaged bytes. What it covers is not served.
type CorruptError struct {
	File   string // relative to the medium's root
	Offset int64  // byte position in the file
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", e.File, e.Offset, e.Reason)
}
