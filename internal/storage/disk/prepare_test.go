package disk

import (
	"slices"
	"testing"
	"testing/synctest"

	"rota/internal/vfs"
)

// prepareConfig is the smallest journal whose files are prepared, on a file
// system that is told from a disk by nothing but its speed.
func prepareConfig(fsys vfs.FS) Config {
	c := testConfig(fsys)
	c.JournalFile = prepareFrom
	return c
}

// smallFlushes sends flushes of about 60 KiB.
func smallFlushes(t *testing.T, m *Medium, from, to uint64) {
	t.Helper()
	for n := from; n <= to; n++ {
		flush(t, m, n, batchFrame(partition(1, 0), batch(int64(n), 1, 0, 60_000)))
	}
}

func TestSpareIsMadeBeforeItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewCrashMem()
		c := prepareConfig(fsys)
		m, _ := recoverFrom(t, c)
		smallFlushes(t, m, 1, 4)
		synctest.Wait()
		if n := len(m.journal.spares); n != 0 {
			t.Errorf("%d spares before half of what is written ahead is used", n)
		}
		smallFlushes(t, m, 5, 12)
		synctest.Wait()
		if len(m.journal.spares) != 1 || !slices.Contains(journalNames(t, c), "spare-00000000000000000002") {
			t.Fatalf("no spare: %v", journalNames(t, c))
		}
		writes := 0
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.WriteCall {
				writes++
			}
			return nil
		})
		smallFlushes(t, m, 13, 60)
		if a := m.journal.activeLocked(); a.seq != 3 || a.allocated != prepareFrom || writes != 48+1 {
			t.Errorf("active is file %d with %d bytes written ahead after %d writes", a.seq, a.allocated, writes)
		}
		fsys.OnCall(nil)
		closeMedium(t, m)
		m, h := recoverFrom(t, c)
		if n := len(h.offsets()); n != 60 {
			t.Errorf("recovered %d flushes", n)
		}
		closeMedium(t, m)
	})
}

func TestSpareThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewCrashMem()
		c := prepareConfig(fsys)
		m, _ := recoverFrom(t, c)
		attempts := 0
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.CreateCall && c.Name == "data/journal/spare.tmp" {
				attempts++
				return vfs.ErrFault
			}
			return nil
		})
		smallFlushes(t, m, 1, 60) // the active file gets longer instead
		synctest.Wait()
		if attempts != 1 {
			t.Errorf("%d attempts with one file", attempts)
		}
		if a := m.journal.activeLocked(); a.seq != 1 {
			t.Errorf("active is file %d", a.seq)
		}
		fsys.OnCall(nil)
		closeMedium(t, m)
	})
}

func TestCloseEndsPreparing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewCrashMem()
		c := prepareConfig(fsys)
		m, _ := recoverFrom(t, c)
		half := make(chan struct{})
		goOn := make(chan struct{})
		syncs := 0
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.SyncCall && c.Name == "data/journal/spare.tmp" {
				if syncs++; syncs == 3 {
					close(half)
					<-goOn
				}
			}
			return nil
		})
		smallFlushes(t, m, 1, 10)
		<-half
		closed := make(chan error)
		go func() { closed <- m.Close() }()
		synctest.Wait()
		close(goOn)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if syncs != 3 {
			t.Errorf("%d steps, 3 before Close", syncs)
		}
		if names := journalNames(t, c); len(names) != 1 {
			t.Errorf("the folder holds %v", names)
		}
	})
}
