package member

import (
	"rota/internal/client"
	"rota/internal/client/assignor"
)

// Work is what a group shares.
type Work interface {
	// speak returns what its members say to each other.
	speak(c *Config) dialect
}

// dialect is client.Dialect, and what the loop needs beside it.
type dialect interface {
	client.Dialect
	// topics lists the topics whose partitions a leader must know before it
	// leads those members; nil if it needs none.
	topics(members []client.JoinedMember) []string
	// learn says how many partitions topics have, before Lead.
	learn(counts map[string]int32)
	// had is told what the member owns from now on, in the generation.
	had(owned []assignor.Partition, generation int32)
	// update replaces Config.Metadata.
	update(metadata []byte)
}

// Topics shares the partitions of topics. Its members have the protocol type
// "consumer": they can be in one group with consumers in any language, and speak
// Kafka's formats. They consume nothing themselves.
func Topics(names ...string) Work { return topicWork(names) }

type topicWork []string

func (w topicWork) speak(c *Config) dialect {
	return newSharing(c, "consumer", w, nil)
}

// Shards shares the numbers from 0 to n-1 of the topic "shards", which is no
// topic of the cluster. While members with different n are in the group, the
// largest counts.
func Shards(n int) Work { return shardWork(n) }

// Leader lets one member at a time own one shard, number 0: whoever owns it
// leads. It is Shards(1).
func Leader() Work { return shardWork(1) }

type shardWork int32

// shardsTopic is the topic of shards that are not of a topic.
const shardsTopic = "shards"

func (w shardWork) speak(c *Config) dialect {
	n := int32(w)
	return newSharing(c, "shards", []string{shardsTopic}, &n)
}

// Protocol is one way to share work, of a Custom group: what its members send
// each other is bytes to everybody else.
type Protocol interface {
	// Name is the protocol name, by which members agree on it.
	Name() string
	// Cooperative reports whether members keep their share while they join.
	Cooperative() bool
	// Metadata is what this member tells the leader: it owns that, since the
	// generation, or nothing and -1.
	Metadata(owned []Shard, generation int32) []byte
	// Assign says what each member gets, by its id. Only the leader calls it.
	Assign(members []CustomCandidate) (map[string][]byte, error)
	// Shards says which shards an assignment is made of. A protocol whose
	// assignments have no parts returns one for each of them that is not empty.
	Shards(assignment []byte) ([]Shard, error)
}

// CustomCandidate is a member of a Custom group as the leader sees it.
type CustomCandidate struct {
	ID, InstanceID string
	Metadata       []byte
}

// Custom shares whatever the protocols say, best first. The protocol type is
// that of the group ("connect", "sr", ...); all members have the same.
func Custom(protocolType string, protocols ...Protocol) Work {
	return customWork{protocolType, protocols}
}

type customWork struct {
	protocolType string
	protocols    []Protocol
}

func (w customWork) speak(*Config) dialect { return &custom{customWork: w} }
