package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

const sendsFiles = true

// sendFile sends size bytes at off of a file. took hears of what has left.
func sendFile(raw syscall.RawConn, fd uintptr, off int64, size int, took func(n int)) error {
	var failed error
	err := raw.Write(func(to uintptr) bool {
		for size > 0 {
			n, err := syscall.Sendfile(int(to), int(fd), &off, min(size, writeSize))
			switch {
			case n > 0:
				size -= n
				took(n)
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("sendfile", err)}
				return true
			default:
				failed = io.ErrUnexpectedEOF
				return true
			}
		}
		return true
	})
	return errors.Join(err, failed)
}
