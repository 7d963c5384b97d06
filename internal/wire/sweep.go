package wire

import "time"

// sweep looks at every connection from time to time and closes those that are
// idle or stalled. A deadline on each read and write would cost more than all
// the rest of a heartbeat; this way a connection only notes in which sweep it
// last made progress.
func (s *Server) sweep() {
	interval := s.sweepInterval()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var conns []*conn
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		tick := s.tick.Add(1)
		idle, stall := ticks(s.cfg.IdleTimeout, interval), ticks(s.cfg.StallTimeout, interval)
		_, _, waiting := s.data.usage()
		used, _, _ := s.replies.usage()
		scarce := waiting > 0 || used >= s.cfg.ReplyBudget
		conns = s.connections(conns[:0])
		for i, c := range conns {
			if err := c.overdue(tick, idle, stall, scarce); err != nil {
				c.close(err)
			}
			conns[i] = nil
		}
		s.grumble.reset()
	}
}

// sweepInterval is short enough for the shortest timeout to be kept to a
// quarter.
func (s *Server) sweepInterval() time.Duration {
	shortest := s.cfg.StallTimeout
	if s.cfg.IdleTimeout > 0 {
		shortest = min(shortest, s.cfg.IdleTimeout)
	}
	return min(max(shortest/4, time.Millisecond), 5*time.Second)
}

// ticks is how many sweeps a connection must go without progress to have done
// so for at least d: one more than fit, as the first was partly over.
func ticks(d, interval time.Duration) uint32 {
	if d < 0 {
		return 1 << 31
	}
	return uint32((d+interval-1)/interval) + 1
}
