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
// Errors: errNotSent, those of the system.
func sendFile(raw syscall.RawConn, fd uintptr, off int64, size int, took func(n int)) error {
	var failed error
	whole := size
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
			case size == whole && refuses(err):
				failed = errNotSent
				return true
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

// refuses reports whether an error is that of a file system, or of a sandbox,
// that lets files be read but not sent.
func refuses(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) ||
		errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EPERM)
}
