package vfs

import (
	"errors"
	"math/bits"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// syscallPreadv2 is the number of the system call, which package syscall does
// not have; that of pwritev2 is the next one everywhere.
var syscallPreadv2 = map[string]uintptr{
	"386": 378, "amd64": 327, "arm": 392, "arm64": 286, "loong64": 286,
	"ppc64": 380, "ppc64le": 380, "riscv64": 286, "s390x": 376,
}[runtime.GOARCH]

// withFlags is preadv2 or pwritev2 with one piece: call is the number of either.
func (f *osFile) withFlags(call uintptr, p []byte, off int64, flags uintptr) (int, syscall.Errno) {
	v := syscall.Iovec{Base: unsafe.SliceData(p)}
	v.SetLen(len(p))
	n, _, errno := syscall.Syscall6(call, f.Fd(), uintptr(unsafe.Pointer(&v)), 1,
		uintptr(off), uintptr(off>>32>>(bits.UintSize-32)), flags)
	runtime.KeepAlive(p)
	runtime.KeepAlive(f)
	return int(n), errno
}

// readCached is preadv2 with RWF_NOWAIT. Not every file system has it.
func (f *osFile) readCached(p []byte, off int64) int {
	const noWait = 8
	if syscallPreadv2 == 0 {
		return 0
	}
	done := 0
	for done < len(p) {
		n, errno := f.withFlags(syscallPreadv2, p[done:], off+int64(done), noWait)
		switch {
		case errors.Is(errno, syscall.EINTR):
		case errno != 0 || n == 0:
			return done
		default:
			done += n
		}
	}
	return done
}

// syscallCachestat has the same number everywhere but on alpha.
const syscallCachestat = 451

// inCache is cachestat. It counts too few pages now and then, when it is
// interrupted (seen with Linux 6.18), so it has to find too few three times.
func (f *osFile) inCache(off int64, size int) (fd uintptr, in, known bool) {
	within := struct{ off, size uint64 }{uint64(off), uint64(size)}
	page := uint64(os.Getpagesize())
	pages := (within.off+within.size-1)/page - within.off/page + 1
	fd = f.Fd()
	for range 3 {
		var found struct{ cached, dirty, written, evicted, recently uint64 }
		_, _, errno := syscall.Syscall6(syscallCachestat, fd,
			uintptr(unsafe.Pointer(&within)), uintptr(unsafe.Pointer(&found)), 0, 0, 0)
		runtime.KeepAlive(f)
		switch {
		case errno != 0:
			return 0, false, false
		case found.cached == 0:
			return 0, false, true
		case found.cached == pages:
			return fd, true, true
		}
	}
	return 0, false, true
}

// A direct file has nothing in the page cache.
func (*directFile) readCached([]byte, int64) int { return 0 }

func (*directFile) inCache(int64, int) (fd uintptr, in, known bool) { return 0, false, false }
