package vfs

import "unsafe"

// OpenDirect opens an existing file whose bytes go past the system's page
// cache, where the system can do that; otherwise it is fsys.Open. It is for
// files that are written once, in bulk, and read in bulk by few: their pages
// would displace others and cost more than the bytes are worth.
//
// Blocks are written whole: behind the last byte written, the file may have
// zeros up to the end of a block. Its Size counts them.
func OpenDirect(fsys FS, name string) (File, error) {
	if d, ok := fsys.(directFS); ok {
		return d.openDirect(name, false)
	}
	return fsys.Open(name)
}

// CreateDirect is OpenDirect for a new file, or one that is emptied.
func CreateDirect(fsys FS, name string) (File, error) {
	if d, ok := fsys.(directFS); ok {
		return d.openDirect(name, true)
	}
	return fsys.Create(name)
}

// directFS is a file system that knows a way past the page cache.
type directFS interface {
	openDirect(name string, create bool) (File, error)
}

// IsDirect reports whether f goes past the page cache.
func IsDirect(f File) bool {
	d, ok := f.(interface{ direct() bool })
	return ok && d.direct()
}

// Aligned returns n bytes of memory at an address that suits a direct file:
// whole blocks read into it at the beginning of a block are not copied.
func Aligned(n int) []byte {
	b := make([]byte, n+DirectBlock)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (DirectBlock - 1)
	return b[skip : skip+n : skip+n]
}

// AlignedCost is the memory that Aligned(n) takes.
func AlignedCost(n int) int64 {
	const page = 8192 // what the allocator hands out large pieces in
	return (int64(n) + DirectBlock + page - 1) / page * page
}

// DirectBlock is what offsets, sizes and addresses of direct calls are
// multiples of: no device asks for more.
const DirectBlock = 4096
