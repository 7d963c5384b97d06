package broker

import (
	"math"
	"slices"
	"strings"

	"rota/internal/catalog"
)

// Property describes one broker setting.
type Property struct {
	// Name is Kafka's name, or Rota's own where Kafka has no such setting.
	Name string
	Kind catalog.Kind
	// Default is the value that holds when nobody set one; "" means none: the
	// setting's alternatives hold (log.retention.ms and log.retention.hours).
	Default string
	// Min and Max bound a number; Also is one beyond them that is allowed too,
	// if it is not 0.
	Min, Max, Also int64
	// Values are the words that a String or List may have.
	Values []string
	// Dynamic settings can be changed while the broker runs; the others only
	// at its start.
	Dynamic bool
	// Doc says what the setting does.
	Doc string
}

const (
	anyInt  = math.MaxInt32
	anyLong = math.MaxInt64
)

// MaxPartitions bounds the partitions of one topic, and those that one request
// may make.
const MaxPartitions = 10_000

// properties lists every broker setting, by name.
var properties = allProperties()

// ownProperties are the settings that are more than the default of a topic
// setting.
var ownProperties = []Property{
	{
		Name: "add.partitions.to.txn.retry.backoff.max.ms", Kind: catalog.KindInt, Default: "5000", Min: 0, Max: anyInt, Dynamic: true,
		Doc: "How long a request of a transactional producer waits at most for the end of the transaction before, until it is answered with CONCURRENT_TRANSACTIONS. It goes on as soon as that has ended. Kafka's default is 100.",
	},
	{
		Name: "auto.create.topics.enable", Kind: catalog.KindBool, Default: "true",
		Doc: "Whether a Metadata request may create the topics that it names and that do not exist.",
	},
	{
		Name: "connections.max.idle.ms", Kind: catalog.KindLong, Default: "600000", Min: -1, Max: anyLong,
		Doc: "A connection without requests for this long is closed. -1: never.",
	},
	{
		Name: "default.replication.factor", Kind: catalog.KindInt, Default: "1", Min: 1, Max: math.MaxInt16,
		Doc: "The replication factor of topics that are created without one. One replica is kept and reported whatever the factor: durability comes from the medium.",
	},
	{
		Name: "delete.topic.enable", Kind: catalog.KindBool, Default: "true",
		Doc: "Whether DeleteTopics deletes topics or refuses to.",
	},
	{
		Name: "disk.reserve.bytes", Kind: catalog.KindLong, Default: "268435456", Min: 0, Max: anyLong,
		Doc: "Rota: free space below which producers are refused.",
	},
	{
		Name: "disk.reserve.internal.bytes", Kind: catalog.KindLong, Default: "67108864", Min: 0, Max: anyLong,
		Doc: "Rota: free space below which internal topics are refused too.",
	},
	{
		Name: "durability", Kind: catalog.KindString, Default: "fsync", Values: []string{"fsync", "interval", "never"},
		Doc: "Rota: fsync answers an append when it is on disk. interval and never answer when the operating system has it; interval syncs every durability.interval.ms, never leaves that to the operating system.",
	},
	{
		Name: "durability.interval.ms", Kind: catalog.KindInt, Default: "1000", Min: 1, Max: anyInt,
		Doc: "Rota: the pause between syncs with durability=interval.",
	},
	{
		Name: "fetch.max.bytes", Kind: catalog.KindInt, Default: "57671680", Min: 1024, Max: anyInt,
		Doc: "The largest answer to a Fetch, unless a single batch is larger.",
	},
	{
		Name: "group.initial.rebalance.delay.ms", Kind: catalog.KindInt, Default: "250", Min: 0, Max: anyInt, Dynamic: true,
		Doc: "How long the first rebalance of an empty group waits for more members.",
	},
	{
		Name: "group.max.session.timeout.ms", Kind: catalog.KindInt, Default: "1800000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The largest session timeout that a member may ask for.",
	},
	{
		Name: "group.max.size", Kind: catalog.KindInt, Default: "2147483647", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The largest number of members of a group.",
	},
	{
		Name: "group.min.session.timeout.ms", Kind: catalog.KindInt, Default: "6000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The smallest session timeout that a member may ask for.",
	},
	{
		Name: "journal.max.bytes", Kind: catalog.KindLong, Default: "268435456", Min: 1 << 20, Max: anyLong,
		Doc: "Rota: the size that the journal is kept below by moving its content to segments.",
	},
	{
		Name: "log.cleaner.backoff.ms", Kind: catalog.KindLong, Default: "15000", Min: 1, Max: anyLong,
		Doc: "The pause between two looks for logs to compact.",
	},
	{
		Name: "log.cleaner.dedupe.buffer.size", Kind: catalog.KindLong, Default: "16777216", Min: 1 << 16, Max: 1 << 31,
		Doc: "The memory for the keys of one compaction pass, 27 bytes for each; a log with more new keys takes several passes. It is used during a pass only.",
	},
	{
		Name: "log.cleaner.enable", Kind: catalog.KindBool, Default: "true",
		Doc: "Whether logs with cleanup.policy=compact are compacted.",
	},
	{
		Name: "log.cleaner.io.max.bytes.per.second", Kind: catalog.KindLong, Default: "9223372036854775807", Min: 1, Max: anyLong,
		Doc: "How much compaction reads and writes a second. By default it rests three times as long as it works, and 10 ms for each MiB at least.",
	},
	{
		Name: "log.retention.check.interval.ms", Kind: catalog.KindLong, Default: "300000", Min: 1, Max: anyLong,
		Doc: "The pause between two looks for segments that may be deleted.",
	},
	{
		Name: "log.retention.hours", Kind: catalog.KindInt, Default: "168", Min: -1, Max: anyInt,
		Doc: "How long records are kept, if neither log.retention.ms nor log.retention.minutes is set. -1: for ever.",
	},
	{
		Name: "log.retention.minutes", Kind: catalog.KindInt, Min: -1, Max: anyInt,
		Doc: "How long records are kept, if log.retention.ms is not set. -1: for ever.",
	},
	{
		Name: "log.retention.ms", Kind: catalog.KindLong, Min: -1, Max: anyLong, Dynamic: true,
		Doc: "How long records are kept. -1: for ever.",
	},
	{
		Name: "log.roll.hours", Kind: catalog.KindInt, Default: "168", Min: 1, Max: anyInt,
		Doc: "The age at which a segment is closed, if log.roll.ms is not set.",
	},
	{
		Name: "log.roll.ms", Kind: catalog.KindLong, Min: 1, Max: anyLong, Dynamic: true,
		Doc: "The age at which a segment is closed and a new one begun.",
	},
	{
		Name: "max.connections", Kind: catalog.KindInt, Default: "2147483647", Min: 1, Max: anyInt,
		Doc: "The largest number of connections. One more is closed at once.",
	},
	{
		Name: "max.connections.per.ip", Kind: catalog.KindInt, Default: "2147483647", Min: 1, Max: anyInt,
		Doc: "The largest number of connections from one address. One more is closed at once.",
	},
	{
		Name: "max.incremental.fetch.session.cache.slots", Kind: catalog.KindInt, Default: "1000", Min: 0, Max: anyInt,
		Doc: "The number of fetch sessions that are kept. 0: none.",
	},
	{
		Name: "node.id", Kind: catalog.KindInt, Default: "1", Min: 0, Max: anyInt,
		Doc: "The id under which clients know this broker.",
	},
	{
		Name: "num.partitions", Kind: catalog.KindInt, Default: "1", Min: 1, Max: MaxPartitions,
		Doc: "The number of partitions of topics that are created without one.",
	},
	{
		Name: "offset.metadata.max.bytes", Kind: catalog.KindInt, Default: "4096", Min: 0, Max: anyInt, Dynamic: true,
		Doc: "The largest text that may be committed along with an offset, in UTF-16 units.",
	},
	{
		Name: "offsets.retention.check.interval.ms", Kind: catalog.KindLong, Default: "600000", Min: 1, Max: anyLong, Dynamic: true,
		Doc: "The pause between two looks for offsets and groups that have expired.",
	},
	{
		Name: "offsets.retention.minutes", Kind: catalog.KindInt, Default: "10080", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "How long the offsets of a group are kept after it became empty, or after their commit if it never had members.",
	},
	{
		Name: "offsets.topic.num.partitions", Kind: catalog.KindInt, Default: "50", Min: 1, Max: MaxPartitions,
		Doc: "The number of partitions of __consumer_offsets. It takes effect when the topic is created, and never again.",
	},
	{
		Name: "producer.id.expiration.ms", Kind: catalog.KindInt, Default: "86400000", Min: 1, Max: anyInt,
		Doc: "How long the sequence numbers of a producer are remembered after its last batch.",
	},
	{
		Name: "replication.check", Kind: catalog.KindBool, Default: "false",
		Doc: "Rota: whether a replication factor above the number of brokers is refused, as Kafka does.",
	},
	{
		Name: "rota.history.enable", Kind: catalog.KindBool, Default: "true",
		Doc: "Rota: whether the events of groups are kept in memory and written to the topic __group_events.",
	},
	{
		Name: "rota.history.memory.bytes", Kind: catalog.KindInt, Default: "16777216", Min: 64 << 10, Max: anyInt,
		Doc: "Rota: how much memory the recent events of groups may take, about; one group may have a quarter of it. Older ones are in __group_events alone.",
	},
	{
		Name: "rota.metrics.groups.max", Kind: catalog.KindInt, Default: "1000", Min: 0, Max: anyInt,
		Doc: "Rota: how many groups have metrics of their own on /metrics, the first ones by id. 0: none.",
	},
	{
		Name: "socket.request.max.bytes", Kind: catalog.KindInt, Default: "104857600", Min: 1024, Max: anyInt,
		Doc: "The largest request. A connection that announces a larger one is closed.",
	},
	{
		Name: "tail.max.bytes", Kind: catalog.KindLong, Default: "67108864", Min: 1 << 20, Max: anyLong,
		Doc: "Rota: how many bytes of fresh batches are kept in memory for consumers that keep up.",
	},
	{
		Name: "transaction.abort.timed.out.transaction.cleanup.interval.ms", Kind: catalog.KindInt, Default: "1000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "How often transactions are looked for that are open for longer than their producer allows; they are aborted. Kafka's default is 10000.",
	},
	{
		Name: "transaction.max.timeout.ms", Kind: catalog.KindInt, Default: "900000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The longest transaction.timeout.ms that a producer may ask for.",
	},
	{
		Name: "transaction.partition.verification.enable", Kind: catalog.KindBool, Default: "true", Dynamic: true,
		Doc: "Whether a transactional batch is taken only if its partition has been added to the transaction.",
	},
	{
		Name: "transaction.remove.expired.transaction.cleanup.interval.ms", Kind: catalog.KindInt, Default: "3600000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "The pause between two looks for transactional ids that have expired.",
	},
	{
		Name: "transaction.state.log.num.partitions", Kind: catalog.KindInt, Default: "50", Min: 1, Max: MaxPartitions,
		Doc: "The number of partitions of __transaction_state. It takes effect when the topic is created, with the first transactional producer, and never again.",
	},
	{
		Name: "transaction.two.phase.commit.enable", Kind: catalog.KindBool, Default: "false", Dynamic: true,
		Doc: "Whether a producer may have transactions that never time out, because something outside of Kafka decides on them (KIP-939).",
	},
	{
		Name: "transactional.id.expiration.ms", Kind: catalog.KindInt, Default: "604800000", Min: 1, Max: anyInt, Dynamic: true,
		Doc: "How long a transactional id is remembered after its last transaction.",
	},
}

// allProperties adds those settings that are the default of a topic setting
// and nothing else. Where a topic setting can only have its default there is
// nothing to set.
func allProperties() []Property {
	all := slices.Clone(ownProperties)
	for _, k := range catalog.TopicKeys() {
		for _, s := range k.Synonyms {
			own := slices.ContainsFunc(ownProperties, func(p Property) bool { return p.Name == s.Name })
			if own || k.Effect == catalog.Fixed {
				continue
			}
			doc := "The default of the topic setting " + k.Name + ". " + k.Doc
			if k.Effect == catalog.Kept {
				doc += " Kept and reported, without effect."
			}
			all = append(all, Property{
				Name: s.Name, Kind: k.Kind, Default: k.Default, Min: k.Min, Max: k.Max, Also: k.Also, Values: k.Values,
				Dynamic: true, Doc: doc,
			})
		}
	}
	slices.SortFunc(all, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return all
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
func (p Property) Check(value string) error { return p.key().Check(value) }

// key describes what p's values are like, in the words of a topic setting.
func (p Property) key() catalog.TopicKey {
	return catalog.TopicKey{Name: p.Name, Kind: p.Kind, Min: p.Min, Max: p.Max, Also: p.Also, Values: p.Values}
}
