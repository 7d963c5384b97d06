package api

import "github.com/twmb/franz-go/pkg/kmsg"

// Class says how the calls of an API share a connection.
type Class uint8

const (
	// Alone: the call starts when every earlier one of its connection has
	// been answered, and may block.
	Alone Class = iota
	// Overlaps: the handler takes effect in arrival order without blocking;
	// only its waiting overlaps with later calls. Counted against the budget
	// of group and offset requests.
	Overlaps
	// OverlapsData is Overlaps for Produce and Fetch, which have the data
	// budget: over it, a connection is not read further.
	OverlapsData
)

// API is one row of the table of served APIs.
type API struct {
	Key      kmsg.Key
	Min, Max int16
	// Advertised is the lowest version named in ApiVersions, if it is not Min.
	Advertised int16
	Class      Class
	Handle     func(*Server, *Call)
}
