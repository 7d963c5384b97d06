package txn

import "rota/internal/schema"

// State is where a transactional id stands. Its String is the name that
// Kafka's tools show.
type State = schema.TransactionState

const (
	// Empty: no transaction since the producer took the id over.
	Empty = schema.TransactionEmpty
	// Ongoing: a transaction is open. Its timeout runs.
	Ongoing = schema.TransactionOngoing
	// PrepareCommit: the transaction is committed; markers are being written.
	// Requests that would begin the next one wait.
	PrepareCommit = schema.TransactionPrepareCommit
	// PrepareAbort: the same for an aborted one.
	PrepareAbort = schema.TransactionPrepareAbort
	// CompleteCommit: every marker of the last transaction is written.
	CompleteCommit = schema.TransactionCompleteCommit
	// CompleteAbort: the same for an aborted one.
	CompleteAbort = schema.TransactionCompleteAbort
)

// ending reports whether markers are being written.
func ending(s State) bool { return s == PrepareCommit || s == PrepareAbort }

// idle reports whether no transaction is open or ending.
func idle(s State) bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }
