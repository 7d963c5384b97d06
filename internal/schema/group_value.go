package schema

import "encoding/binary"

// GroupValue is the metadata of a classic group.
type GroupValue struct {
	ProtocolType string // "" is none
	Generation   int32
	Protocol     *string // nil in Empty
	Leader       *string // member id, nil in Empty
	// StateTimestamp is the wall clock time in milliseconds at which the group
	// entered its state, None if not known (versions 0 and 1).
	StateTimestamp int64
	Members        []MemberValue
}

// MemberValue is one member of a GroupValue.
type MemberValue struct {
	ID         string
	InstanceID *string // nil for a dynamic member
	ClientID   string
	ClientHost string
	// RebalanceTimeout in milliseconds. Where the record has none it is the
	// session timeout.
	RebalanceTimeout int32
	SessionTimeout   int32  // milliseconds
	Subscription     []byte // metadata of the selected protocol
	Assignment       []byte // may be empty, not nil
}

const (
	highestGroupValue = 4
	// smallestMember is what a member takes in the smallest version: three
	// empty strings, a timeout, two empty byte strings; in version 4 six
	// lengths, two timeouts and a tag section.
	smallestMember = 15
)

// ParseGroupValue decodes a value of versions 0 to 4. Unknown tagged fields
// are skipped. Anything else is an ErrMalformed.
func ParseGroupValue(b []byte) (GroupValue, error) {
	c := cursor{b: b}
	version, err := c.version("group value", highestGroupValue)
	if err != nil {
		return GroupValue{}, err
	}
	c.flexible = version >= 4
	v := GroupValue{StateTimestamp: None}
	v.ProtocolType = c.string("protocol type")
	v.Generation = c.int32("generation")
	v.Protocol = c.nullableString("protocol")
	v.Leader = c.nullableString("leader")
	if version >= 2 {
		v.StateTimestamp = c.int64("state timestamp")
	}
	if n := c.count(smallestMember, "members"); n > 0 {
		v.Members = make([]MemberValue, n)
	}
	for i := range v.Members {
		c.member(version, &v.Members[i])
	}
	c.tags(nil)
	if err := c.failed("group value"); err != nil {
		return GroupValue{}, err
	}
	return v, nil
}

func (c *cursor) member(version int16, m *MemberValue) {
	m.ID = c.string("member id")
	if version >= 3 {
		m.InstanceID = c.nullableString("instance id")
	}
	m.ClientID = c.string("client id")
	m.ClientHost = c.string("client host")
	m.RebalanceTimeout = None
	if version >= 1 {
		m.RebalanceTimeout = c.int32("rebalance timeout")
	}
	m.SessionTimeout = c.int32("session timeout")
	if m.RebalanceTimeout == None {
		m.RebalanceTimeout = m.SessionTimeout
	}
	m.Subscription = c.bytes("subscription")
	m.Assignment = c.bytes("assignment")
	c.tags(nil)
}

// AppendGroupValue appends a value of version 3, which every Kafka since 2.3
// reads and writes.
func AppendGroupValue(dst []byte, v GroupValue) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 3)
	dst = appendString(dst, v.ProtocolType)
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.Generation))
	dst = appendNullableString(dst, v.Protocol)
	dst = appendNullableString(dst, v.Leader)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.StateTimestamp))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.Members)))
	for i := range v.Members {
		m := &v.Members[i]
		dst = appendString(dst, m.ID)
		dst = appendNullableString(dst, m.InstanceID)
		dst = appendString(dst, m.ClientID)
		dst = appendString(dst, m.ClientHost)
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.RebalanceTimeout))
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.SessionTimeout))
		dst = appendBytes(dst, m.Subscription)
		dst = appendBytes(dst, m.Assignment)
	}
	return dst
}
