package api

import (
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/coordinator"
)

// Server is what handlers work on. It holds no state of its own. It must not
// be copied.
type Server struct {
	Broker      *broker.Broker
	Coordinator *coordinator.Coordinator
	// Log receives faults that a reply cannot carry.
	Log *slog.Logger

	versionsOnce sync.Once
	versionsList []kmsg.ApiVersionsResponseApiKey
}
