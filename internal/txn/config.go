package txn

import (
	"time"
)

// Config is what the rules need to know of the broker's settings.
type Config struct {
	MaxTimeout   time.Duration // transaction.max.timeout.ms, 15 min
	IDExpiration time.Duration // transactional.id.expiration.ms, 7 days
	// AbortInterval is how often transactions that are open for too long are
	// looked for: transaction.abort.timed.out.transaction.cleanup.interval.ms.
	// 1 s is Rota's default, Kafka's is 10 s.
	AbortInterval time.Duration
	// Wait is how long a request may wait for markers before it is answered
	// with CONCURRENT_TRANSACTIONS: add.partitions.to.txn.retry.backoff.max.ms.
	// 5 s is Rota's default, Kafka's is 100 ms: clients that are sent away come
	// back seconds after the markers are written, those that wait at once. With 0
	// nothing waits.
	Wait time.Duration
	// Version is the finalized level of the feature transaction.version: that of
	// aborts that no client has asked for, and of the records. 2.
	Version        int16
	TwoPhaseCommit bool // transaction.two.phase.commit.enable, false
	MaxRecordBytes int  // largest record with its batch, 16 MiB

	// CheckInvariants makes every call end with a search for broken invariants,
	// and a panic that names them. For tests and simulations.
	CheckInvariants bool
}

// DefaultConfig returns Kafka's defaults, but for AbortInterval and Wait.
func DefaultConfig() Config {
	return Config{
		MaxTimeout:     15 * time.Minute,
		IDExpiration:   7 * 24 * time.Hour,
		AbortInterval:  time.Second,
		Wait:           5 * time.Second,
		Version:        Version2,
		MaxRecordBytes: 16 << 20,
	}
}
