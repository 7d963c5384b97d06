package wire

import (
	"log/slog"
	"time"

	"rota/internal/api"
)

// Config says how a Server behaves. Zero fields have their defaults.
type Config struct {
	// API is what handlers work on.
	API *api.Server
	// Table lists the APIs. Default: api.Table().
	Table []api.API
	// Pressed returns a channel while Produce requests must not be read, which
	// is closed when they may be again (storage.Store.Pressed). Default: never.
	Pressed func() <-chan struct{}
	// MaxRequestBytes is socket.request.max.bytes. Default 100 MiB.
	MaxRequestBytes int
	// MaxConnections is max.connections. Default: no limit.
	MaxConnections int
	// MaxConnectionsPerAddress is max.connections.per.ip. Default: no limit.
	MaxConnectionsPerAddress int
	// IdleTimeout is connections.max.idle.ms: a connection without open calls
	// that sends nothing, or that reads none of its replies, for this long is
	// closed. Default 10 min; negative: never.
	IdleTimeout time.Duration
	// StallTimeout is how long a peer may stop in the middle of a large frame,
	// and how long it may leave replies unread while other connections lack
	// the memory. Default 30 s.
	StallTimeout time.Duration
	// MaxOpen bounds the unanswered calls of one connection. Default 128.
	MaxOpen int
	// DataBudget bounds the bytes of Produce and Fetch requests in memory,
	// GroupBudget those of all others. Default 64 MiB each.
	DataBudget, GroupBudget int64
	// ReplyBudget bounds the bytes of Fetch answers in memory: when it is used
	// up, each carries one batch. Default 64 MiB.
	ReplyBudget int64
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Table == nil {
		c.Table = api.Table()
	}
	if c.Pressed == nil {
		c.Pressed = func() <-chan struct{} { return nil }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.MaxRequestBytes, 100<<20)
	setDefault(&c.IdleTimeout, 10*time.Minute)
	setDefault(&c.StallTimeout, 30*time.Second)
	setDefault(&c.MaxOpen, 128)
	setDefault(&c.DataBudget, 64<<20)
	setDefault(&c.GroupBudget, 64<<20)
	setDefault(&c.ReplyBudget, 64<<20)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
