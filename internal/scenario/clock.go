package scenario

import (
	"errors"
	"time"
)

// How time passes in the shell: never by itself, and from deadline to deadline.

// settle runs the deadlines that are due without any time passing.
func (s *shell) settle() error {
	for range 1000 {
		due := s.due()
		if due == "" {
			return nil
		}
		g := s.groups[due]
		if err := s.effects(due, g, g.Tick(s.present(), s.at())); err != nil {
			return err
		}
	}
	return errors.New("a deadline that Tick does not move")
}

// due returns the first group with a deadline that has come.
func (s *shell) due() string {
	for _, name := range s.names {
		if g, ok := s.groups[name]; ok {
			if at, ok := g.Deadline(); ok && at <= s.now {
				return name
			}
		}
	}
	return ""
}

// pass lets time go by, stopping at each deadline.
func (s *shell) pass(d time.Duration, before map[string]string) error {
	end := s.now + d
	for range 100000 {
		next, ok := s.deadline()
		if !ok || next > end {
			s.now = end
			return nil
		}
		s.now = max(s.now, next)
		s.segments = append(s.segments, segment{at: s.now - s.origin})
		if err := s.settle(); err != nil {
			return err
		}
		after := s.states()
		s.lastSegment().states, s.lastSegment().changed = after, changedStates(before, after)
		before = after
	}
	return errors.New("too many deadlines")
}

// deadline is the earliest of all groups.
func (s *shell) deadline() (next time.Duration, ok bool) {
	for _, g := range s.groups {
		if at, has := g.Deadline(); has && (!ok || at < next) {
			next, ok = at, true
		}
	}
	return next, ok
}

// nextDeadline passes the time until the next deadline and runs it.
func (s *shell) nextDeadline() error {
	next, ok := s.deadline()
	if !ok {
		return errors.New("nothing is going to happen")
	}
	s.now = max(s.now, next)
	return s.settle()
}
