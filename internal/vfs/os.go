package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// OS returns the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

const (
	fileMode = 0o640
	dirMode  = 0o750
	// zeroStep is how much Allocate writes at a time.
	zeroStep = 256 << 10
)

// zeros is what Allocate writes; nobody writes to it.
var zeros [zeroStep]byte

func (osFS) Create(name string) (File, error) {
	return newOSFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode))
}

// Open falls back to reading alone, so that tools can look at files that they
// may not change.
func (osFS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = os.Open(name)
	}
	return newOSFile(f, err)
}

func (osFS) OpenDir(name string) (Dir, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osDir{f}, nil
}

func (osFS) Mkdir(name string) error { return os.Mkdir(name, dirMode) }

func (osFS) Rename(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: errOtherFolder}
	}
	return os.Rename(from, to)
}

func (osFS) Exchange(a, b string) error {
	if filepath.Dir(a) != filepath.Dir(b) {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errOtherFolder}
	}
	if err := exchange(a, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

var errOtherFolder = errors.New("not the same folder")

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) List(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

func (osFS) Free(dir string) (int64, error) {
	_, free, err := space(dir)
	return free, err
}

// Total is for the function of that name.
func (osFS) Total(dir string) (int64, error) {
	total, _, err := space(dir)
	return total, err
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	// The owner's process id is for people only, so a failure is of no account.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

type osDir struct{ f *os.File }

func (d osDir) Sync() error                  { return d.f.Sync() }
func (d osDir) SyncAll(names []string) error { return syncAll(d.f, names) }
func (d osDir) Close() error                 { return d.f.Close() }

// syncEach is SyncAll one by one.
func syncEach(names []string) error {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err = errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

type osFile struct {
	*os.File
	vec vector // scratch space of WriteVec
}

func newOSFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Allocate(size int64) error {
	at, err := f.Size()
	if err != nil {
		return err
	}
	for at < size {
		n, err := f.WriteAt(zeros[:min(zeroStep, size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
