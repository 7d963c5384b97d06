package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// herd is many members that one goroutine drives: it waits for all of their
// connections at once and reads and writes each with one system call. With a goroutine for
// each the driver would take as much of the machine as the broker does, and
// the figures would say as much about the driver.
type herd struct {
	poll    int
	members []*herded
	buf     []byte
}

// herded is one member of a herd. Its connection is the herd's.
type herded struct {
	*member
	fd    int
	asked kmsg.Request // that is not answered
	part  []byte       // of an answer that has not come whole
}

// newHerd takes over the connections of the members, which can only be closed
// afterwards.
func newHerd(members []*member) (*herd, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	h := &herd{poll: poll, buf: make([]byte, 256<<10)}
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
	return syscall.EpollCtl(h.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)})
}

func (h *herd) close() {
	for _, m := range h.members {
		_ = syscall.Close(m.fd)
	}
	_ = syscall.Close(h.poll)
}

// rejoin has all members join again with new metadata, at once, and returns when
// each is in a stable generation.
func (h *herd) rejoin() error {
	for _, m := range h.members {
		m.metadata[0]++
		if err := h.ask(m, m.joinRequest()); err != nil {
			return err
		}
	}
	var events [128]syscall.EpollEvent
	for settled := 0; settled < len(h.members); {
		n, err := syscall.EpollWait(h.poll, events[:], 60_000)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%d of %d members are not settled after a minute of silence", len(h.members)-settled, len(h.members))
		}
		for _, e := range events[:n] {
			done, err := h.hear(h.members[e.Fd])
			if err != nil {
				return err
			}
			if done {
				settled++
			}
		}
	}
	return nil
}

func (h *herd) ask(m *herded, req kmsg.Request) error {
	m.asked = req
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
// It reports whether the member is settled.
func (h *herd) hear(m *herded) (settled bool, err error) {
	n, err := syscall.Read(m.fd, h.buf)
	if n == 0 && err == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return false, err
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
		return false, nil
	}
	m.part = nil
	resp := m.asked.ResponseKind()
	resp.SetVersion(m.asked.GetVersion())
	if err := resp.ReadFrom(answer[8:]); err != nil {
		return false, err
	}
	next, err := m.follow(resp)
	if err != nil || next == nil {
		return next == nil, err
	}
	return false, h.ask(m, next)
}
