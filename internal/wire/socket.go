package wire

import (
	"net"
	"syscall"
)

// socket is what the system knows of a connection, beyond bytes.
type socket struct {
	raw syscall.RawConn // nil: it is not a TCP connection
	// plain: what is sent on it is what the peer reads, not so with TLS.
	plain bool
	// corked: the system holds back what does not fill a packet.
	corked bool
}

func newSocket(nc net.Conn) socket {
	s := socket{plain: true}
	if wrapped, ok := nc.(interface{ NetConn() net.Conn }); ok {
		s.plain = false
		nc = wrapped.NetConn()
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return socket{}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return socket{}
	}
	s.raw = raw
	// A congestion control that paces sets a timer for each packet, which costs
	// as much as half of sending it. There is no network to be gentle to between
	// two processes of one machine.
	if peer, ok := tcp.RemoteAddr().(*net.TCPAddr); ok && peer.IP.IsLoopback() && paces() {
		unpace(raw)
	}
	return s
}

// cork has the system wait for full packets, or no longer. A system that does
// not sends more packets, and that is all.
func (s *socket) cork(on bool) {
	if s.corked != on {
		s.corked = on
		cork(s.raw, on)
	}
}
