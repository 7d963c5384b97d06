package disk

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
				fsys.CrashAfter(0)
				fsys.FailSync(0)
				fsys.FailWrite(0)
				if w.m == nil {
					return nil
				}
				if !w.closed {
					w.m.release()
				}
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
