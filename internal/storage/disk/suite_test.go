package disk_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rota/internal/storage"
	"rota/internal/storage/disk"
	"rota/internal/storage/storagetest"
	"rota/internal/vfs"
)

// fault fails the next call that fits.
type fault struct {
	mu   sync.Mutex
	next func(c vfs.Call) bool
}

func (f *fault) set(next func(c vfs.Call) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = next
}

func (f *fault) call(c vfs.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil || !f.next(c) {
		return nil
	}
	f.next = nil
	return vfs.ErrFault
}

// inJournal says that a call is to a journal file. Files are known by the name
// under which they were opened.
func inJournal(c vfs.Call) bool { return strings.Contains(filepath.ToSlash(c.Name), "/journal/") }

// memSubject is a disk medium over a file system in memory.
func memSubject(fsys *vfs.Mem, d disk.Durability) *storagetest.Subject {
	f := &fault{}
	fsys.OnCall(f.call)
	return &storagetest.Subject{
		Open: func() (storage.Medium, error) {
			f.set(nil) // what was to fail was the work before, not recovery
			return disk.Open(disk.Config{FS: fsys, Dir: "data", JournalFile: 64 << 10, Durability: d})
		},
		Crash: func(seed uint64) *storagetest.Subject {
			clone := memSubject(fsys.CrashClone(seed), d)
			fsys.Crash()
			return clone
		},
		FailFlush: func() {
			f.set(func(c vfs.Call) bool { return c.Kind == vfs.SyncCall && inJournal(c) })
		},
		FailSettle: func() {
			f.set(func(c vfs.Call) bool {
				return c.Kind == vfs.WriteCall && strings.HasSuffix(c.Name, ".manifest.spare")
			})
		},
		SetFree: fsys.SetFree,
	}
}

// Readers beside everything else, with processors of their own.
func TestBeside(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { storagetest.Beside(t, memSubject(vfs.NewMem(), disk.Never), 20) })
	t.Run("on the system", func(t *testing.T) {
		storagetest.Beside(t, &storagetest.Subject{Open: func() (storage.Medium, error) {
			return disk.Open(disk.Config{Dir: filepath.Join(t.TempDir(), "data"), JournalFile: 64 << 10, Durability: disk.Never})
		}}, 15)
	})
}

func TestSuiteInMemory(t *testing.T) {
	storagetest.Run(t, func(*testing.T) *storagetest.Subject { return memSubject(vfs.NewCrashMem(), disk.Fsync) })
}

func TestSuiteOnTheSystem(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) *storagetest.Subject {
		dir := filepath.Join(t.TempDir(), "data")
		return &storagetest.Subject{Open: func() (storage.Medium, error) {
			return disk.Open(disk.Config{Dir: dir, JournalFile: 64 << 10})
		}}
	})
}
