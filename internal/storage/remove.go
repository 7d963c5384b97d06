package storage

import "context"

// Remove ends the log of p, durably, and deletes its bytes. Parked reads and
// appends get ErrClosed. While the journal is being reopened after a failed
// flush it waits. After another error the log is gone for everybody, and
// Remove can be tried again. Removing what is not there is no error.
func (s *Store) Remove(p Partition) error {
	s.mu.Lock()
	l, ok := s.logs[p]
	if ok {
		l.removed = true
	}
	s.mu.Unlock()
	if !ok {
		return nil
	}
	var c completions
	var freed pins
	l.mu.Lock()
	epoch := l.epoch
	l.endLocked(ErrClosed, &c)
	l.truncateLocked(l.sent, &freed) // the rest may be in flushes that are under way
	l.mu.Unlock()
	freed.release()
	c.tell()

	durable := make(chan error, 1)
	f := Frame{Kind: FrameRemove, Partition: p, Epoch: epoch}
	s.submit(control{frame: f, insist: true, done: func(_ Frame, flush uint64, err error) {
		if err == nil {
			s.mu.Lock()
			if l.hold == 0 {
				l.hold = flush
			}
			s.mu.Unlock()
		}
		durable <- err
	}})
	if err := <-durable; err != nil {
		return err
	}
	return s.inSettler(context.Background(), func() error { return s.deleteBytes(l) })
}

// deleteBytes is the end of a log whose removal is durable.
func (s *Store) deleteBytes(l *Log) error {
	l.dropTail()
	l.mu.Lock()
	l.corrupt = true // no round settles it any more
	l.mu.Unlock()
	if err := s.m.Remove(l.p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[l.p] == l {
		delete(s.logs, l.p)
	}
	return nil
}

// endLocked makes err the answer of every later call and wakes all that wait.
func (l *Log) endLocked(err error, c *completions) {
	if l.err == nil {
		l.err = err
	}
	for l.waiters.len() > 0 {
		l.answerFirstLocked(c, l.err)
	}
	l.wakeLocked(c)
}
