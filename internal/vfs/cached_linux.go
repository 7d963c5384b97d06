package vfs

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// writeVecCached makes the file go by the page cache for one write. Reads at the
// same time may go by it too, and find the same bytes.
func (f *directFile) writeVecCached(bufs [][]byte, off int64) error {
	f.lastAt = -1
	if err := f.setDirect(false); err != nil {
		return err
	}
	return errors.Join(f.osFile.WriteVec(bufs, off), f.setDirect(true))
}

func (f *directFile) setDirect(direct bool) error {
	fd := f.Fd()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
	if errno == 0 {
		flags &^= syscall.O_DIRECT
		if direct {
			flags |= syscall.O_DIRECT
		}
		_, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETFL, flags)
	}
	runtime.KeepAlive(f)
	if errno != 0 {
		return &os.PathError{Op: "fcntl", Path: f.Name(), Err: errno}
	}
	return nil
}
