// Package wire serves connections: it reads frames, decodes requests, has the
// handlers of package api answer them, and sends the replies in the order of
// the requests.
//
// It knows the framing and the headers of the protocol and nothing of what a
// request means; the table of package api says which requests there are and
// how they share a connection.
//
// # A connection
//
// Each connection has one goroutine that reads a frame, decodes it and calls
// its handler. Replies that are ready are written by that goroutine before it
// blocks, all of them in one write; a reply that comes later, from a disk or a
// rebalance, is written by a goroutine that lives only as long as there is
// something to write. An idle connection is one parked goroutine and half a
// kilobyte of buffer.
//
// Calls take effect in the order of their requests, because one goroutine
// calls the handlers. Their replies wait for each other in a queue.
//
// # Bounds
//
// Nothing that a peer claims is reserved before it has arrived, but for large
// frames that the budget has room for. A connection is not read further while
// it has too many open calls or unread replies, or while the budget of its
// next request's kind is used up; data and group requests have budgets of
// their own. Memory for replies is bounded too: a Fetch is put together only
// when its turn to leave has come, and is cut down to the room there is.
//
// Start reading at server.go, then read.go, calls.go and write.go.
package wire
