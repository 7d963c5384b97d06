package member

import (
	"rota/internal/client/assignor"
)

// Candidate is a member as the leader sees it.
type Candidate struct {
	ID string
	// InstanceID is "" for a dynamic member.
	InstanceID string
	// Topics are those that it takes shards of.
	Topics []string
	// Metadata is its Config.Metadata.
	Metadata []byte
	// Owned is what it holds, or held until it joined, since Generation; -1 if
	// that is not known.
	Owned      []Shard
	Generation int32
}

// Assignor is a strategy: members and their metadata in, assignments out. Only
// the leader of a generation calls it, but all members must have it.
type Assignor interface {
	// Name is the protocol name, by which members agree on the strategy.
	Name() string
	// Cooperative reports whether members keep their shards while they join
	// (KIP-429). A cooperative assignor gives nothing to a member that another
	// one still owns; whoever loses a shard joins again, and then it is free.
	Cooperative() bool
	// Assign says what each member gets, by its id. topics has the number of
	// shards of each topic.
	Assign(members []Candidate, topics map[string]int32) map[string][]Shard
}

// Range gives each member a stretch of every topic: Kafka's "range".
func Range() Assignor { return builtin{assignor.Range{}} }

// RoundRobin deals the shards of all topics out one by one: Kafka's
// "roundrobin".
func RoundRobin() Assignor { return builtin{assignor.RoundRobin{}} }

// Sticky keeps shares even and moves as little as that takes: Kafka's "sticky".
// It is eager: members stop all their work during a rebalance.
func Sticky() Assignor { return builtin{assignor.Sticky{}} }

// CooperativeSticky is Sticky for cooperative members: Kafka's
// "cooperative-sticky". Only shards that move are interrupted.
func CooperativeSticky() Assignor { return builtin{assignor.CooperativeSticky{}} }

// builtin makes one of ours an Assignor.
type builtin struct{ assignor.Assignor }

func (b builtin) Assign(members []Candidate, topics map[string]int32) map[string][]Shard {
	list := make([]assignor.Member, len(members))
	for i, m := range members {
		list[i] = assignor.Member{ID: m.ID, InstanceID: m.InstanceID, Topics: m.Topics, Generation: m.Generation}
		for _, s := range m.Owned {
			list[i].Owned = append(list[i].Owned, assignor.Partition(s))
		}
	}
	var counts []assignor.Topic
	for name, n := range topics {
		counts = append(counts, assignor.Topic{Name: name, Partitions: n})
	}
	shares := make(map[string][]Shard, len(members))
	for _, plan := range b.Assignor.Assign(list, counts) {
		shares[plan.ID] = shardsOf(plan.Partitions)
	}
	return shares
}
