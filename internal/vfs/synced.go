package vfs

// WriteSynced writes b at off and makes these bytes durable. Nothing else that
// has been written to the file need become so: where the system can, the rest
// stays in its memory.
func WriteSynced(f File, b []byte, off int64) error {
	if s, ok := f.(syncedWriter); ok {
		return s.writeSynced(b, off)
	}
	if _, err := f.WriteAt(b, off); err != nil {
		return err
	}
	return f.Sync()
}

// syncedWriter is a file that can sync a part of itself.
type syncedWriter interface {
	writeSynced(b []byte, off int64) error
}
