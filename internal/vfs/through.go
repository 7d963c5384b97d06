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

// Prefetch has the system read n bytes at off into its page cache, soon. It
// does nothing where the system cannot do that.
func Prefetch(f File, off, n int64) {
	if c, ok := f.(pageFile); ok && n > 0 {
		c.prefetch(off, n)
	}
}

// pageFile is a file that lies in the page cache, in part.
type pageFile interface {
	readCached(p []byte, off int64) int
	prefetch(off, n int64)
}
