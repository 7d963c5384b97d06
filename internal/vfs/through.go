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

// pageFile is a file that lies in the page cache, in part.
type pageFile interface {
	readCached(p []byte, off int64) int
}
