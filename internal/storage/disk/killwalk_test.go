package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// TestNextProcessDoesNotTrustItsSync: the sync of a journal file fails, which ends
// the process, and the next one finds all bytes in the system's memory. What it
// has found is durable all the same: not because a sync succeeds.
func TestNextProcessDoesNotTrustItsSync(t *testing.T) {
	for _, before := range []Durability{Interval, Never} {
		for _, after := range []Durability{Fsync, Interval, Never} {
			t.Run(fmt.Sprintf("%v, %v", before, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fsys := vfs.NewCrashMem()
					c := testConfig(fsys)
					c.Durability = before
					m, _ := recoverFrom(t, c)
					want := flushBatches(t, m, 1, 20, 2000)
					fsys.OnCall(func(c vfs.Call) error {
						if c.Kind == vfs.SyncCall {
							return vfs.ErrFault
						}
						return nil
					})
					if before == Interval {
						<-m.Failed()
					}
					if err := m.Close(); err == nil {
						t.Error("a medium whose sync failed closes without an error")
					}
					fsys.OnCall(nil)
					failSyncs(t, fsys, c, m.journal.files)
					c.Durability = after
					m, h := recoverFrom(t, c)
					wantOffsets(t, h, want)
					want = append(want, flushBatches(t, m, 21, 30, 2000)...)
					if after == Interval {
						time.Sleep(time.Second)
						synctest.Wait()
					}
					if after == Never {
						closeMedium(t, m)
					}
					wantAfterCrash(t, fsys, want)
					if after != Never {
						closeMedium(t, m)
					}
				})
			})
		}
	}
}

// TestKillWalk kills the process after each of its calls, and has the system fail,
// in secret, to write what the process has left to it. The next process finds
// everything in memory, promises more, and the machine crashes.
func TestKillWalk(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			eachCrash(t, d, func(w *world, fsys *vfs.Mem, n int64) error {
				if w.m == nil {
					return nil
				}
				w.kill(fsys)
				w.keep()
				if d != Fsync || n%2 == 0 {
					failSyncs(t, fsys, w.m.c, w.m.journal.files)
				}
				err := w.restart(fsys, uint64(n))
				fsys.Crash() // what is left of the process does nothing
				return err
			})
		})
	}
}

// kill ends the process whose calls have been stopped: what it has left to the system
// is still there.
func (w *world) kill(fsys *vfs.Mem) {
	fsys.CrashAfter(0)
	fsys.FailSync(0)
	fsys.FailWrite(0)
	if !w.closed {
		w.m.release()
	}
}

// TestCrashAfterAKillWalk kills the process after each of its calls, and crashes the
// machine when the next one has made a few: what that one sees of names and bytes
// need not be durable.
func TestCrashAfterAKillWalk(t *testing.T) {
	calls, stride := int64(12), int64(2)
	if testing.Short() {
		stride = 6
	}
	for _, d := range []Durability{Fsync, Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			for more := range calls {
				eachCrash(t, d, func(w *world, fsys *vfs.Mem, n int64) error {
					if w.m == nil || (n+more)%stride != 0 {
						return nil
					}
					w.kill(fsys)
					fsys.CrashAfter(fsys.Calls() + more + 1)
					if err := w.next(fsys); err != nil && !errors.Is(err, vfs.ErrCrashed) {
						return fmt.Errorf("next process: %w", err)
					}
					for seed := range uint64(4) {
						if err := w.restart(fsys.CrashClone(seed), seed); err != nil {
							return fmt.Errorf("%d calls of the next process, seed %d: %w", more+1, seed, err)
						}
					}
					return nil
				})
			}
		})
	}
}

// next is a process that finds what the last one has left, and goes on.
func (w *world) next(fsys *vfs.Mem) error {
	c := w.m.c
	c.Rand = rand.NewChaCha8([32]byte{2})
	m, h, err := tryRecover(c)
	if err != nil {
		return err
	}
	defer m.Close()
	w.keep()
	n := h.report.LastFlush + 1
	w.last = max(w.last, n)
	return flushErr(m, n, batchFrame(storage.Partition{Topic: storage.TopicID{98}}, batch(0, 1, 0, 700)))
}
