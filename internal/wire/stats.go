package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/meter"
)

// Stats are counters of a Server.
type Stats struct {
	Connections int
	// Unanswered counts the calls that wait for an answer: long polls, parked
	// joins, appends under way.
	Unanswered int
	// Accepted counts connections that were served, those that have ended too.
	Accepted int64
	// Received and Sent count bytes.
	Received, Sent int64
	// Refused counts connections that were closed because there were too many.
	Refused int64
	// DataBytes, GroupBytes and ReplyBytes are what the budgets have given
	// out, and the most they ever had.
	DataBytes, GroupBytes, ReplyBytes       int64
	DataPeak, GroupPeak, ReplyPeak          int64
	DataWaiting, GroupWaiting, ReplyWaiting int
	// BufferBytes is the room of the buffers that frames and replies lie in.
	BufferBytes int64
}

// Stats returns the counters as they are now.
func (s *Server) Stats() Stats {
	var st Stats
	st.DataBytes, st.DataPeak, st.DataWaiting = s.data.usage()
	st.GroupBytes, st.GroupPeak, st.GroupWaiting = s.group.usage()
	st.ReplyBytes, st.ReplyPeak, st.ReplyWaiting = s.replies.usage()
	st.Refused, st.Accepted = s.refused.Load(), s.accepted.Load()
	st.Received, st.Sent = s.received.Load(), s.sent.Load()
	st.BufferBytes = s.buffers.inUse.Load()
	conns := s.connections(nil)
	st.Connections = len(conns)
	for _, c := range conns {
		c.mu.Lock()
		st.Unanswered += c.unanswered
		c.mu.Unlock()
	}
	return st
}

// Latency is how long the calls of one API took, from their arrival until their
// reply was written: with what they waited for, such as records in a long poll
// or other members in a join.
type Latency struct {
	API kmsg.Key
	meter.Reading
}

// Latencies lists the APIs that have been called, by key.
func (s *Server) Latencies() []Latency {
	var list []Latency
	for _, r := range s.rows {
		if r == nil {
			continue
		}
		if reading := r.latency.Read(); reading.Count > 0 {
			list = append(list, Latency{r.Key, reading})
		}
	}
	return list
}

// clock is a time that only rises.
func (s *Server) clock() time.Duration { return time.Since(s.began) }
