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
	// handler that keeps them copies them.
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
	// Reply sends the response.
	Reply(kmsg.Response)
	// NoReply ends the call without a response (Produce with acks=0).
	NoReply()
	// Drop closes the connection, as Kafka does for what it cannot answer.
	Drop(reason error)
}
