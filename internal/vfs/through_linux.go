package vfs

import (
	"errors"
	"math/bits"
	"runtime"
	"syscall"
	"unsafe"
)

// syscallPreadv2 is the number of the system call, which package syscall does
// not have.
var syscallPreadv2 = map[string]uintptr{
	"386": 378, "amd64": 327, "arm": 392, "arm64": 286, "loong64": 286,
	"ppc64": 380, "ppc64le": 380, "riscv64": 286, "s390x": 376,
}[runtime.GOARCH]

// readCached is preadv2 with RWF_NOWAIT. Not every file system has it.
func (f *osFile) readCached(p []byte, off int64) int {
	const noWait = 8
	if syscallPreadv2 == 0 {
		return 0
	}
	fd := f.Fd()
	done := 0
	for done < len(p) {
		v := syscall.Iovec{Base: unsafe.SliceData(p[done:])}
		v.SetLen(len(p) - done)
		at := off + int64(done)
		n, _, errno := syscall.Syscall6(syscallPreadv2, fd, uintptr(unsafe.Pointer(&v)), 1,
			uintptr(at), uintptr(at>>32>>(bits.UintSize-32)), noWait)
		runtime.KeepAlive(f)
		switch {
		case errors.Is(errno, syscall.EINTR):
		case errno != 0 || n == 0:
			return done
		default:
			done += int(n)
		}
	}
	return done
}

// A direct file has nothing in the page cache.
func (*directFile) readCached([]byte, int64) int { return 0 }
