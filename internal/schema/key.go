package schema

import (
	"encoding/binary"
	"fmt"
)

// Record types of __consumer_offsets: the first two bytes of a key. 3 to 8 and
// 16 belong to KIP-848 consumer groups, 9 to 15 to share groups, 17 and 19 to
// 23 to streams groups.
const (
	typeLegacyOffset = 0
	typeOffset       = 1
	typeGroup        = 2
)

// Key is the key of a record of __consumer_offsets: an OffsetKey, a GroupKey
// or an UnknownKey.
type Key interface{ isKey() }

// OffsetKey is the key of a committed offset (types 0 and 1).
type OffsetKey struct {
	Group     string
	Topic     string
	Partition int32
}

// GroupKey is the key of a classic group's metadata (type 2).
type GroupKey struct{ Group string }

// UnknownKey is a key of a type that this package does not know. Readers skip
// its record.
type UnknownKey struct{ Type int16 }

func (OffsetKey) isKey()  {}
func (GroupKey) isKey()   {}
func (UnknownKey) isKey() {}

// ParseKey decodes a key. A key that is cut off is an ErrMalformed.
func ParseKey(b []byte) (Key, error) {
	c := cursor{b: b}
	switch kind := c.int16("record type"); {
	case c.why != "":
		return nil, c.failed("key")
	case kind == typeLegacyOffset || kind == typeOffset:
		k := OffsetKey{Group: c.string("group"), Topic: c.string("topic"), Partition: c.int32("partition")}
		return k, c.failed("offset key")
	case kind == typeGroup:
		k := GroupKey{Group: c.string("group")}
		return k, c.failed("group key")
	default:
		return UnknownKey{Type: kind}, nil
	}
}

// GroupOf returns the group that a key belongs to, and false for an UnknownKey.
func GroupOf(k Key) (string, bool) {
	switch k := k.(type) {
	case OffsetKey:
		return k.Group, true
	case GroupKey:
		return k.Group, true
	default:
		return "", false
	}
}

// AppendOffsetKey appends a key of type 1.
func AppendOffsetKey(dst []byte, k OffsetKey) []byte {
	dst = binary.BigEndian.AppendUint16(dst, typeOffset)
	dst = appendString(dst, k.Group)
	dst = appendString(dst, k.Topic)
	return binary.BigEndian.AppendUint32(dst, uint32(k.Partition))
}

// AppendGroupKey appends a key of type 2.
func AppendGroupKey(dst []byte, k GroupKey) []byte {
	return appendString(binary.BigEndian.AppendUint16(dst, typeGroup), k.Group)
}

// version reads the version that a value begins with and checks that it is one
// of those that are known.
func (c *cursor) version(what string, highest int16) (int16, error) {
	v := c.int16("version")
	if err := c.failed(what); err != nil {
		return 0, err
	}
	if v < 0 || v > highest {
		return v, fmt.Errorf("%s: %w: version %d is unknown", what, ErrMalformed, v)
	}
	return v, nil
}
