package disk_test

import (
	"testing"

	"rota/internal/storage"
	"rota/internal/storage/disk"
	"rota/internal/storage/storagetest"
	"rota/internal/vfs"
)

// walk is a store on a disk medium with small journal files.
func walk(t *testing.T, seeds uint64) storagetest.Walk {
	w := storagetest.Walk{Seeds: seeds, Open: func(fsys *vfs.Mem) (storage.Medium, error) {
		return disk.Open(disk.Config{FS: fsys, Dir: "data", JournalFile: 32 << 10})
	}}
	if testing.Short() {
		w.Seeds, w.Stride = 4, 5
	}
	return w
}

func TestStoreCrashWalk(t *testing.T) { storagetest.CrashWalk(t, walk(t, 8)) }
func TestStoreFaultWalk(t *testing.T) { storagetest.FaultWalk(t, walk(t, 1)) }
func TestStoreFullWalk(t *testing.T)  { storagetest.FullWalk(t, walk(t, 1)) }
func TestStoreStallWalk(t *testing.T) { storagetest.StallWalk(t, walk(t, 1)) }
