package api

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

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
	// FromZero names 0 as the lowest version in ApiVersions although versions
	// below Min are refused. Only Produce needs it (KAFKA-18659).
	FromZero bool
	Class    Class
	Handle   func(*Server, *Call)
}

// Table lists every API that is served, by key. What is not in it is not
// advertised, and a connection that asks for it is closed.
func Table() []API {
	rows := slices.Concat(dataAPIs(), groupAPIs(), transactionAPIs(), adminAPIs(), clusterAPIs(), securityAPIs())
	slices.SortFunc(rows, func(a, b API) int { return cmp.Compare(a.Key, b.Key) })
	return rows
}

// dataAPIs are the APIs of bootstrap and of the data path.
func dataAPIs() []API {
	return []API{
		produceAPI(),
		fetchAPI(),
		listOffsetsAPI(),
		metadataAPI(),
		findCoordinatorAPI(),
		apiVersionsAPI(),
		initProducerIDAPI(),
		offsetForLeaderEpochAPI(),
	}
}
