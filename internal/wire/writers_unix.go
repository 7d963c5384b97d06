//go:build unix

package wire

import (
	"net"
	"os"
	"syscall"
)

// attempt makes one system call, and is never called again for the same bytes.
func (p *place) attempt(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), p.b)
		switch err {
		case nil:
			p.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			p.failed = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		}
		return true
	}
}
