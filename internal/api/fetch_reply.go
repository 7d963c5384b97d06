package api

import (
	"encoding/binary"
	"math/bits"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// fetchReply is a FetchResponse that is written as it is read: the records of
// each partition go from the log straight into the bytes that leave, and those
// that are many and not in memory are not even read before they leave. The
// embedded response is never filled in; it answers for key and version. What
// AppendWithin writes is, byte for byte, what kmsg would write: a test
// compares the two in all versions.
type fetchReply struct {
	kmsg.FetchResponse
	s        *Server
	f        *broker.Fetch
	listener Listener
}

var _ Deferred = (*fetchReply)(nil)

// partitionOverhead is more than what an answer has beside the records of a
// partition, most of the time.
const partitionOverhead = 128

// Estimate implements Deferred.
func (r *fetchReply) Estimate() int { return r.f.Estimate(true) + partitionOverhead }

// AppendTo implements kmsg.Response.
func (r *fetchReply) AppendTo(dst []byte) []byte {
	return r.AppendWithin(dst, r.f.Estimate(false)+partitionOverhead, nil)
}

// AppendWithin implements Deferred. Without later everything is read at once.
func (r *fetchReply) AppendWithin(dst []byte, limit int, later *Later) []byte {
	w := fetchWriter{version: r.Version, flexible: r.IsFlexible(), node: r.s.Broker.Config.NodeID, code: r.s.errorCode}
	if w.version >= 1 {
		dst = binary.BigEndian.AppendUint32(dst, 0) // ThrottleMillis
	}
	if w.version >= 7 {
		dst = binary.BigEndian.AppendUint16(dst, 0) // ErrorCode
		dst = binary.BigEndian.AppendUint32(dst, uint32(r.f.SessionID()))
	}
	parts := r.f.Answers()
	reader := r.f.Reader(limit, later != nil)
	dst = w.count(dst, countTopics(parts))
	for len(parts) > 0 {
		n := sameTopic(parts)
		dst = w.topic(dst, parts[0].Topic)
		dst = w.count(dst, n)
		for _, p := range parts[:n] {
			dst = w.partition(dst, reader, p, later)
		}
		dst = w.noTags(dst)
		parts = parts[n:]
	}
	if !w.moved {
		return w.noTags(dst)
	}
	return w.endpoints(dst, r.listener)
}

// countTopics returns how many runs of partitions of one topic there are.
func countTopics(parts []*broker.FetchPartition) int {
	n := 0
	for len(parts) > 0 {
		parts = parts[sameTopic(parts):]
		n++
	}
	return n
}

// sameTopic returns how many partitions at the front have one topic.
func sameTopic(parts []*broker.FetchPartition) int {
	n := 1
	for n < len(parts) && parts[n].Topic == parts[0].Topic {
		n++
	}
	return n
}

// fetchWriter writes the parts of a FetchResponse.
type fetchWriter struct {
	version  int16
	flexible bool
	node     int32
	code     func(error) int16
	moved    bool // a partition names its leader
}

// count writes the length of an array.
func (w *fetchWriter) count(dst []byte, n int) []byte {
	if w.flexible {
		return binary.AppendUvarint(dst, uint64(n)+1)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(n))
}

func (w *fetchWriter) noTags(dst []byte) []byte {
	if w.flexible {
		return append(dst, 0)
	}
	return dst
}

func (w *fetchWriter) topic(dst []byte, t broker.TopicRef) []byte {
	switch {
	case w.version >= 13:
		return append(dst, t.ID[:]...)
	case w.flexible:
		dst = binary.AppendUvarint(dst, uint64(len(t.Name))+1)
	default:
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(t.Name)))
	}
	return append(dst, t.Name...)
}

// partition reads a partition and writes its part of the answer. What is in
// front of the records is known only when they have been read, so room is left
// for it. Records that are read later belong between the two, and there are
// then no others.
func (w *fetchWriter) partition(dst []byte, reader *broker.FetchReader, p *broker.FetchPartition, later *Later) []byte {
	start := len(dst)
	if st, got := reader.Lend(p); st != nil {
		dst = w.head(dst, &got, st.Size())
		later.Add(len(dst), st)
		return w.tags(dst, &got)
	}
	room := w.room(p.MaxBytes)
	dst = append(dst, make([]byte, room)...)
	dst, got := reader.Read(dst, p)
	return w.enclose(dst, start, room, &got)
}

// enclose writes what is in front of the records, which begin room bytes
// behind start, and what is behind them. If the room was not right the records
// are moved.
func (w *fetchWriter) enclose(dst []byte, start, room int, got *broker.FetchedPartition) []byte {
	records := len(dst) - start - room
	head := w.head(dst[start:start:start+room], got, records) // in place, unless it is too long
	if moved := len(head) - room; moved != 0 {
		if moved > 0 {
			dst = append(dst, make([]byte, moved)...)
		}
		copy(dst[start+room+moved:], dst[start+room:start+room+records])
		dst = dst[:start+room+moved+records]
	}
	copy(dst[start:], head)
	return w.tags(dst, got)
}

// room is the size of what is in front of the records if there is no aborted
// transaction, and about as many bytes of records as limit lets through.
func (w *fetchWriter) room(limit int) int {
	n := 4 + 2 + 8 + 8
	if w.version >= 5 {
		n += 8
	}
	if w.version >= 11 {
		n += 4
	}
	if w.flexible {
		return n + 1 + uvarintLen(limit+1)
	}
	return n + 4 + 4
}

func uvarintLen(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

func (w *fetchWriter) head(dst []byte, got *broker.FetchedPartition, records int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(got.Index))
	dst = binary.BigEndian.AppendUint16(dst, uint16(w.code(got.Err)))
	dst = binary.BigEndian.AppendUint64(dst, uint64(got.HighWatermark))
	dst = binary.BigEndian.AppendUint64(dst, uint64(got.LastStable))
	if w.version >= 5 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(got.LogStart))
	}
	if got.Aborted == nil {
		dst = w.count(dst, -1)
	} else {
		dst = w.count(dst, len(got.Aborted))
		for _, a := range got.Aborted {
			dst = binary.BigEndian.AppendUint64(dst, uint64(a.ProducerID))
			dst = binary.BigEndian.AppendUint64(dst, uint64(a.FirstOffset))
			dst = w.noTags(dst)
		}
	}
	if w.version >= 11 {
		const noReplica = 1<<32 - 1 // -1
		dst = binary.BigEndian.AppendUint32(dst, noReplica)
	}
	// The records, never null: clients choke on that (KAFKA-18646).
	return w.count(dst, records)
}

// tags writes the tagged fields behind the records.
func (w *fetchWriter) tags(dst []byte, got *broker.FetchedPartition) []byte {
	if !w.flexible {
		return dst
	}
	leader := w.version >= 16 && got.LeaderEpoch >= 0 && got.Err != nil && isLeaderError(w.code(got.Err))
	switch {
	case got.Diverging == nil && !leader:
		return append(dst, 0)
	case got.Diverging != nil && leader:
		dst = append(dst, 2)
	default:
		dst = append(dst, 1)
	}
	if d := got.Diverging; d != nil {
		const size = 4 + 8 + 1
		dst = append(dst, 0, size)
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.Epoch))
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.EndOffset))
		dst = append(dst, 0)
	}
	if leader {
		const size = 4 + 4 + 1
		w.moved = true
		dst = append(dst, 1, size)
		dst = binary.BigEndian.AppendUint32(dst, uint32(w.node))
		dst = binary.BigEndian.AppendUint32(dst, uint32(got.LeaderEpoch))
		dst = append(dst, 0)
	}
	return dst
}

// isLeaderError says whether a client that gets the error looks for the leader.
func isLeaderError(code int16) bool {
	return code == kerr.NotLeaderForPartition.Code || code == kerr.FencedLeaderEpoch.Code
}

// endpoints writes the tagged fields at the end: the address of the leader.
func (w *fetchWriter) endpoints(dst []byte, l Listener) []byte {
	var field []byte
	field = w.count(field, 1)
	field = binary.BigEndian.AppendUint32(field, uint32(w.node))
	field = binary.AppendUvarint(field, uint64(len(l.Host))+1)
	field = append(field, l.Host...)
	field = binary.BigEndian.AppendUint32(field, uint32(l.Port))
	field = append(field, 0, 0) // no rack, no tags

	dst = append(dst, 1, 0)
	dst = binary.AppendUvarint(dst, uint64(len(field)))
	return append(dst, field...)
}
