package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Call is one request on one connection, until it is answered. A handler
// must take its effect (append, step, snapshot) before it returns and may
// answer later, from any goroutine: replies leave the connection in the order
// of its requests whatever the order of the answers. Exactly one of Reply,
// NoReply and Drop is called, once.
type Call struct {
	// Context ends when the connection does, or the broker stops.
	Context context.Context
	Version int16
	// ClientID is "" for a null client id.
	ClientID string
	// Host is the peer's address as Kafka shows it: "/127.0.0.1".
	Host string
	// Listener is the address under which the client reached this broker, to
	// be given back in Metadata and FindCoordinator.
	Listener Listener
	// Request is the decoded request. Byte slices in it belong to the
	// connection's buffer: they are valid until the handler returns, and a
	// handler that keeps them copies them. The request itself is valid until
	// the call is answered; its strings are for ever.
	Request kmsg.Request

	// Answer is set by the connection.
	Answer Answerer
}

// Listener is an advertised address.
type Listener struct {
	Host string
	Port int32
}

// Answerer takes the outcome of a Call. Package wire implements it.
type Answerer interface {
	// Reply sends the response, at the version of the request. It never
	// blocks. The response belongs to the connection from then on.
	Reply(kmsg.Response)
	// NoReply ends the call without a response (Produce with acks=0).
	NoReply()
	// Drop closes the connection, as Kafka does for what it cannot answer,
	// once the replies to earlier requests have left.
	Drop(reason error)

	// Run calls f soon, on a goroutine of the connection. It never blocks: it
	// is how a callback that must not be held up hands its work over. The call
	// must not have been answered.
	Run(f func())
	// OnEnd has f called, at most once, if the connection ends or the broker
	// stops while the call is unanswered: a call that waits for something that
	// may never come must then be answered, the reply be read or not. f may be
	// called before OnEnd returns, and may find the call answered. It must not
	// block. Only the handler may call OnEnd.
	OnEnd(f func())
}

// Deferred is a response that is put together only when its turn to leave has
// come, straight into the bytes that leave, so that a reader that is slow, or
// has many requests open, costs no memory.
type Deferred interface {
	kmsg.Response
	// Estimate is about how many bytes AppendWithin would like to append.
	Estimate() int
	// AppendWithin is AppendTo with a bound: it keeps to limit bytes if it
	// can. A Fetch must give one batch to get a reader past it. What it adds
	// to later is not among them, and costs no memory before it leaves.
	AppendWithin(dst []byte, limit int, later *Later) []byte
}
