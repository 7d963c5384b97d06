package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/client"
	"rota/internal/client/assignor"
	"rota/internal/schema"
)

// errUnsafe says that a cooperative assignor gave away what another member has.
var errUnsafe = errors.New("member: assignor gives away a shard that another member owns")

// sharing speaks Kafka's formats of subscriptions and assignments, for topics
// and for shards.
type sharing struct {
	protocolType string
	assignors    []Assignor
	subscribed   []string
	metadata     []byte
	// shards is how many there are in this member's eyes, nil in a group that
	// shares topics.
	shards *int32
	counts map[string]int32
	// What the member had last, and since when: what eager members of the
	// sticky assignor tell although they have let go of it.
	last      []assignor.Partition
	lastSince int32
}

func newSharing(c *Config, protocolType string, topics []string, shards *int32) *sharing {
	return &sharing{
		protocolType: protocolType, assignors: c.Assignors, metadata: c.Metadata, shards: shards, lastSince: -1,
		subscribed: slices.Compact(slices.Sorted(slices.Values(topics))),
	}
}

func (s *sharing) ProtocolType() string { return s.protocolType }

func (s *sharing) Cooperative() bool {
	return !slices.ContainsFunc(s.assignors, func(a Assignor) bool { return !a.Cooperative() })
}

func (s *sharing) update(metadata []byte) { s.metadata = metadata }

func (s *sharing) had(owned []assignor.Partition, generation int32) {
	s.last, s.lastSince = owned, generation
}

func (s *sharing) learn(counts map[string]int32) { s.counts = counts }

// Protocols implements client.Dialect.
func (s *sharing) Protocols(owned []assignor.Partition, generation int32) []client.Protocol {
	list := make([]client.Protocol, len(s.assignors))
	for i, a := range s.assignors {
		sub := schema.Subscription{
			Version: 3, Topics: s.subscribed, Owned: grouped(owned), Generation: generation, UserData: s.userData(a),
		}
		list[i] = client.Protocol{Name: a.Name(), Metadata: schema.AppendSubscription(nil, sub)}
	}
	return list
}

// isSticky is true for Kafka's sticky assignor, whose members tell in their
// user data what they had.
func (*sharing) isSticky(a Assignor) bool {
	b, ok := a.(builtin)
	return ok && b.Assignor == assignor.Sticky{}
}

// userData is what the subscription carries for the assignor.
func (s *sharing) userData(a Assignor) []byte {
	var data []byte
	if s.shards != nil {
		data = binary.BigEndian.AppendUint32(data, uint32(*s.shards))
	}
	if !s.isSticky(a) {
		return append(data, s.metadata...)
	}
	if len(s.last) == 0 && s.shards == nil {
		return nil
	}
	var had kmsg.StickyMemberMetadata
	for _, t := range grouped(s.last) {
		had.CurrentAssignment = append(had.CurrentAssignment, kmsg.StickyMemberMetadataCurrentAssignment{
			Topic: t.Topic, Partitions: t.Partitions,
		})
	}
	had.Generation = s.lastSince
	return had.AppendTo(data)
}

// topics implements dialect.
func (s *sharing) topics(members []client.JoinedMember) []string {
	if s.shards != nil {
		return nil
	}
	var names []string
	for i := range members {
		if topics, err := schema.SubscribedTopics(members[i].Metadata); err == nil {
			names = append(names, topics...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Lead implements client.Dialect.
func (s *sharing) Lead(protocol string, members []client.JoinedMember, skip bool) ([]client.Assignment, error) {
	i := slices.IndexFunc(s.assignors, func(a Assignor) bool { return a.Name() == protocol })
	if i < 0 {
		return nil, fmt.Errorf("member: the group has chosen %q, which this member does not have", protocol)
	}
	if skip {
		return nil, nil
	}
	chosen := s.assignors[i]
	counts := s.counts
	if s.shards != nil {
		counts = map[string]int32{shardsTopic: *s.shards}
	}
	list := make([]Candidate, len(members))
	for k := range members {
		c, err := s.candidate(chosen, &members[k], counts)
		if err != nil {
			return nil, fmt.Errorf("member: what %s says of itself: %w", members[k].MemberID, err)
		}
		list[k] = c
	}
	shares := chosen.Assign(list, counts)
	if chosen.Cooperative() && !safe(list, shares) {
		return nil, errUnsafe
	}
	out := make([]client.Assignment, len(members))
	for k := range members {
		id := members[k].MemberID
		out[k] = client.Assignment{MemberID: id, Data: schema.AppendAssignment(nil, schema.Assignment{
			Version: 3, Partitions: grouped(partitions(shares[id])),
		})}
	}
	return out, nil
}

// candidate reads what a member says of itself, and raises the number of
// shards if it knows of more.
func (s *sharing) candidate(a Assignor, m *client.JoinedMember, counts map[string]int32) (Candidate, error) {
	sub, err := parseSubscription(m.Metadata)
	if err != nil {
		return Candidate{}, err
	}
	c := Candidate{ID: m.MemberID, InstanceID: m.InstanceID, Topics: sub.Topics, Generation: sub.Generation, Metadata: sub.UserData}
	c.Owned = shardsOf(flat(sub.Owned))
	if s.shards != nil {
		if len(c.Metadata) < 4 {
			return Candidate{}, errors.New("there is no number of shards")
		}
		counts[shardsTopic] = max(counts[shardsTopic], int32(binary.BigEndian.Uint32(c.Metadata)))
		c.Metadata = c.Metadata[4:]
	}
	if s.isSticky(a) && len(c.Metadata) > 0 {
		var had kmsg.StickyMemberMetadata
		if err := had.ReadFrom(c.Metadata); err == nil {
			c.Owned, c.Generation = nil, had.Generation
			for _, t := range had.CurrentAssignment {
				for _, p := range t.Partitions {
					c.Owned = append(c.Owned, Shard{t.Topic, p})
				}
			}
		}
		c.Metadata = nil
	}
	return c, nil
}

// parseSubscription reads a subscription. There are clients that name a version
// and leave out what it adds: then the topics are what counts.
func parseSubscription(b []byte) (schema.Subscription, error) {
	sub, err := schema.ParseSubscription(b)
	if err == nil {
		return sub, nil
	}
	topics, err := schema.SubscribedTopics(b)
	return schema.Subscription{Topics: topics, Generation: -1}, err
}

// Share implements client.Dialect.
func (*sharing) Share(_ string, assignment []byte) ([]assignor.Partition, error) {
	if len(assignment) < 2 {
		return nil, client.ErrShortAssignment
	}
	a, err := schema.ParseAssignment(assignment)
	if err != nil {
		return nil, err
	}
	list := flat(a.Partitions)
	assignor.Sort(list)
	return list, nil
}

// safe reports whether no shard goes to one member while another owns it. Of
// two that say so the one of the later generation is believed.
func safe(members []Candidate, shares map[string][]Shard) bool {
	type claim struct {
		id         string
		generation int32
	}
	holder := map[Shard]claim{}
	for _, m := range members {
		for _, s := range m.Owned {
			if h, held := holder[s]; !held || m.Generation > h.generation {
				holder[s] = claim{m.ID, m.Generation}
			}
		}
	}
	for id, list := range shares {
		for _, s := range list {
			if h, held := holder[s]; held && h.id != id {
				return false
			}
		}
	}
	return true
}

// grouped collects sorted partitions by topic, as the wire has them.
func grouped(list []assignor.Partition) []schema.TopicPartitions {
	var out []schema.TopicPartitions
	for _, p := range list {
		if n := len(out); n == 0 || out[n-1].Topic != p.Topic {
			out = append(out, schema.TopicPartitions{Topic: p.Topic})
		}
		last := &out[len(out)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return out
}

func flat(list []schema.TopicPartitions) []assignor.Partition {
	var out []assignor.Partition
	for _, t := range list {
		for _, p := range t.Partitions {
			out = append(out, assignor.Partition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}

// partitions converts shards, sorted.
func partitions(list []Shard) []assignor.Partition {
	out := make([]assignor.Partition, len(list))
	for i, s := range list {
		out[i] = assignor.Partition(s)
	}
	assignor.Sort(out)
	return out
}
