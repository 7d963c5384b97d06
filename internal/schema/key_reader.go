package schema

import "encoding/binary"

// topicsKept bounds the topic names that a KeyReader remembers.
const topicsKept = 10_000

// KeyReader decodes the keys of committed offsets one after the other, as a
// load does. It makes the strings that they share only once: neighbours are
// mostly of one group, and there are few topics. The zero value is ready.
type KeyReader struct {
	group  string
	topics map[string]string
}

// Read decodes a key, and is false if it is not that of a committed offset:
// ParseKey says what it is then.
func (r *KeyReader) Read(b []byte) (k OffsetKey, ok bool) {
	if len(b) < 2 || binary.BigEndian.Uint16(b) > typeOffset {
		return k, false
	}
	group, b, ok := cutString(b[2:])
	if !ok {
		return k, false
	}
	topic, b, ok := cutString(b)
	if !ok || len(b) < 4 {
		return k, false
	}
	if string(group) != r.group {
		r.group = string(group)
	}
	name, known := r.topics[string(topic)]
	if !known {
		if r.topics == nil || len(r.topics) == topicsKept {
			r.topics = make(map[string]string)
		}
		name = string(topic)
		r.topics[name] = name
	}
	return OffsetKey{Group: r.group, Topic: name, Partition: int32(binary.BigEndian.Uint32(b))}, true
}

// cutString splits a string with a length of two bytes off b.
func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	if n < 0 || n > len(b)-2 {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}
