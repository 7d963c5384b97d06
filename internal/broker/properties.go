package broker

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a setting's value, as DescribeConfigs names it.
type Kind uint8

const (
	Bool   Kind = iota + 1 // true or false
	Int                    // 32 bits
	Long                   // 64 bits
	String                 // one word, out of Values if there are any
	List                   // words separated by commas, out of Values
	Double
)

// Property describes one broker setting.
type Property struct {
	// Name is Kafka's name, or Rota's own where Kafka has no such setting.
	Name string
	Kind Kind
	// Default is the value that holds when nobody set one; "" means none: the
	// setting's alternatives hold (log.retention.ms and log.retention.hours).
	Default string
	// Min and Max bound a number.
	Min, Max int64
	// Values are the words that a String or List may have; nil: any.
	Values []string
	// Dynamic settings can be changed while the broker runs; the others only
	// at its start.
	Dynamic bool
	// Topic is the topic setting whose default this setting is.
	Topic string
	// Doc says what the setting does.
	Doc string
}

const (
	anyInt  = math.MaxInt32
	anyLong = math.MaxInt64
	// maxPartitions bounds the partitions of one topic, and those that one
	// request may create.
	maxPartitions = 10_000
)

// properties lists every broker setting, by name.
var properties = []Property{
	{Name: "auto.create.topics.enable", Kind: Bool, Default: "true",
		Doc: "Whether a Metadata request may create the topics that it names and that do not exist."},
	{Name: "compression.type", Kind: String, Default: "producer", Dynamic: true, Topic: "compression.type",
		Values: []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"},
		Doc:    "How batches are compressed in the log. producer keeps what was sent."},
	{Name: "connections.max.idle.ms", Kind: Long, Default: "600000", Min: -1, Max: anyLong,
		Doc: "A connection without requests for this long is closed. -1: never."},
	{Name: "default.replication.factor", Kind: Int, Default: "1", Min: 1, Max: math.MaxInt16,
		Doc: "The replication factor of topics that are created without one. One replica is kept and reported whatever the factor: durability comes from the medium."},
	{Name: "delete.topic.enable", Kind: Bool, Default: "true",
		Doc: "Whether DeleteTopics deletes topics or refuses to."},
	{Name: "disk.reserve.bytes", Kind: Long, Default: "268435456", Min: 0, Max: anyLong,
		Doc: "Rota: free space below which producers are refused."},
	{Name: "disk.reserve.internal.bytes", Kind: Long, Default: "67108864", Min: 0, Max: anyLong,
		Doc: "Rota: free space below which internal topics are refused too."},
	{Name: "durability", Kind: String, Default: "fsync", Values: []string{"fsync", "interval", "never"},
		Doc: "Rota: fsync answers an append when it is on disk. interval and never answer when the operating system has it; interval syncs every durability.interval.ms, never leaves that to the operating system."},
	{Name: "durability.interval.ms", Kind: Int, Default: "1000", Min: 1, Max: anyInt,
		Doc: "Rota: the pause between syncs with durability=interval."},
	{Name: "fetch.max.bytes", Kind: Int, Default: "57671680", Min: 1024, Max: anyInt,
		Doc: "The largest answer to a Fetch, unless a single batch is larger."},
	{Name: "group.initial.rebalance.delay.ms", Kind: Int, Default: "250", Min: 0, Max: anyInt, Dynamic: true,
		Doc: "How long the first rebalance of an empty group waits for more members."},
	{Name: "group.max.session.timeout.ms", Kind: Int, Default: "1800000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The largest session timeout that a member may ask for."},
	{Name: "group.max.size", Kind: Int, Default: "2147483647", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The largest number of members of a group."},
	{Name: "group.min.session.timeout.ms", Kind: Int, Default: "6000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The smallest session timeout that a member may ask for."},
	{Name: "journal.max.bytes", Kind: Long, Default: "268435456", Min: 1 << 20, Max: anyLong,
		Doc: "Rota: the size that the journal is kept below by moving its content to segments."},
	{Name: "log.cleanup.policy", Kind: List, Default: "delete", Values: []string{"delete", "compact"}, Dynamic: true, Topic: "cleanup.policy",
		Doc: "What happens to old records: delete drops them by age and size, compact keeps the last one of each key."},
	{Name: "log.message.timestamp.after.max.ms", Kind: Long, Default: "3600000", Min: 0, Max: anyLong, Dynamic: true, Topic: "message.timestamp.after.max.ms",
		Doc: "How far a record's timestamp may lie ahead of the broker's clock."},
	{Name: "log.message.timestamp.before.max.ms", Kind: Long, Default: "9223372036854775807", Min: 0, Max: anyLong, Dynamic: true, Topic: "message.timestamp.before.max.ms",
		Doc: "How far a record's timestamp may lie behind the broker's clock."},
	{Name: "log.message.timestamp.type", Kind: String, Default: "CreateTime", Values: []string{"CreateTime", "LogAppendTime"}, Dynamic: true, Topic: "message.timestamp.type",
		Doc: "Whether a record keeps the timestamp its producer gave it or gets the time of its append."},
	{Name: "log.retention.bytes", Kind: Long, Default: "-1", Min: -1, Max: anyLong, Dynamic: true, Topic: "retention.bytes",
		Doc: "The size that each partition is kept below by deleting its oldest segments. -1: no limit."},
	{Name: "log.retention.check.interval.ms", Kind: Long, Default: "300000", Min: 1, Max: anyLong,
		Doc: "The pause between two looks for segments that may be deleted."},
	{Name: "log.retention.hours", Kind: Int, Default: "168", Min: -1, Max: anyInt,
		Doc: "How long records are kept, if neither log.retention.ms nor log.retention.minutes is set. -1: for ever."},
	{Name: "log.retention.minutes", Kind: Int, Min: -1, Max: anyInt,
		Doc: "How long records are kept, if log.retention.ms is not set. -1: for ever."},
	{Name: "log.retention.ms", Kind: Long, Min: -1, Max: anyLong, Dynamic: true, Topic: "retention.ms",
		Doc: "How long records are kept. -1: for ever."},
	{Name: "log.roll.hours", Kind: Int, Default: "168", Min: 1, Max: anyInt,
		Doc: "The age at which a segment is closed, if log.roll.ms is not set."},
	{Name: "log.roll.ms", Kind: Long, Min: 1, Max: anyLong, Dynamic: true, Topic: "segment.ms",
		Doc: "The age at which a segment is closed and a new one begun."},
	{Name: "log.segment.bytes", Kind: Int, Default: "1073741824", Min: 14, Max: anyInt, Dynamic: true, Topic: "segment.bytes",
		Doc: "The size at which a segment is closed and a new one begun."},
	{Name: "max.incremental.fetch.session.cache.slots", Kind: Int, Default: "1000", Min: 0, Max: anyInt,
		Doc: "The number of fetch sessions that are kept. 0: none."},
	{Name: "message.max.bytes", Kind: Int, Default: "1048588", Min: 0, Max: anyInt, Dynamic: true, Topic: "max.message.bytes",
		Doc: "The largest record batch that a producer may send."},
	{Name: "min.insync.replicas", Kind: Int, Default: "1", Min: 1, Max: anyInt, Dynamic: true, Topic: "min.insync.replicas",
		Doc: "Kept and reported, without effect: the one replica is always in sync."},
	{Name: "node.id", Kind: Int, Default: "1", Min: 0, Max: anyInt,
		Doc: "The id under which clients know this broker."},
	{Name: "num.partitions", Kind: Int, Default: "1", Min: 1, Max: maxPartitions,
		Doc: "The number of partitions of topics that are created without one."},
	{Name: "offset.metadata.max.bytes", Kind: Int, Default: "4096", Min: 0, Max: anyInt, Dynamic: true,
		Doc: "The largest text that may be committed along with an offset, in UTF-16 units."},
	{Name: "offsets.retention.check.interval.ms", Kind: Long, Default: "600000", Min: 1, Max: anyLong, Dynamic: true,
		Doc: "The pause between two looks for offsets and groups that have expired."},
	{Name: "offsets.retention.minutes", Kind: Int, Default: "10080", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "How long the offsets of a group are kept after it became empty, or after their commit if it never had members."},
	{Name: "offsets.topic.num.partitions", Kind: Int, Default: "50", Min: 1, Max: maxPartitions,
		Doc: "The number of partitions of __consumer_offsets. It takes effect when the topic is created, and never again."},
	{Name: "producer.id.expiration.ms", Kind: Int, Default: "86400000", Min: 1, Max: anyInt,
		Doc: "How long the sequence numbers of a producer are remembered after its last batch."},
	{Name: "replication.check", Kind: Bool, Default: "false",
		Doc: "Rota: whether a replication factor above the number of brokers is refused, as Kafka does."},
	{Name: "socket.request.max.bytes", Kind: Int, Default: "104857600", Min: 1024, Max: anyInt,
		Doc: "The largest request. A connection that announces a larger one is closed."},
	{Name: "tail.max.bytes", Kind: Long, Default: "67108864", Min: 1 << 20, Max: anyLong,
		Doc: "Rota: how many bytes of fresh batches are kept in memory for consumers that keep up."},
	{Name: "unclean.leader.election.enable", Kind: Bool, Default: "false", Dynamic: true, Topic: "unclean.leader.election.enable",
		Doc: "Kept and reported, without effect: there is no replica that could be behind."},
}

// Properties lists every broker setting, by name.
func Properties() []Property { return slices.Clone(properties) }

// PropertyNamed finds the broker setting of that name.
func PropertyNamed(name string) (Property, bool) {
	i, ok := slices.BinarySearchFunc(properties, name, func(p Property, name string) int {
		return strings.Compare(p.Name, name)
	})
	if !ok {
		return Property{}, false
	}
	return properties[i], true
}

// Check says what is wrong with value as a value of p, in a plain sentence.
func (p Property) Check(value string) error {
	switch p.Kind {
	case Bool:
		if value != "true" && value != "false" {
			return fmt.Errorf("%s is true or false, not %q", p.Name, value)
		}
	case Int, Long:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%s is a whole number, not %q", p.Name, value)
		}
		if n < p.Min || n > p.Max {
			return fmt.Errorf("%s lies between %d and %d; %s does not", p.Name, p.Min, p.Max, value)
		}
	case String:
		if p.Values != nil && !slices.Contains(p.Values, value) {
			return fmt.Errorf("%s is one of %s, not %q", p.Name, strings.Join(p.Values, ", "), value)
		}
	case List:
		for word := range strings.SplitSeq(value, ",") {
			if !slices.Contains(p.Values, strings.TrimSpace(word)) {
				return fmt.Errorf("%s takes %s, separated by commas, not %q", p.Name, strings.Join(p.Values, " and "), value)
			}
		}
	}
	return nil
}
