package schema

import "encoding/binary"

// TopicPartitions names partitions of one topic.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// Subscription is what a member of protocol type "consumer" tells the leader.
type Subscription struct {
	Version  int16
	Topics   []string
	UserData []byte // nil is null
	// Owned is what the member holds (version 1, KIP-429).
	Owned []TopicPartitions
	// Generation is that of Owned, None if not known (version 2, KIP-792).
	Generation int32
	// Rack is where the member runs (version 3, KIP-881).
	Rack *string
}

// Assignment is what the leader tells a member of protocol type "consumer".
type Assignment struct {
	Version    int16
	Partitions []TopicPartitions
	UserData   []byte // nil is null
}

// highestConsumer is the highest layout that is known. Newer versions begin
// with it.
const highestConsumer = 3

// ParseSubscription decodes a subscription. Of a version above 3 it reads what
// version 3 has. Anything else is an ErrMalformed.
func ParseSubscription(b []byte) (Subscription, error) {
	c := cursor{b: b}
	s := Subscription{Version: c.int16("version"), Generation: None}
	if s.Version < 0 {
		c.fail("version is negative")
	}
	s.Topics = c.topics()
	s.UserData = c.nullableBytes("user data")
	if s.Version >= 1 {
		s.Owned = c.topicPartitions()
	}
	if s.Version >= 2 {
		s.Generation = c.int32("generation")
	}
	if s.Version >= 3 {
		s.Rack = c.nullableString("rack")
	}
	if err := c.failed("subscription"); err != nil {
		return Subscription{}, err
	}
	return s, nil
}

// SubscribedTopics reads only the topics of a subscription: the part that all
// versions share, and all that a broker looks at.
func SubscribedTopics(b []byte) ([]string, error) {
	c := cursor{b: b}
	if c.int16("version") < 0 {
		c.fail("version is negative")
	}
	topics := c.topics()
	return topics, c.failed("subscription")
}

// ParseAssignment decodes an assignment of any version. Anything else is an
// ErrMalformed, also an empty one, which is legal on the wire.
func ParseAssignment(b []byte) (Assignment, error) {
	c := cursor{b: b}
	a := Assignment{Version: c.int16("version")}
	if a.Version < 0 {
		c.fail("version is negative")
	}
	a.Partitions = c.topicPartitions()
	a.UserData = c.nullableBytes("user data")
	if err := c.failed("assignment"); err != nil {
		return Assignment{}, err
	}
	return a, nil
}

func (c *cursor) topics() []string {
	n := c.count(2, "topics")
	if n == 0 {
		return nil
	}
	topics := make([]string, n)
	for i := range topics {
		topics[i] = c.string("topic")
	}
	return topics
}

func (c *cursor) topicPartitions() []TopicPartitions {
	n := c.count(6, "topics")
	if n == 0 {
		return nil
	}
	list := make([]TopicPartitions, n)
	for i := range list {
		list[i].Topic = c.string("topic")
		if n := c.count(4, "partitions"); n > 0 {
			list[i].Partitions = make([]int32, n)
		}
		for j := range list[i].Partitions {
			list[i].Partitions[j] = c.int32("partition")
		}
	}
	return list
}

// AppendSubscription appends a subscription in the layout of its version, at
// most version 3.
func AppendSubscription(dst []byte, s Subscription) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s.Topics)))
	for _, topic := range s.Topics {
		dst = appendString(dst, topic)
	}
	dst = appendNullableBytes(dst, s.UserData)
	if s.Version >= 1 {
		dst = appendTopicPartitions(dst, s.Owned)
	}
	if s.Version >= 2 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(s.Generation))
	}
	if s.Version >= highestConsumer {
		dst = appendNullableString(dst, s.Rack)
	}
	return dst
}

// AppendAssignment appends an assignment.
func AppendAssignment(dst []byte, a Assignment) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(a.Version))
	dst = appendTopicPartitions(dst, a.Partitions)
	return appendNullableBytes(dst, a.UserData)
}

func appendTopicPartitions(dst []byte, list []TopicPartitions) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(list)))
	for _, t := range list {
		dst = appendString(dst, t.Topic)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(t.Partitions)))
		for _, p := range t.Partitions {
			dst = binary.BigEndian.AppendUint32(dst, uint32(p))
		}
	}
	return dst
}
