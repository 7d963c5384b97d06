package storage

import (
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
	// InternalReserve that below which all are. Defaults 256 MiB and 64 MiB;
	// negative: no reserve.
	Reserve, InternalReserve int64
	// RetentionInterval is the pause between retention passes. Default 5 min.
	RetentionInterval time.Duration
	// ProducerExpiry is how long the state of an idle producer is kept.
	// Default 24 h (producer.id.expiration.ms).
	ProducerExpiry time.Duration
	// CleanInterval is the pause between two looks for logs to compact
	// (log.cleaner.backoff.ms). Default 15 s. Negative: only Clean compacts
	// (log.cleaner.enable).
	CleanInterval time.Duration
	// CleanMemory bounds the table of keys of a compaction pass, in bytes
	// (log.cleaner.dedupe.buffer.size). Default 16 MiB, which holds 600,000
	// keys; a log with more takes several passes.
	CleanMemory int
	// CleanRate bounds what compaction reads and writes, in bytes a second
	// (log.cleaner.io.max.bytes.per.second). 0: it rests
	// three times as long as it works, and 10 ms for each MiB at least.
	CleanRate int64
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.FlushLimit, 4<<20)
	setDefault(&c.InternalFlushLimit, 1<<20)
	setDefault(&c.TailLimit, 64<<20)
	setDefault(&c.TailAge, 10*time.Second)
	setDefault(&c.JournalLimit, 256<<20)
	setDefault(&c.Reserve, 256<<20)
	setDefault(&c.InternalReserve, 64<<20)
	setDefault(&c.RetentionInterval, 5*time.Minute)
	setDefault(&c.ProducerExpiry, 24*time.Hour)
	setDefault(&c.CleanInterval, 15*time.Second)
	setDefault(&c.CleanMemory, 16<<20)
	return c
}

// LogConfig is what a topic's configuration means for its logs. MaxMessageBytes,
// SegmentBytes and SegmentAge have defaults; all other zero values mean zero.
type LogConfig struct {
	MaxMessageBytes int           // default 1048588
	SegmentBytes    int64         // default 1 GiB
	SegmentAge      time.Duration // segment.ms, default 7 days
	RetentionBytes  int64         // -1 = unbounded
	RetentionAge    time.Duration // -1 = unbounded
	Delete          bool          // cleanup.policy has delete
	Compact         bool          // cleanup.policy has compact: records need keys
	// Of compaction: how long a tombstone stays after it was compacted first
	// (delete.retention.ms), the age that a record must have and the one at
	// which it is compacted in any case (0: none), and the share of the log
	// that must be new (min.cleanable.dirty.ratio).
	DeleteRetention  time.Duration
	MinCompactionLag time.Duration
	MaxCompactionLag time.Duration
	DirtyRatio       float64
	LogAppendTime    bool          // message.timestamp.type
	TimestampBefore  time.Duration // message.timestamp.before.max.ms, <=0 = unbounded
	TimestampAfter   time.Duration // message.timestamp.after.max.ms, <=0 = unbounded
	// Compression is the codec that batches are stored with (0 none, 1 gzip,
	// 2 snappy, 3 lz4, 4 zstd), or -1 to keep the producer's.
	Compression int8
	// CompressionLevel is the level that batches are compressed at, by the
	// codec's own count; 0 is its default.
	CompressionLevel int
	// Internal logs go first in a flush, may use the reserve of a full disk
	// and take batches up to MaxMessageBytes = 16 MiB.
	Internal bool
}

func (c LogConfig) withDefaults() LogConfig {
	if c.Internal {
		setDefault(&c.MaxMessageBytes, 16<<20)
	}
	setDefault(&c.MaxMessageBytes, 1048588)
	setDefault(&c.SegmentBytes, 1<<30)
	setDefault(&c.SegmentAge, 7*24*time.Hour)
	return c
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
