package vfs

import (
	"syscall"
	"unsafe"
)

// hugePage maps two blocks at an address where they fit into one page of x86
// and, in most configurations, arm64. Whether there is such a page is up to the
// system. mapped is what freePage takes; all is nil if memory cannot be mapped.
func hugePage() (page, mapped []byte) {
	const size = 2 * BlockSize
	mapped, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, nil
	}
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))) & (size - 1)
	page = mapped[skip : skip+size : skip+size]
	_ = syscall.Madvise(page, syscall.MADV_HUGEPAGE) // without it the pages are small
	return page, mapped
}

func freePage(mapped []byte) { _ = syscall.Munmap(mapped) }
