// Package vfs is the few filesystem calls that the broker makes.
//
// OS is the file system of the machine. Mem is one in memory: the data folder
// of an embedded broker, and in tests a disk that crashes, fails, fills up and
// stalls on demand, always in the same way for the same seed.
//
// The package knows nothing of what is in the files. It never retries and
// never hides an error: a sync that failed is reported once, as the system
// does, and what it should have made durable is in doubt from then on.
//
// # Durability
//
// Bytes written are durable after File.Sync. A name (of a file made, renamed
// or removed, or of a folder made) is durable after Dir.Sync of the folder it
// is in. Neither implies the other.
//
// Start reading here, then os.go, mem.go and crash.go.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"syscall"
)

var (
	// ErrLocked: somebody else holds the lock.
	ErrLocked = errors.New("locked by another process")
	// ErrCrashed: the Mem has crashed; every call fails with it.
	ErrCrashed = errors.New("file system has crashed")
)

// ErrNoSpace is what writes to a full file system fail with.
const ErrNoSpace = syscall.ENOSPC

// FS is a file system. All methods may be called from any goroutine. Errors
// are *fs.PathError or wrap fs.ErrNotExist, fs.ErrExist or ErrNoSpace.
type FS interface {
	// Create makes an empty file, or empties the one of that name, and opens
	// it for reading and writing.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenDir opens a folder for syncing.
	OpenDir(name string) (Dir, error)
	// Mkdir makes one folder. Its parent must exist.
	Mkdir(name string) error
	// Rename gives a file another name in the same folder, in place of the
	// file that has that name, if any.
	Rename(from, to string) error
	// Exchange swaps the names of two files in the same folder: at every
	// moment, and after a crash, each name has one of them. It fails with
	// errors.ErrUnsupported where the system cannot do that.
	Exchange(a, b string) error
	// Remove deletes a file or an empty folder. Open files stay readable.
	Remove(name string) error
	// List returns the names in a folder, sorted.
	List(dir string) ([]string, error)
	// Free is the space left for new bytes where dir is, in bytes;
	// math.MaxInt64 if it is not known.
	Free(dir string) (int64, error)
	// Lock makes the file if there is none and holds an exclusive lock on it
	// until Close of the result. It fails at once with ErrLocked if another
	// process, or another caller in this one, holds it.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Reads may come from any goroutine at any time; calls
// that change the file come from one at a time.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// WriteVec writes the pieces of bufs one behind the other, beginning at
	// off, in one call of the system if it can.
	WriteVec(bufs [][]byte, off int64) error
	// Allocate makes the file at least size bytes long, the new bytes zero
	// and really written, so that writing over them later costs less to sync.
	// File systems that gain nothing from it may leave the size as it is.
	Allocate(size int64) error
	// Truncate sets the size.
	Truncate(size int64) error
	// Size is the size in bytes.
	Size() (int64, error)
	// Sync makes the file's bytes and its size durable. After an error, what
	// was written since the last success is in doubt, also if a later Sync
	// succeeds, until it is written again.
	Sync() error
}

// Dir is an open folder.
type Dir interface {
	io.Closer
	// Sync makes the names in the folder durable.
	Sync() error
	// SyncAll makes the named files and folders durable together: the bytes
	// of files, the names in folders. It may sync more than was asked, up to
	// the whole file system. It reports failures since OpenDir that no sync
	// of this Dir has reported.
	SyncAll(names []string) error
}

// Total is the size of the file system where dir is, in bytes; math.MaxInt64 if
// it is not known.
func Total(fsys FS, dir string) (int64, error) {
	if sized, ok := fsys.(interface{ Total(string) (int64, error) }); ok {
		return sized.Total(dir)
	}
	return math.MaxInt64, nil
}

// MkdirAll makes a folder and its missing parents, all durable.
func MkdirAll(fsys FS, name string) error {
	name = filepath.Clean(name)
	err := fsys.Mkdir(name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	parent := filepath.Dir(name)
	if errors.Is(err, fs.ErrNotExist) && parent != name {
		if err = MkdirAll(fsys, parent); err != nil {
			return err
		}
		err = fsys.Mkdir(name)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDir(fsys, parent)
}

// SyncDir makes the names in a folder durable.
func SyncDir(fsys FS, name string) error {
	d, err := fsys.OpenDir(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// ReadFile returns all bytes of a file, and fails if there are more than max.
func ReadFile(fsys FS, name string, max int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > max {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("file is too large")}
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}
