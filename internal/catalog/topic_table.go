package catalog

import (
	"math"
	"strings"
	"time"
)

const (
	anyInt  = math.MaxInt32
	anyLong = math.MaxInt64
	// smallestSegment was Kafka's bound up to 4.0; later ones ask for 1 MiB.
	smallestSegment = 14
)

func same(name string) []Synonym { return []Synonym{{Name: name}} }

// topicKeys lists every topic setting of Kafka 4.4, by name.
var topicKeys = []TopicKey{
	{
		Name: "cleanup.policy", Kind: KindList, Default: "delete", Values: []string{"compact", "delete"}, Synonyms: same("log.cleanup.policy"),
		Doc: "What happens to old records: `delete` drops them by age and size, `compact` keeps the last one of each key and refuses records without key, both do both, and empty keeps everything.",
	},
	{
		Name: "compression.gzip.level", Kind: KindInt, Default: "-1", Min: 1, Max: 9, Also: -1, Synonyms: same("compression.gzip.level"),
		Doc: "The level at which the broker compresses with gzip, if `compression.type` asks it to.",
	},
	{
		Name: "compression.lz4.level", Kind: KindInt, Default: "9", Min: 1, Max: 17, Synonyms: same("compression.lz4.level"),
		Doc: "The level at which the broker compresses with lz4, if `compression.type` asks it to.",
	},
	{
		Name: "compression.type", Kind: KindString, Default: "producer", Values: []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}, Synonyms: same("compression.type"),
		Doc: "How batches are compressed in the log. `producer` keeps what was sent.",
	},
	{
		Name: "compression.zstd.level", Kind: KindInt, Default: "3", Min: -131072, Max: 22, Synonyms: same("compression.zstd.level"),
		Doc: "The level at which the broker compresses with zstd, if `compression.type` asks it to.",
	},
	{
		Name: "delete.retention.ms", Kind: KindLong, Default: "86400000", Min: 0, Max: anyLong, Synonyms: same("log.cleaner.delete.retention.ms"),
		Doc: "How long compaction keeps a tombstone after the first pass that has seen it.",
	},
	{
		Name: "file.delete.delay.ms", Kind: KindLong, Default: "60000", Min: 0, Max: anyLong, Effect: Fixed, Synonyms: same("log.segment.delete.delay.ms"),
		Doc: "Segments are deleted as soon as nobody can read them.",
	},
	{
		Name: "flush.messages", Kind: KindLong, Default: "9223372036854775807", Min: 1, Max: anyLong, Synonyms: same("log.flush.interval.messages"),
		Doc: "The largest number of records between two syncs. Every append is synced before it is answered (see `durability`), which satisfies any value.",
	},
	{
		Name: "flush.ms", Kind: KindLong, Default: "9223372036854775807", Min: 0, Max: anyLong, Synonyms: same("log.flush.interval.ms"),
		Doc: "The longest time between two syncs. Every append is synced before it is answered (see `durability`), which satisfies any value.",
	},
	{
		Name: "follower.replication.throttled.replicas", Kind: KindList, Default: "", Effect: Kept, check: throttledReplicas,
		Doc: "Replicas whose following is throttled: `partition:broker` pairs, or `*`.",
	},
	{
		Name: "index.interval.bytes", Kind: KindInt, Default: "4096", Min: 0, Max: anyInt, Effect: Fixed, Synonyms: same("log.index.interval.bytes"),
		Doc: "The index has its own spacing.",
	},
	{
		Name: "leader.replication.throttled.replicas", Kind: KindList, Default: "", Effect: Kept, check: throttledReplicas,
		Doc: "Replicas whose leading is throttled: `partition:broker` pairs, or `*`.",
	},
	{
		Name: "local.retention.bytes", Kind: KindLong, Default: "-2", Min: -2, Max: anyLong, Effect: Fixed, Synonyms: same("log.local.retention.bytes"),
		Doc: "There is no tiered storage.",
	},
	{
		Name: "local.retention.ms", Kind: KindLong, Default: "-2", Min: -2, Max: anyLong, Effect: Fixed, Synonyms: same("log.local.retention.ms"),
		Doc: "There is no tiered storage.",
	},
	{
		Name: "max.compaction.lag.ms", Kind: KindLong, Default: "9223372036854775807", Min: 1, Max: anyLong, Synonyms: same("log.cleaner.max.compaction.lag.ms"),
		Doc: "The age of a segment, from its first record on, at which it is closed and compacted whatever `min.cleanable.dirty.ratio` says.",
	},
	{
		Name: "max.message.bytes", Kind: KindInt, Default: "1048588", Min: 0, Max: anyInt, Synonyms: same("message.max.bytes"),
		Doc: "The largest record batch that a producer may send, compressed.",
	},
	{
		Name: "message.timestamp.after.max.ms", Kind: KindLong, Default: "3600000", Min: 0, Max: anyLong, Synonyms: same("log.message.timestamp.after.max.ms"),
		Doc: "How far a record's timestamp may lie ahead of the broker's clock. Without effect with LogAppendTime.",
	},
	{
		Name: "message.timestamp.before.max.ms", Kind: KindLong, Default: "9223372036854775807", Min: 0, Max: anyLong, Synonyms: same("log.message.timestamp.before.max.ms"),
		Doc: "How far a record's timestamp may lie behind the broker's clock. Without effect with LogAppendTime.",
	},
	{
		Name: "message.timestamp.type", Kind: KindString, Default: "CreateTime", Values: []string{"CreateTime", "LogAppendTime"}, Synonyms: same("log.message.timestamp.type"),
		Doc: "Whether a record keeps the timestamp its producer gave it or gets the time of its append.",
	},
	{
		Name: "min.cleanable.dirty.ratio", Kind: KindDouble, Default: "0.5", Synonyms: same("log.cleaner.min.cleanable.ratio"),
		Doc: "The share of a log that must not have been compacted yet before it is compacted, from 0 to 1.",
	},
	{
		Name: "min.compaction.lag.ms", Kind: KindLong, Default: "0", Min: 0, Max: anyLong, Synonyms: same("log.cleaner.min.compaction.lag.ms"),
		Doc: "The age that a record must have before it is compacted.",
	},
	{
		Name: "min.insync.replicas", Kind: KindInt, Default: "1", Min: 1, Max: anyInt, Effect: Kept, Synonyms: same("min.insync.replicas"),
		Doc: "The number of replicas that must have a record before it is acknowledged.",
	},
	{
		Name: "preallocate", Kind: KindBool, Default: "false", Effect: Fixed, Synonyms: same("log.preallocate"),
		Doc: "Segments grow as they are written.",
	},
	{
		Name: "remote.copy.lag.bytes", Kind: KindLong, Default: "0", Min: -1, Max: anyLong, Effect: Fixed,
		Doc: "There is no tiered storage.",
	},
	{
		Name: "remote.copy.lag.ms", Kind: KindLong, Default: "0", Min: -1, Max: anyLong, Effect: Fixed,
		Doc: "There is no tiered storage.",
	},
	{
		Name: "remote.log.copy.disable", Kind: KindBool, Default: "false", Effect: Fixed,
		Doc: "There is no tiered storage.",
	},
	{
		Name: "remote.log.delete.on.disable", Kind: KindBool, Default: "false", Effect: Fixed,
		Doc: "There is no tiered storage.",
	},
	{
		Name: "remote.storage.enable", Kind: KindBool, Default: "false", Effect: Fixed,
		Doc: "There is no tiered storage.",
	},
	{
		Name: "retention.bytes", Kind: KindLong, Default: "-1", Min: math.MinInt64, Max: anyLong, Synonyms: same("log.retention.bytes"),
		Doc: "The size that each partition is kept below by deleting its oldest segments. Negative: no limit.",
	},
	{
		Name: "retention.ms", Kind: KindLong, Default: "604800000", Min: -1, Max: anyLong, Synonyms: []Synonym{{Name: "log.retention.ms"}, {"log.retention.minutes", time.Minute}, {"log.retention.hours", time.Hour}},
		Doc: "How long records are kept. -1: for ever.",
	},
	{
		Name: "segment.bytes", Kind: KindInt, Default: "1073741824", Min: smallestSegment, Max: anyInt, Synonyms: same("log.segment.bytes"),
		Doc: "The size at which a segment is closed and a new one begun.",
	},
	{
		Name: "segment.index.bytes", Kind: KindInt, Default: "10485760", Min: 4, Max: anyInt, Effect: Fixed, Synonyms: same("log.index.size.max.bytes"),
		Doc: "The index grows with its segment.",
	},
	{
		Name: "segment.jitter.ms", Kind: KindLong, Default: "0", Min: 0, Max: anyLong, Effect: Fixed, Synonyms: []Synonym{{Name: "log.roll.jitter.ms"}, {"log.roll.jitter.hours", time.Hour}},
		Doc: "Segments are closed at their age exactly.",
	},
	{
		Name: "segment.ms", Kind: KindLong, Default: "604800000", Min: 1, Max: anyLong, Synonyms: []Synonym{{Name: "log.roll.ms"}, {"log.roll.hours", time.Hour}},
		Doc: "The age at which a segment is closed and a new one begun.",
	},
	{
		Name: "unclean.leader.election.enable", Kind: KindBool, Default: "false", Effect: Kept, Synonyms: same("unclean.leader.election.enable"),
		Doc: "Whether a replica that lacks records may become the leader.",
	},
}

// throttledReplicas accepts "*" and pairs of partition and broker.
func throttledReplicas(value string) bool {
	if value == "" || value == "*" {
		return true
	}
	for pair := range strings.SplitSeq(value, ",") {
		partition, broker, ok := strings.Cut(strings.TrimSpace(pair), ":")
		if !ok || !digits(partition) || !digits(broker) {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
