package storage

// answered is a waiter that is about to hear.
type answered struct {
	waiter
	start int64
	err   error
}

// completions is the work of one turn of the completion loop: first the state
// of all logs is brought up to date, then everybody is told.
type completions struct {
	answers []answered
	watches []func()
}

// tell calls everybody, without any lock.
func (c *completions) tell() {
	for i := range c.answers {
		a := &c.answers[i]
		a.answer(a.start, a.err)
	}
	for _, f := range c.watches {
		f()
	}
	clear(c.answers)
	clear(c.watches)
	c.answers, c.watches = c.answers[:0], c.watches[:0]
}

// completeLoop answers appends and wakes readers. All of the store's answers
// and wake-ups come from here, so they are in order.
func (s *Store) completeLoop() {
	defer s.loops.Done()
	var wrote, landed, failed []*flight
	var c completions
	for {
		s.mu.Lock()
		wrote, s.wrote = s.wrote, wrote[:0]
		landed, s.landed = s.landed, landed[:0]
		allLanded := len(s.flights) == 0 && !s.gathering
		ended := s.phase == phaseEnded && len(wrote)+len(landed) == 0
		s.mu.Unlock()
		if ended {
			return
		}
		for _, f := range wrote {
			s.completeWritten(f, &c)
		}
		for _, f := range landed {
			if f.err != nil || len(failed) > 0 {
				failed = append(failed, f)
				continue
			}
			s.completeDurable(f, &c)
		}
		if len(failed) > 0 && allLanded {
			s.fallBack(failed, &c)
			failed = failed[:0]
		}
		if len(wrote)+len(landed) == 0 {
			<-s.wakeCompleter
		}
	}
}

// completeWritten answers the appends of f that wait to be written only, as
// far as no durable one is before them.
func (s *Store) completeWritten(f *flight, c *completions) {
	for i := range f.parts {
		p := &f.parts[i]
		l := p.log
		l.mu.Lock()
		for l.writtenAcks > 0 && l.waiters.len() > 0 {
			w := l.waiters.at(0)
			if w.ack != WrittenAck || w.end > p.end {
				break
			}
			l.answerFirstLocked(c, nil)
		}
		l.mu.Unlock()
	}
	c.tell()
}

// completeDurable moves the durable end of every log in f and tells.
func (s *Store) completeDurable(f *flight, c *completions) {
	for i := range f.parts {
		p := &f.parts[i]
		p.log.mu.Lock()
		p.log.advanceLocked(p.end, c)
		p.log.mu.Unlock()
	}
	// Whoever has an answer may ask for its batch to be settled. A removal is
	// another matter: its frame stays in the journal until its log is gone.
	m := mark{number: f.Number, bytes: int64(f.bytes), small: int64(f.small)}
	if len(f.control) == 0 {
		s.addMark(m)
	}
	c.tell()
	for i := range f.control {
		f.control[i].done(f.Frames[i], f.Number, nil)
	}
	if len(f.control) > 0 {
		s.addMark(m)
	}
	s.mu.Lock()
	s.recycleLocked(f)
	s.mu.Unlock()
}

// advanceLocked makes everything below end visible.
func (l *Log) advanceLocked(end int64, c *completions) {
	l.hw = end
	if l.producers.spans.len() > 0 {
		l.producers.spans.forget(end)
	}
	for l.waiters.len() > 0 && l.waiters.at(0).end <= end {
		l.answerFirstLocked(c, nil)
	}
	l.wakeLocked(c)
}

// answerFirstLocked moves the first waiter to c.
func (l *Log) answerFirstLocked(c *completions, err error) {
	w := *l.waiters.at(0)
	l.waiters.pop(1)
	if w.ack == WrittenAck {
		l.writtenAcks--
	}
	c.answers = append(c.answers, answered{waiter: w, start: l.start, err: err})
}

func (l *Log) wakeLocked(c *completions) {
	for _, w := range l.watches {
		c.watches = append(c.watches, w.f)
	}
}
