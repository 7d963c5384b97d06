package wire

import (
	"log/slog"
	"sync/atomic"
)

// grumble logs what peers do wrong, but only so much of it between two
// sweeps: a peer must not be able to fill a disk with our complaints.
type grumble struct {
	log        *slog.Logger
	said       atomic.Int32
	suppressed atomic.Int64
}

const mostGrumbles = 10

func (g *grumble) say(msg string, attrs ...any) {
	if g.said.Add(1) > mostGrumbles {
		g.suppressed.Add(1)
		return
	}
	g.log.Warn(msg, attrs...) //nolint:sloglint // msg is a constant of each caller
}

// reset lets it speak again.
func (g *grumble) reset() {
	g.said.Store(0)
	if n := g.suppressed.Swap(0); n > 0 {
		g.log.Warn("more complaints about connections were suppressed", slog.Int64("count", n))
	}
}
