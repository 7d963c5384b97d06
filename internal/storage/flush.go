package storage

import (
	"runtime"
	"time"
)

// flight is a flush on its way: the medium's view of it and what must be done
// when it lands. Flights are reused.
type flight struct {
	Flush
	bytes   int       // with overhead
	small   int       // of these, in small batches
	parts   []part    // the logs whose batches it carries, each once
	control []control // the other frames
	// writtenAcks says that somebody waits for the frames to be written only.
	writtenAcks bool
	began       time.Duration // since Store.began
	landed      bool          // guarded by Store.mu
	err         error
}

// part is what a flight carries of one log.
type part struct {
	log   *Log
	end   int64 // durable end when it has landed
	count int   // batches
}

// control is a frame that carries no batch. It goes before all batches.
type control struct {
	frame Frame
	// insist repeats the frame after a failed flush instead of failing it.
	insist bool
	// done is called by the completion loop, with the flush that made the
	// frame durable.
	done func(f Frame, flush uint64, err error)
}

// frameOverhead is what a frame costs in a flush besides its batch.
const frameOverhead = 64

// pushReady says that a log has batches that wait for a flush. The caller has
// set l.queued, so that a log is in one list at most once.
func (s *Store) pushReady(l *Log) {
	s.mu.Lock()
	if l.conf.Load().Internal {
		s.ready[0].push(l)
	} else {
		s.ready[1].push(l)
	}
	idle := s.flusherIdle
	s.flusherIdle = false
	s.mu.Unlock()
	if idle {
		signal(s.wakeFlusher)
	}
}

// submit queues a control frame.
func (s *Store) submit(c control) {
	s.mu.Lock()
	if s.closing || s.err != nil {
		s.mu.Unlock()
		c.done(c.frame, 0, ErrClosed)
		return
	}
	s.control = append(s.control, c)
	idle := s.flusherIdle
	s.flusherIdle = false
	s.mu.Unlock()
	if idle {
		signal(s.wakeFlusher)
	}
}

// signal wakes the owner of a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// flushLoop sends flushes: the moment there is room in the air it takes what
// has gathered.
func (s *Store) flushLoop() {
	defer s.loops.Done()
	for {
		switch s.flusherTurn() {
		case turnWait:
			<-s.wakeFlusher
		case turnFlush:
			// Whoever can run now may be about to append: one write for all of
			// them costs less than one for each. If nobody can, this is over
			// at once.
			runtime.Gosched()
			if f := s.gather(); f != nil {
				s.wroteBytes(f.bytes)
				f.began = time.Since(s.began)
				s.m.Flush(f.Flush, func() { s.written(f) }, func(err error) { s.land(f, err) })
			}
		case turnReopen:
			s.reopen()
		case turnEnd:
			signal(s.wakeCompleter)
			return
		}
	}
}

type turn int

const (
	turnWait turn = iota
	turnFlush
	turnReopen
	turnEnd
)

// flusherTurn says what the flusher has to do next, and marks it idle if that
// is nothing.
func (s *Store) flusherTurn() turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	work := s.ready[0].len() > 0 || s.ready[1].len() > 0 || len(s.control) > 0
	switch {
	case s.phase == phaseDown && (s.closing || s.err != nil):
		s.phase = phaseEnded
		return turnEnd
	case s.phase == phaseDown:
		return turnReopen
	case s.phase == phaseServing && work && s.inAir < s.m.InFlight():
		s.gathering = true
		return turnFlush
	case s.phase == phaseServing && s.closing && !work && len(s.flights) == 0:
		s.phase = phaseEnded
		return turnEnd
	}
	s.flusherIdle = true
	return turnWait
}

// gather makes the next flush of what has gathered: control frames, then
// internal logs, then the others. It is nil if it turns out that nothing has.
func (s *Store) gather() *flight {
	s.mu.Lock()
	var f *flight
	if n := len(s.spare); n > 0 {
		f, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		f = new(flight)
	}
	limit := s.c.FlushLimit
	if s.ready[0].len() > 0 {
		limit = s.c.InternalFlushLimit
	}
	f.control, s.control = s.control, f.control[:0]
	f.Number = s.nextFlush
	for i := range f.control {
		frame := &f.control[i].frame
		if frame.Kind == FrameEpoch {
			s.counter++
			frame.Epoch = s.counter
		}
		f.Frames = append(f.Frames, *frame)
	}
	s.mu.Unlock()

	for full := false; !full; {
		l := s.popReady()
		if l == nil {
			break
		}
		if l.conf.Load().Internal {
			limit = min(limit, s.c.InternalFlushLimit)
		}
		var more bool
		if more, full = l.take(f, limit); more {
			s.pushReady(l)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering = false
	if len(f.Frames) == 0 {
		s.recycleLocked(f)
		signal(s.wakeCompleter) // it may be waiting for the end of gathering
		return nil
	}
	s.nextFlush++
	s.inAir++
	s.flights = append(s.flights, f)
	return f
}

func (s *Store) popReady() *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.ready {
		if q := &s.ready[i]; q.len() > 0 {
			l := *q.at(0)
			q.pop(1)
			return l
		}
	}
	return nil
}

// take moves waiting batches of the log into f. more says that some are left,
// full that they did not fit.
func (l *Log) take(f *flight, limit int) (more, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.sent
	for ; l.err == nil && l.sent < l.entries.len(); l.sent++ {
		e := l.entries.at(l.sent)
		size := int(e.size) + frameOverhead
		if f.bytes > 0 && f.bytes+size > limit {
			full = true
			break
		}
		b := e.batch()
		e.flush = f.Number
		f.bytes += size
		if e.size < smallBatch {
			f.small += size
		}
		f.Frames = append(f.Frames, Frame{Kind: FrameBatch, Partition: l.p, Offset: e.base, Epoch: e.epoch, Batch: b})
	}
	l.queued = l.sent < l.entries.len()
	if n := l.sent - first; n > 0 {
		f.parts = append(f.parts, part{log: l, end: l.entries.at(l.sent - 1).next(), count: n})
		f.writtenAcks = f.writtenAcks || l.writtenAcks > 0
	}
	return l.queued, full
}

// written is called by the medium when the frames have been handed to it.
func (s *Store) written(f *flight) {
	if !f.writtenAcks {
		return
	}
	s.mu.Lock()
	if !f.landed {
		s.wrote = append(s.wrote, f)
	}
	s.mu.Unlock()
	signal(s.wakeCompleter)
}

// land is called by the medium with the outcome of a flush.
func (s *Store) land(f *flight, err error) {
	s.meters.observe(f, time.Since(s.began), err)
	s.mu.Lock()
	f.landed, f.err = true, err
	s.inAir--
	if err != nil && s.phase == phaseServing {
		s.phase = phaseFailing
	}
	n := 0
	for n < len(s.flights) && s.flights[n].landed {
		n++
	}
	s.landed = append(s.landed, s.flights[:n]...)
	s.flights = append(s.flights[:0], s.flights[n:]...)
	idle := s.flusherIdle
	s.flusherIdle = false
	s.mu.Unlock()
	if n > 0 {
		signal(s.wakeCompleter)
	}
	if idle {
		signal(s.wakeFlusher)
	}
}

// recycleLocked keeps a flight for the next flush.
func (s *Store) recycleLocked(f *flight) {
	clear(f.Frames)
	clear(f.parts)
	clear(f.control)
	*f = flight{Flush: Flush{Frames: f.Frames[:0]}, parts: f.parts[:0], control: f.control[:0]}
	s.spare = append(s.spare, f)
}
