package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MaxString is the length in bytes of the longest string that the formats of
// Kafka's internal topics can hold.
const MaxString = math.MaxInt16

// ErrMalformed says that bytes are not what their type and version say.
var ErrMalformed = errors.New("malformed")

// cursor reads a format from front to back. After the first thing that cannot
// be read every further one reads as zero, and why says what the first was.
type cursor struct {
	b        []byte
	why      string
	flexible bool // compact strings and tagged fields (KIP-482)
}

// failed returns nil, or what went wrong with the named thing.
func (c *cursor) failed(what string) error {
	if c.why == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", what, ErrMalformed, c.why)
}

func (c *cursor) fail(why string) {
	if c.why == "" {
		c.why = why
	}
	c.b = nil
}

// take returns the next n bytes, or nil.
func (c *cursor) take(n int, what string) []byte {
	if n > len(c.b) || c.why != "" {
		c.fail(what + " is cut off")
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) int8(what string) int8 {
	if b := c.take(1, what); b != nil {
		return int8(b[0])
	}
	return 0
}

func (c *cursor) int16(what string) int16 {
	if b := c.take(2, what); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) int32(what string) int32 {
	if b := c.take(4, what); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) int64(what string) int64 {
	if b := c.take(8, what); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (c *cursor) uvarint(what string) uint32 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > math.MaxUint32 || c.why != "" {
		c.fail(what + " is cut off")
		return 0
	}
	c.b = c.b[n:]
	return uint32(v)
}

// length reads the length of something: -1 is null. narrow lengths have two
// bytes where the format is not flexible.
func (c *cursor) length(narrow bool, what string) int {
	var n int
	switch {
	case c.flexible:
		n = int(c.uvarint(what)) - 1
	case narrow:
		n = int(c.int16(what))
	default:
		n = int(c.int32(what))
	}
	if n < -1 || n > len(c.b) {
		c.fail(what + " is longer than what is left")
		return 0
	}
	return n
}

// string reads a string that must not be null.
func (c *cursor) string(what string) string {
	n := c.length(true, what)
	if n < 0 {
		c.fail(what + " is null")
		return ""
	}
	return string(c.take(n, what))
}

// nullableString reads a string, nil for null.
func (c *cursor) nullableString(what string) *string {
	n := c.length(true, what)
	if n < 0 || c.why != "" {
		return nil
	}
	s := string(c.take(n, what))
	return &s
}

// bytes reads bytes that must not be null.
func (c *cursor) bytes(what string) []byte {
	b := c.nullableBytes(what)
	if b == nil {
		c.fail(what + " is null")
	}
	return b
}

// nullableBytes reads bytes, nil for null.
func (c *cursor) nullableBytes(what string) []byte {
	n := c.length(false, what)
	if n < 0 || c.why != "" {
		return nil
	}
	return append([]byte{}, c.take(n, what)...)
}

// count reads the length of an array whose items take at least size bytes
// each. A count that the rest cannot hold is refused, so that the caller may
// reserve room for it.
func (c *cursor) count(size int, what string) int {
	n := c.nullableCount(size, what)
	if n < 0 {
		c.fail("number of " + what + " is impossible")
		return 0
	}
	return n
}

// nullableCount reads the length of an array that may be null, which is -1.
func (c *cursor) nullableCount(size int, what string) int {
	var n int
	if c.flexible {
		n = int(c.uvarint(what)) - 1
	} else {
		n = int(c.int32(what))
	}
	if n < -1 || n > len(c.b)/size {
		c.fail("number of " + what + " is impossible")
		return 0
	}
	return n
}

// tags reads the tagged fields at the end of a flexible struct. field is given
// each; nil skips them all.
func (c *cursor) tags(field func(tag uint32, data []byte)) {
	if !c.flexible {
		return
	}
	for n := c.uvarint("tagged fields"); n > 0 && c.why == ""; n-- {
		tag := c.uvarint("tag")
		size := c.uvarint("tag size")
		if uint64(size) > uint64(len(c.b)) {
			c.fail("tagged field is cut off")
			return
		}
		data := c.take(int(size), "tagged field")
		if field != nil && c.why == "" {
			field(tag, data)
		}
	}
}

func appendString(dst []byte, s string) []byte {
	if len(s) > MaxString {
		panic("schema: string of more than 32767 bytes")
	}
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

func appendNullableString(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, 0xff, 0xff)
	}
	return appendString(dst, *s)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

func appendNullableBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	return appendBytes(dst, b)
}
