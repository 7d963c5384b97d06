// Package assignor decides which member of a group gets which partitions: what
// the leader of a generation works out between its JoinGroup and its SyncGroup.
//
// All of it is values in, values out. The same members and the same partitions
// give the same plan, whatever the order in which they are listed, so that a
// rebalance without a reason moves nothing.
//
// Range and RoundRobin know nothing of the past. CooperativeSticky (KIP-429)
// keeps what members have, and hands a partition that must move to its next
// owner only once the present one has let go of it.
package assignor

import (
	"cmp"
	"slices"
	"strings"
)

// Partition is one partition of a topic.
type Partition struct {
	Topic     string
	Partition int32
}

// Compare orders partitions by topic and number.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(strings.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// Sort sorts partitions by topic and number, in place.
func Sort(list []Partition) { slices.SortFunc(list, Partition.Compare) }

// Member is what a member has told the leader.
type Member struct {
	ID string
	// InstanceID is "" for a dynamic member.
	InstanceID string
	// Topics are those that it subscribes to.
	Topics []string
	// Owned is what it holds. Eager members hold nothing when they join.
	Owned []Partition
	// Generation is that of Owned, -1 if the member does not say.
	Generation int32
}

// Topic is a topic and how many partitions it has.
type Topic struct {
	Name       string
	Partitions int32
}

// Plan is what one member gets, sorted.
type Plan struct {
	ID         string
	Partitions []Partition
}

// Assignor is a strategy of partition.assignment.strategy.
type Assignor interface {
	// Name is the protocol name on the wire.
	Name() string
	// Cooperative reports whether members keep their partitions while they
	// join again.
	Cooperative() bool
	// Assign returns one Plan for each member, in the order of their ids.
	// Topics that are not listed have no partitions. Nothing that is given is
	// changed or kept.
	Assign(members []Member, topics []Topic) []Plan
}

// order sorts members so that a static member keeps its place through a
// restart: by instance id before all that have none, else by id.
func order(members []Member) []*Member {
	list := make([]*Member, len(members))
	for i := range members {
		list[i] = &members[i]
	}
	slices.SortFunc(list, func(a, b *Member) int {
		switch {
		case a.InstanceID != "" && b.InstanceID != "":
			return strings.Compare(a.InstanceID, b.InstanceID)
		case a.InstanceID != "":
			return -1
		case b.InstanceID != "":
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// sortedTopics are the topics by name.
func sortedTopics(topics []Topic) []Topic {
	list := slices.Clone(topics)
	slices.SortFunc(list, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// plans makes the result out of what each of the ordered members gets.
func plans(members []*Member, shares [][]Partition) []Plan {
	list := make([]Plan, len(members))
	for i, m := range members {
		Sort(shares[i])
		list[i] = Plan{ID: m.ID, Partitions: shares[i]}
	}
	slices.SortFunc(list, func(a, b Plan) int { return strings.Compare(a.ID, b.ID) })
	return list
}
