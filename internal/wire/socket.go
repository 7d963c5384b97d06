package wire

import (
	"net"
	"syscall"
)

// socket is a TCP connection on which the peer reads what is sent: the system's
// calls may be used on it. With TLS there is none.
type socket struct {
	raw syscall.RawConn // nil: there is none; never changed

	// What follows belongs to whoever writes.

	files  bool // the system sends files on it
	corked bool // it holds back what does not fill a packet
}

func newSocket(nc net.Conn) socket {
	wrapped, isWrapped := nc.(interface{ NetConn() net.Conn })
	if isWrapped {
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
	// A congestion control that paces sets a timer for each packet, which costs
	// as much as half of sending it. There is no network to be gentle to between
	// two processes of one machine.
	if peer, ok := tcp.RemoteAddr().(*net.TCPAddr); ok && peer.IP.IsLoopback() && paces() {
		unpace(raw)
	}
	if isWrapped {
		return socket{}
	}
	return socket{raw: raw, files: sendsFiles}
}

// cork has the system wait for full packets, or no longer. A system that does
// not sends more packets, and that is all.
func (s *socket) cork(on bool) {
	if s.corked != on {
		s.corked = on
		cork(s.raw, on)
	}
}
