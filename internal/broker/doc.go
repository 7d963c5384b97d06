// Package broker maps what clients ask for to partition logs: produce, fetch,
// list offsets, metadata, topics and their configuration.
//
// It knows topics by name and by id (the catalog's View), finds the log of a
// partition in the Store, and keeps the fetch sessions. It never sees a
// connection or a wire format: package api turns requests of every version
// into calls of this package, and its answers back.
//
// Nothing here waits on a goroutine of its own: an append answers through its
// callback, and a fetch that must wait is parked as a set of watches and one
// timer.
package broker
