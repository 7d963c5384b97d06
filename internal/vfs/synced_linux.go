package vfs

import (
	"errors"
	"os"
	"syscall"
)

// writeSynced is pwritev2 with RWF_DSYNC, which syncs what it has written and
// no more. Where that does not exist, everything is synced.
func (f *osFile) writeSynced(b []byte, off int64) error {
	err := f.pwriteSynced(b, off)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	if _, err := f.WriteAt(b, off); err != nil {
		return err
	}
	return f.Sync()
}

func (f *osFile) pwriteSynced(b []byte, off int64) error {
	const dataSync = 2 // RWF_DSYNC
	if syscallPreadv2 == 0 || len(b) == 0 {
		return errors.ErrUnsupported
	}
	for {
		n, errno := f.withFlags(syscallPreadv2+1, b, off, dataSync)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EOPNOTSUPP, errno == syscall.ENOSYS, errno == 0 && n < len(b):
			return errors.ErrUnsupported
		case errno != 0:
			return errno
		default:
			return nil
		}
	}
}
