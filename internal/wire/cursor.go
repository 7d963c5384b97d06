package wire

import "encoding/binary"

// cursor steps over the parts of a request without keeping any of them.
// After the first part that is malformed or longer than what is left, it is
// bad and stays so.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() {
	c.b, c.bad = nil, true
}

// skip steps over n bytes.
func (c *cursor) skip(n int) {
	if n < 0 || n > len(c.b) {
		c.fail()
		return
	}
	c.b = c.b[n:]
}

func (c *cursor) int16() int {
	if len(c.b) < 2 {
		c.fail()
		return 0
	}
	n := int16(binary.BigEndian.Uint16(c.b))
	c.b = c.b[2:]
	return int(n)
}

func (c *cursor) int32() int {
	if len(c.b) < 4 {
		c.fail()
		return 0
	}
	n := int32(binary.BigEndian.Uint32(c.b))
	c.b = c.b[4:]
	return int(n)
}

// uvarint reads an unsigned number of at most 32 bits.
func (c *cursor) uvarint() int {
	var n uint64
	for i, b := range c.b {
		if i == 4 && b > 0x0f {
			break // longer than 32 bits
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.b = c.b[i+1:]
			return int(n)
		}
	}
	c.fail()
	return 0
}

// length reads the length in front of a string, of bytes or of an array: one
// more than it is, in flexible versions, or in an integer of that many bytes.
func (c *cursor) length(flexible bool, width int) int {
	if flexible {
		return c.uvarint() - 1
	}
	if width == 2 {
		return c.int16()
	}
	return c.int32()
}

// tags steps over tagged fields and returns how many there are.
func (c *cursor) tags() int {
	n := c.uvarint()
	for left := n; left > 0 && !c.bad; left-- {
		c.uvarint()
		c.skip(c.uvarint())
	}
	return n
}
