package vfs

import (
	"errors"
	"math/bits"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// syscallPwritev2 is the number of the system call, which package syscall does
// not have.
var syscallPwritev2 = map[string]uintptr{
	"386": 379, "amd64": 328, "arm": 393, "arm64": 287, "loong64": 287,
	"ppc64": 381, "ppc64le": 381, "riscv64": 287, "s390x": 377,
}[runtime.GOARCH]

// writeSynced is pwritev2 with RWF_DSYNC, which syncs what it has written and
// no more. Where that does not exist, everything is synced.
func (f *osFile) writeSynced(b []byte, off int64) error {
	err := f.pwriteSynced(b, off)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	if _, err := f.WriteAt(b, off); err != nil {
		return err
	}
	return f.Sync()
}

func (f *osFile) pwriteSynced(b []byte, off int64) error {
	const dataSync = 2 // RWF_DSYNC
	if syscallPwritev2 == 0 || len(b) == 0 {
		return errors.ErrUnsupported
	}
	fd := f.Fd()
	for {
		v := syscall.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(len(b))
		n, _, errno := syscall.Syscall6(syscallPwritev2, fd, uintptr(unsafe.Pointer(&v)), 1,
			uintptr(off), uintptr(off>>32>>(bits.UintSize-32)), dataSync)
		runtime.KeepAlive(b)
		runtime.KeepAlive(f)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EOPNOTSUPP, errno == syscall.ENOSYS, errno == 0 && int(n) < len(b):
			return errors.ErrUnsupported
		case errno != 0:
			return errno
		default:
			return nil
		}
	}
}
