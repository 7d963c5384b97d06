package vfs

// ReadCached reads what the system's page cache has of len(p) bytes at off, up
// to the first byte that is not there, without waiting for the device. It
// returns how many bytes that were, 0 where the system cannot tell. f must not
// be direct.
func ReadCached(f File, p []byte, off int64) int {
	if c, ok := f.(pageFile); ok && len(p) > 0 {
		return c.readCached(p, off)
	}
	return 0
}

// InCache reports whether the page cache has all of size bytes at off, and
// returns the file's descriptor for a system call that takes them from there.
// Neither is known where the system cannot tell (Linux can since 6.5), or if f
// is direct or nil. Pages may leave the cache at any time, which makes such a
// call slower, and no more.
func InCache(f File, off int64, size int) (fd uintptr, in, known bool) {
	if c, is := f.(pageFile); is && size > 0 {
		return c.inCache(off, size)
	}
	return 0, false, false
}

// pageFile is a file that lies in the page cache, in part.
type pageFile interface {
	readCached(p []byte, off int64) int
	inCache(off int64, size int) (fd uintptr, in, known bool)
}
