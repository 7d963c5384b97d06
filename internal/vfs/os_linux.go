package vfs

import (
	"errors"
	"io"
	"math/bits"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Sync is fdatasync: the times of the file need not be durable.
func (f *osFile) Sync() error {
	fd := int(f.Fd())
	for {
		err := syscall.Fdatasync(fd)
		runtime.KeepAlive(f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return &os.PathError{Op: "sync", Path: f.Name(), Err: err}
		}
	}
}

// vector is the list of pieces that pwritev takes.
type vector []syscall.Iovec

// maxPieces is the system's limit for one call (IOV_MAX).
const maxPieces = 1024

// WriteVec is pwritev, repeated while the system takes only a part.
func (f *osFile) WriteVec(bufs [][]byte, off int64) error {
	skip := 0 // bytes of bufs[0] that are written
	for {
		f.vec = f.vec[:0]
		for i, b := range bufs {
			if i == 0 {
				b = b[skip:]
			}
			if len(b) == 0 {
				continue
			}
			if len(f.vec) == maxPieces {
				break
			}
			v := syscall.Iovec{Base: unsafe.SliceData(b)}
			v.SetLen(len(b))
			f.vec = append(f.vec, v)
		}
		if len(f.vec) == 0 {
			return nil
		}
		n, err := f.pwritev(off)
		clear(f.vec) // do not keep the caller's memory alive
		if err != nil {
			return &os.PathError{Op: "write", Path: f.Name(), Err: err}
		}
		off += int64(n)
		for n += skip; len(bufs) > 0 && n >= len(bufs[0]); bufs = bufs[1:] {
			n -= len(bufs[0])
		}
		skip = n
	}
}

func (f *osFile) pwritev(off int64) (int, error) {
	fd := f.Fd()
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_PWRITEV, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(f.vec))), uintptr(len(f.vec)),
			uintptr(off), uintptr(off>>32>>(bits.UintSize-32)), 0)
		runtime.KeepAlive(f)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.ErrShortWrite
		default:
			return int(n), nil
		}
	}
}

// syscallSyncfs is the number of the system call, which package syscall does
// not have.
var syscallSyncfs = map[string]uintptr{
	"386": 344, "amd64": 306, "arm": 373, "arm64": 267, "loong64": 267,
	"ppc64": 348, "ppc64le": 348, "riscv64": 267, "s390x": 338,
}[runtime.GOARCH]

// syncAll is syncfs. dir has been open since before the bytes were written, so
// no failure to write them back can have been reported to somebody else only.
func syncAll(dir *os.File, names []string) error {
	if syscallSyncfs == 0 {
		return syncEach(names)
	}
	for {
		_, _, errno := syscall.Syscall(syscallSyncfs, dir.Fd(), 0, 0)
		runtime.KeepAlive(dir)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		case syscall.ENOSYS:
			return syncEach(names)
		default:
			return &os.PathError{Op: "syncfs", Path: dir.Name(), Err: errno}
		}
	}
}

// syscallRenameat2 is the number of the system call, as above.
var syscallRenameat2 = map[string]uintptr{
	"386": 353, "amd64": 316, "arm": 382, "arm64": 276, "loong64": 276,
	"ppc64": 357, "ppc64le": 357, "riscv64": 276, "s390x": 347,
}[runtime.GOARCH]

// exchange is renameat2 with RENAME_EXCHANGE. Not every file system has it.
func exchange(a, b string) error {
	const (
		workingFolder  = -100 // AT_FDCWD
		renameExchange = 2
	)
	if syscallRenameat2 == 0 {
		return errors.ErrUnsupported
	}
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	at := workingFolder
	for {
		_, _, errno := syscall.Syscall6(syscallRenameat2, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)), renameExchange, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		case syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP:
			return errors.ErrUnsupported
		default:
			return errno
		}
	}
}

// space is how large the file system of a folder is, and what is free.
func space(dir string) (total, free int64, err error) {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &s)
		if err == nil {
			size := int64(s.Bsize) //nolint:unconvert // the types differ between architectures
			return int64(s.Blocks) * size, int64(s.Bavail) * size, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
		}
	}
}
