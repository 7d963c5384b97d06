package coordinator

import (
	"time"

	"rota/internal/machine"
)

// passStep is how many machines a pass visits in one turn, so that requests do
// not wait for it.
const passStep = 128

// pass is a request that goes to every machine, a few in each turn.
type pass[Q, R any] struct {
	req    Q
	ticket machine.Ticket
	asked  bool   // someone waits for the end: ticket is open
	answer R      // what that one gets
	left   int    // groups not visited yet: order[:left]
	last   uint64 // the last batch that the pass wrote to
}

// Pass begins to run a request on every machine of the shard. done comes back
// in a Release, with answer, once all records that come of it are durable. What
// the machines themselves reply is dropped.
func (s *Shard[Q, R, E]) Pass(req Q, answer R, done func(R)) {
	if s.ended != nil {
		return
	}
	t := s.tickets.take(req, done)
	s.tickets.get(t).pass = true
	s.passes = append(s.passes, &pass[Q, R]{req: req, ticket: t, asked: true, answer: answer, left: len(s.order)})
}

// passDeadline is when runPasses next has work.
func (s *Shard[Q, R, E]) passDeadline() (time.Duration, bool) {
	switch {
	case len(s.passes) > 0 && s.full:
		return s.now.Mono + time.Second, true
	case len(s.passes) > 0:
		return 0, true
	case len(s.order) > 0:
		return s.nextRun, true
	}
	return 0, false
}

// runPasses begins a pass of Expire if one is due and none waits, and goes on
// with the oldest pass. A machine that begins to exist meanwhile is not visited: it has nothing
// that the pass looks for. One that is dropped hands its place to the last
// one, which is either visited already or then visited in its new place.
func (s *Shard[Q, R, E]) runPasses() {
	if len(s.order) > 0 && s.nextRun <= s.now.Mono {
		s.nextRun = s.now.Mono + s.interval
		s.forgetProducers()
		if !s.expiring() {
			s.passes = append(s.passes, &pass[Q, R]{req: s.kind.Expire(), left: len(s.order)})
		}
	}
	if len(s.passes) == 0 || s.full {
		return
	}
	p := s.passes[0]
	for range passStep {
		p.left = min(p.left, len(s.order))
		if p.left == 0 {
			s.endPass(p)
			return
		}
		p.left--
		if b := s.step(s.order[p.left], p.ticket, p.req); b != nil {
			p.last = b.seq
		}
	}
}

// expiring reports whether a pass of Expire is under way, or waits: while the
// log is full they would pile up.
func (s *Shard[Q, R, E]) expiring() bool {
	for _, p := range s.passes {
		if !p.asked {
			return true
		}
	}
	return false
}

func (s *Shard[Q, R, E]) endPass(p *pass[Q, R]) {
	s.passes = s.passes[1:]
	if !p.asked {
		return
	}
	reply := machine.Reply[R]{Ticket: p.ticket, Body: p.answer}
	if b := s.flight.find(p.last); b != nil {
		b.replies = append(b.replies, held[Q, R, E]{reply: reply})
	} else {
		s.answer(p.ticket, reply.Body)
	}
}
