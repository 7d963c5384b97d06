package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// header is the part of a request that is read before the rest has arrived:
// the same eight bytes in every version.
type header struct {
	size        int // bytes of the frame after the size field
	key         int16
	version     int16
	correlation int32
}

const (
	sizeLen   = 4
	headerLen = 8
)

var (
	errUnknownAPI  = errors.New("API is not served")
	errVersion     = errors.New("API version is not served")
	errFrameSize   = errors.New("frame size out of range")
	errHeader      = errors.New("malformed request header")
	errMidFrame    = errors.New("connection ended in the middle of a request")
	errUndecodable = errors.New("malformed request")
)

// parseHeader reads the size and the first eight bytes of a frame.
func parseHeader(b []byte) header {
	return header{
		size:        int(int32(binary.BigEndian.Uint32(b))),
		key:         int16(binary.BigEndian.Uint16(b[4:])),
		version:     int16(binary.BigEndian.Uint16(b[6:])),
		correlation: int32(binary.BigEndian.Uint32(b[8:])),
	}
}

// check finds the row of the API, or says why the request is not served.
// ApiVersions is served at any version, so that clients can step down.
func (s *Server) check(h header) (*row, error) {
	if h.key < 0 || int(h.key) >= len(s.rows) || s.rows[h.key] == nil {
		return nil, fmt.Errorf("%w: key %d", errUnknownAPI, h.key)
	}
	r := s.rows[h.key]
	if !r.serves(h.version) && r.Key != kmsg.ApiVersions {
		return nil, fmt.Errorf("%w: %s v%d", errVersion, r.Key.Name(), h.version)
	}
	return r, nil
}

// splitHeader takes the client id and, in flexible versions, the tags off the
// front of b, which is a frame behind its first eight bytes. The client id has
// a 16-bit length in all versions.
func splitHeader(b []byte, flexible bool) (clientID, body []byte, err error) {
	if len(b) < 2 {
		return nil, nil, errHeader
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	switch {
	case n < -1 || n > len(b):
		return nil, nil, errHeader
	case n > 0:
		clientID, b = b[:n], b[n:]
	}
	if flexible {
		c := cursor{b: b}
		c.tags()
		if c.bad {
			return nil, nil, errHeader
		}
		b = c.b
	}
	return clientID, b, nil
}

// appendReplyHeader begins a reply: its size, filled in by endReply, and the
// correlation id. ApiVersions replies have the oldest header in all versions,
// because a client reads them before it knows what the broker speaks.
func appendReplyHeader(dst []byte, correlation int32, r kmsg.Response) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if r.IsFlexible() && r.Key() != int16(kmsg.ApiVersions) {
		dst = append(dst, 0) // no tags
	}
	return dst
}

// endReply fills in the size of the reply that starts at start, of which later
// bytes are not in dst.
func endReply(dst []byte, start, later int) {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeLen+later))
}
