package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// herd is many members that one goroutine drives: it waits for all of their
// connections at once and reads and writes each with one system call. With a
// goroutine for each the driver would take as much of the machine as the broker
// does, and the figures would say as much about the driver.
type herd struct {
	poll    int
	members []*herded
	buf     []byte
	crowds  map[string]*crowd // by group
	missing int               // crowds that are not where they are expected

	// A member that is stable beats after a tenth of the interval and then every
	// interval. The early beat keeps chance out of the figures: without it,
	// whoever is first in an empty group learns of the others after a whole
	// interval, or not, by luck.
	interval     time.Duration // 0: nobody beats
	early, later []beat        // by time
}

// herded is one member of a herd. Its connection is the herd's.
type herded struct {
	*member
	fd    int
	asked kmsg.Request // that is not answered
	part  []byte       // of an answer that has not come whole
	due   time.Time    // of the next heartbeat
}

type beat struct {
	m  *herded
	at time.Time
}

// crowd is who of the members of a group is stable in which generation.
type crowd struct {
	at    map[int32]int
	want  int
	from  int32 // a generation that counts is later
	there bool
}

// newHerd takes over the connections of the members, which can only be closed
// afterwards.
func newHerd(members []*member) (*herd, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	h := &herd{poll: poll, buf: make([]byte, 256<<10), crowds: map[string]*crowd{}}
	for i, m := range members {
		if err := h.take(i, m); err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

func (h *herd) take(i int, m *member) error {
	tcp, ok := m.c.c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("%T is no TCP connection", m.c.c)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var fd int
	if err := raw.Control(func(p uintptr) { fd, err = syscall.Dup(int(p)) }); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	h.members = append(h.members, &herded{member: m, fd: fd})
	_ = tcp.Close() // so that the runtime does not watch the connection as well
	// Reads come when there is something; a write of a whole assignment may wait.
	if err := syscall.SetNonblock(fd, false); err != nil {
		return err
	}
	if h.crowds[m.group] == nil {
		h.crowds[m.group] = &crowd{at: map[int32]int{}, there: true}
	}
	return syscall.EpollCtl(h.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)})
}

func (h *herd) close() {
	for _, m := range h.members {
		_ = syscall.Close(m.fd)
	}
	_ = syscall.Close(h.poll)
}

// expect says how many members the next generation of a group that counts has.
func (h *herd) expect(group string, n int) {
	c := h.crowds[group]
	c.want = n
	if c.there {
		c.there = false
		h.missing++
	}
}

// join has members join, with new metadata if they have joined before.
func (h *herd) join(members []*herded) error {
	for _, m := range members {
		if m.id != "" {
			m.metadata[0]++
		}
		if err := h.ask(m, m.joinRequest()); err != nil {
			return err
		}
	}
	return nil
}

// leave has a member leave, once it is asked nothing.
func (h *herd) leave(ctx context.Context, m *herded) error {
	if err := h.drive(ctx, func() bool { return m.asked == nil }); err != nil {
		return err
	}
	return h.ask(m, m.leaveRequest())
}

// await drives the members until all that was expected has come.
func (h *herd) await(ctx context.Context) error {
	return h.drive(ctx, func() bool { return h.missing == 0 })
}

// rest has nobody beat any more and waits until nobody is asked anything.
func (h *herd) rest(ctx context.Context) error {
	h.interval, h.early, h.later = 0, nil, nil
	return h.drive(ctx, func() bool {
		return !slices.ContainsFunc(h.members, func(m *herded) bool { return m.asked != nil })
	})
}

// rejoin has all members of some groups join, with new metadata if they have
// joined before, and returns when each is in a stable generation.
func (h *herd) rejoin(ctx context.Context, members []*herded) error {
	sizes := map[string]int{}
	for _, m := range members {
		sizes[m.group]++
	}
	for group, n := range sizes {
		h.expect(group, n)
	}
	if err := h.join(members); err != nil {
		return err
	}
	return h.await(ctx)
}

func (h *herd) drive(ctx context.Context, done func() bool) error {
	var events [128]syscall.EpollEvent
	heard := time.Now()
	for !done() {
		n, err := syscall.EpollWait(h.poll, events[:], h.patience())
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := time.Now()
		if n > 0 {
			heard = now
		} else if now.Sub(heard) > time.Minute {
			return fmt.Errorf("after a minute of silence %d groups are not stable", h.missing)
		}
		for _, e := range events[:n] {
			if err := h.hear(h.members[e.Fd], now); err != nil {
				return err
			}
		}
		if err := h.beat(now); err != nil {
			return err
		}
	}
	return nil
}

// patience is for how many milliseconds nobody has to beat.
func (h *herd) patience() int {
	wait := time.Second
	for _, queue := range [][]beat{h.early, h.later} {
		if len(queue) > 0 {
			wait = min(wait, time.Until(queue[0].at))
		}
	}
	return int(max(wait+time.Millisecond-1, 0) / time.Millisecond)
}

// beat sends the heartbeats that are due.
func (h *herd) beat(now time.Time) error {
	for _, queue := range []*[]beat{&h.early, &h.later} {
		for len(*queue) > 0 && !(*queue)[0].at.After(now) {
			b := (*queue)[0]
			*queue = (*queue)[1:]
			if b.m.asked != nil || b.m.due != b.at {
				continue // it does something else
			}
			if err := h.ask(b.m, b.m.beat()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *herd) ask(m *herded, req kmsg.Request) error {
	m.asked, m.due = req, time.Time{}
	m.c.correlation++
	frame := format.AppendRequest(h.buf[:0], req, m.c.correlation)
	h.buf = frame[:cap(frame)]
	n, err := syscall.Write(m.fd, frame)
	if err == nil && n < len(frame) {
		err = fmt.Errorf("the system took %d of %d bytes", n, len(frame))
	}
	return err
}

// hear reads what has come for a member, and has it go on if that is an answer.
func (h *herd) hear(m *herded, now time.Time) error {
	n, err := syscall.Read(m.fd, h.buf)
	if n == 0 && err == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	answer := h.buf[:n]
	if len(m.part) > 0 {
		m.part = append(m.part, answer...)
		answer = m.part
	}
	if len(answer) < 4 || len(answer) < 4+int(binary.BigEndian.Uint32(answer)) {
		if len(m.part) == 0 {
			m.part = slices.Clone(answer)
		}
		return nil
	}
	m.part = nil
	asked := m.asked
	m.asked = nil
	resp := asked.ResponseKind()
	resp.SetVersion(asked.GetVersion())
	if err := resp.ReadFrom(answer[8:]); err != nil {
		return err
	}
	next, err := m.follow(resp)
	switch {
	case err != nil:
		return err
	case next != nil:
		return h.ask(m, next)
	}
	switch resp.(type) {
	case *kmsg.SyncGroupResponse:
		h.stable(m)
		h.schedule(&h.early, m, now.Add(h.interval/10))
	case *kmsg.HeartbeatResponse:
		h.schedule(&h.later, m, now.Add(h.interval))
	}
	return nil
}

func (h *herd) schedule(queue *[]beat, m *herded, at time.Time) {
	if h.interval > 0 {
		m.due = at
		*queue = append(*queue, beat{m, at})
	}
}

func (h *herd) stable(m *herded) {
	c := h.crowds[m.group]
	c.at[m.generation]++
	if c.at[m.generation] == c.want && m.generation > c.from && !c.there {
		c.from, c.there = m.generation, true
		h.missing--
	}
}
