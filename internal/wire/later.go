package wire

import (
	"net"

	"rota/internal/api"
	"rota/internal/storage"
)

const (
	// stepSize is how much of a reply that is read as it leaves is read and
	// written at a time.
	stepSize = 128 << 10
	// leastStep is what it is when memory is scarce.
	leastStep = 16 << 10
)

// stepper writes a reply of which parts are read only now: in steps of at most
// stepSize, through one small buffer that stays in the processor's cache. A
// peer that reads slowly keeps no more than that buffer, and what the storage
// cares to lend for one step.
type stepper struct {
	conn  *conn
	later api.Later
	step  *buffer // nil until it is needed
	held  int64   // of the reply budget, for step
	vec   [2][]byte
	bufs  net.Buffers // of vec, while it is being written
}

func (s *Server) newStepper(c *conn) *stepper {
	if st, ok := s.steppers.Get().(*stepper); ok {
		st.conn = c
		return st
	}
	return &stepper{conn: c}
}

// waits reports whether there are parts to be read.
func (s *stepper) waits() bool { return s != nil && s.later.Bytes() > 0 }

// end gives everything back, also when the reply has not been sent.
func (s *stepper) end() {
	s.later.Reset()
	srv := s.conn.srv
	if s.step != nil {
		srv.buffers.put(s.step)
		srv.replies.give(s.held)
	}
	s.conn, s.step, s.held = nil, nil, 0
	srv.steppers.Put(s)
}

// take takes a buffer as large as the budget allows.
func (s *stepper) take() {
	budget := &s.conn.srv.replies
	size, granted := int64(stepSize), budget.upTo(stepSize)
	for size > max(granted, leastStep) {
		size /= 2
	}
	if size > granted {
		budget.force(size - granted)
	} else {
		budget.give(granted - size)
	}
	s.held = size
	s.step = s.conn.srv.buffers.get(int(size))
}

// send writes b with the parts in their places, and closes the parts.
func (s *stepper) send(b []byte) error {
	defer s.later.Reset()
	if s.step == nil {
		s.take()
	}
	s.step.b = s.step.b[:0]
	at := 0
	for _, part := range s.later.Parts() {
		if err := s.copy(b[at:part.At]); err != nil {
			return err
		}
		at = part.At
		if err := s.sendPart(part.Stretch); err != nil {
			return err
		}
	}
	if err := s.copy(b[at:]); err != nil {
		return err
	}
	if err := s.write(nil); err != nil {
		return err
	}
	s.conn.socket.cork(false)
	return nil
}

// sendPart sends all of a part, but for what has a place in the step.
func (s *stepper) sendPart(st storage.Stretch) error {
	for left := st.Size(); left > 0; {
		n, err := s.sendFile(st)
		if n == 0 && err == nil {
			n, err = s.read(st)
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// read adds the next bytes of a part to the step, and writes it if it is full.
func (s *stepper) read(st storage.Stretch) (int, error) {
	n, lent, err := st.Next(s.step.b[len(s.step.b):cap(s.step.b)])
	if err != nil {
		return 0, err
	}
	s.step.b = s.step.b[:len(s.step.b)+n]
	if len(lent) > 0 || len(s.step.b) == cap(s.step.b) {
		err = s.write(lent)
	}
	return n + len(lent), err
}

// copy adds b to the step. There is room for a byte afterwards.
func (s *stepper) copy(b []byte) error {
	for {
		n := copy(s.step.b[len(s.step.b):cap(s.step.b)], b)
		s.step.b = s.step.b[:len(s.step.b)+n]
		b = b[n:]
		if len(s.step.b) < cap(s.step.b) {
			return nil
		}
		if err := s.write(nil); err != nil {
			return err
		}
	}
}

// write writes the step and what is lent.
func (s *stepper) write(lent []byte) error {
	c := s.conn
	if len(s.step.b)+len(lent) == 0 {
		return nil
	}
	var n int64
	var err error
	if len(lent) == 0 {
		var m int
		m, err = c.nc.Write(s.step.b)
		n = int64(m)
	} else {
		s.vec = [2][]byte{s.step.b, lent}
		s.bufs = s.vec[:]
		n, err = s.bufs.WriteTo(c.nc)
		s.vec = [2][]byte{}
	}
	c.srv.sent.Add(n)
	s.step.b = s.step.b[:0]
	if err == nil {
		c.progress()
	}
	return err
}
