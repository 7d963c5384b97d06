package schema

import "encoding/binary"

// None stands for no leader epoch and no timestamp.
const None = -1

// OffsetValue is the value of a committed offset.
type OffsetValue struct {
	Offset      int64
	LeaderEpoch int32 // None if the client gave none
	Metadata    string
	// CommitTimestamp is the wall clock time of the commit in milliseconds.
	CommitTimestamp int64
	// ExpireTimestamp is set by commits with a retention time of their own
	// (OffsetCommit v2-4), in milliseconds; None otherwise.
	ExpireTimestamp int64
	// TopicID is zero if the writer gave none (before Kafka 4.1, and here).
	TopicID [16]byte
}

const highestOffsetValue = 4

// ParseOffsetValue decodes a value of versions 0 to 4. Fields that the version
// lacks are None, and tagged fields that are unknown are skipped. Anything else
// is an ErrMalformed.
func ParseOffsetValue(b []byte) (OffsetValue, error) {
	c := cursor{b: b}
	version, err := c.version("offset value", highestOffsetValue)
	if err != nil {
		return OffsetValue{}, err
	}
	c.flexible = version >= 4
	v := OffsetValue{LeaderEpoch: None, ExpireTimestamp: None}
	v.Offset = c.int64("offset")
	if version >= 3 {
		v.LeaderEpoch = c.int32("leader epoch")
	}
	v.Metadata = c.string("metadata")
	v.CommitTimestamp = c.int64("commit timestamp")
	if version == 1 {
		v.ExpireTimestamp = c.int64("expire timestamp")
	}
	c.tags(func(tag uint32, data []byte) {
		if tag == 0 && copy(v.TopicID[:], data) < len(v.TopicID) {
			c.fail("topic id is cut off")
		}
	})
	if err := c.failed("offset value"); err != nil {
		return OffsetValue{}, err
	}
	return v, nil
}

// AppendOffsetValue appends a value of version 3, which every Kafka since 2.1
// reads, or of version 1 if it has an expire timestamp: that version has no
// room for the leader epoch. The topic id is not written.
func AppendOffsetValue(dst []byte, v OffsetValue) []byte {
	version := uint16(3)
	if v.ExpireTimestamp != None {
		version = 1
	}
	dst = binary.BigEndian.AppendUint16(dst, version)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Offset))
	if version >= 3 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.LeaderEpoch))
	}
	dst = appendString(dst, v.Metadata)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.CommitTimestamp))
	if version == 1 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.ExpireTimestamp))
	}
	return dst
}
