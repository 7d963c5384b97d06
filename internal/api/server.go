package api

import (
	"log/slog"

	"rota/internal/broker"
	"rota/internal/coordinator"
)

// Server is what handlers work on. It holds no state of its own.
type Server struct {
	Broker      *broker.Broker
	Coordinator *coordinator.Coordinator
	// Log receives faults that a reply cannot carry.
	Log *slog.Logger
}
