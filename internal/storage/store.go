package storage

import (
	"context"
	"log/slog"
	"time"
)

// Config says how a Store behaves. The zero value is usable.
type Config struct {
	// Now is the wall clock, for retention, timestamps and expiry. Default time.Now.
	Now func() time.Time
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
	// FlushLimit bounds one flush, in bytes, unless a single batch is larger.
	// Default 4 MiB.
	FlushLimit int
	// InternalFlushLimit bounds a flush that carries, or starts while there
	// waits, an append to an internal log. Default 1 MiB.
	InternalFlushLimit int
	// TailLimit bounds the batches kept in memory, in bytes. Default 64 MiB.
	TailLimit int64
	// TailAge is the age at which a partition's batches are moved to segments
	// although the tail has room. Default 10 s.
	TailAge time.Duration
	// JournalLimit bounds the journal, in bytes. Default 256 MiB.
	JournalLimit int64
	// Reserve is the free space below which clients' appends are refused, and
	// InternalReserve that below which all are. Defaults 256 MiB and 64 MiB.
	Reserve, InternalReserve int64
	// RetentionInterval is the pause between retention passes. Default 5 min.
	RetentionInterval time.Duration
	// ProducerExpiry is how long the state of an idle producer is kept.
	// Default 24 h (producer.id.expiration.ms).
	ProducerExpiry time.Duration
}

// LogConfig is what a topic's configuration means for its logs.
type LogConfig struct {
	MaxMessageBytes int           // default 1048588
	SegmentBytes    int64         // default 1 GiB
	SegmentAge      time.Duration // segment.ms, default 7 days
	RetentionBytes  int64         // -1 = unbounded
	RetentionAge    time.Duration // -1 = unbounded
	Delete          bool          // cleanup.policy has delete
	Compact         bool          // cleanup.policy has compact: records need keys
	LogAppendTime   bool          // message.timestamp.type
	TimestampBefore time.Duration // message.timestamp.before.max.ms, <0 = unbounded
	TimestampAfter  time.Duration // message.timestamp.after.max.ms, <0 = unbounded
	// Compression is the codec that batches are stored with (0 none, 1 gzip,
	// 2 snappy, 3 lz4, 4 zstd), or -1 to keep the producer's.
	Compression int8
	// Internal logs go first in a flush, may use the reserve of a full disk
	// and take batches up to MaxMessageBytes = 16 MiB.
	Internal bool
}

// Store keeps the partition logs of one broker.
type Store struct{}

// Open recovers what the medium holds and starts the store. The leader epoch
// counter has been raised, durably, when it returns.
func Open(ctx context.Context, m Medium, c Config) (*Store, error) { panic("not built") }

// Close makes what was appended durable, ends every wait with ErrClosed and
// closes the medium.
func (s *Store) Close(ctx context.Context) error { panic("not built") }

// Report is what recovery found at Open.
func (s *Store) Report() Report { panic("not built") }

// Epoch is the newest number of the leader epoch counter.
func (s *Store) Epoch() int32 { panic("not built") }

// NextEpoch takes the next number of the leader epoch counter. It is durable
// when NextEpoch returns.
func (s *Store) NextEpoch() (int32, error) { panic("not built") }

// Create returns the log of p, which is made if the store has none yet.
func (s *Store) Create(p Partition, c LogConfig) (*Log, error) { panic("not built") }

// Log returns the log of p if there is one.
func (s *Store) Log(p Partition) (*Log, bool) { panic("not built") }

// Partitions lists the logs the store holds, in no order.
func (s *Store) Partitions() []Partition { panic("not built") }

// Remove ends the log of p, durably, and deletes its bytes. Parked reads and
// appends get ErrClosed.
func (s *Store) Remove(p Partition) error { panic("not built") }

// Pressed reports whether the tail is over its limit: connections whose next
// request is a Produce are then not read until the returned channel is closed.
// The channel is nil when there is no pressure.
func (s *Store) Pressed() <-chan struct{} { panic("not built") }

// Failed returns a channel that is closed when the store can no longer serve
// (a failed interval sync, say); Err says why.
func (s *Store) Failed() <-chan struct{} { panic("not built") }
func (s *Store) Err() error              { panic("not built") }

// Settle moves everything in the tail to segments and trims the journal. The
// store does so by itself; this is for Close, tools and tests.
func (s *Store) Settle(ctx context.Context) error { panic("not built") }

// Retain runs one retention pass.
func (s *Store) Retain() error { panic("not built") }
