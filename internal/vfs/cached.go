package vfs

// WriteVecCached is WriteVec for few bytes of one of many files that are about
// to be synced together (Dir.SyncAll). Those of a direct file go by the page
// cache: the system writes them side by side then, and a call for each would
// wait for the device each time.
func WriteVecCached(f File, bufs [][]byte, off int64) error {
	if c, ok := f.(cachedWriter); ok {
		return c.writeVecCached(bufs, off)
	}
	return f.WriteVec(bufs, off)
}

// cachedWriter is a file that otherwise goes past the page cache.
type cachedWriter interface {
	writeVecCached(bufs [][]byte, off int64) error
}
