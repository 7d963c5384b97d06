package coordinator

import "time"

// trip is a leap of a shard's clock that is under way.
type trip struct {
	left time.Duration
	done []chan struct{} // closed on arrival
}

// Advance moves the clock of every shard ahead by d, as if that time had
// passed. Each deadline on the way is met at its own time and not late, so that
// a shard does not take the leap for a stall. It returns when every shard has
// arrived. It is for tests of programs.
func (c *shell[Q, R, E]) Advance(d time.Duration) {
	var waits []chan struct{}
	for _, r := range c.runners {
		done := make(chan struct{})
		if r.control(func(r *runner[Q, R, E]) { r.depart(d, done) }) {
			waits = append(waits, done)
		}
	}
	for _, done := range waits {
		<-done
	}
}

func (r *runner[Q, R, E]) depart(d time.Duration, done chan struct{}) {
	if r.trip == nil {
		r.trip = &trip{}
	}
	r.trip.left += d
	r.trip.done = append(r.trip.done, done)
}

// travel takes the clock to the shard's next deadline, before a turn, or to
// the end of the trip if that comes first.
func (r *runner[Q, R, E]) travel() {
	if r.trip == nil || r.trip.left == 0 {
		return
	}
	step := r.trip.left
	if r.shard != nil {
		if at, ok := r.shard.Deadline(); ok {
			step = min(step, max(at-r.c.config.Now().Mono-r.ahead, 0))
		}
	}
	r.ahead += step
	r.trip.left -= step
	r.wakeAt = 0 // the timer was set by the clock as it was
}

// arrive ends a trip after the turn at its end, or has another turn follow.
func (r *runner[Q, R, E]) arrive() {
	switch {
	case r.trip == nil:
	case r.trip.left > 0 && r.state != stopped:
		r.again = true
	default:
		for _, done := range r.trip.done {
			close(done)
		}
		r.trip = nil
	}
}
