package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// failFlush has the write of a flush fail.
func failFlush(t *testing.T, fsys *vfs.Mem, m *Medium, n uint64) {
	t.Helper()
	fsys.FailWrite(1)
	if err := flushErr(m, n, batchFrame(partition(1, 0), batch(int64(n), 1, 0, 300))); !errors.Is(err, vfs.ErrFault) {
		t.Fatalf("flush %d on a failing disk: %v", n, err)
	}
}

// wantAfterCrash checks what any crash leaves.
func wantAfterCrash(t *testing.T, fsys *vfs.Mem, want []string) {
	t.Helper()
	for seed := range uint64(40) {
		m, h, err := tryRecover(testConfig(fsys.CrashClone(seed)))
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		if got := h.offsets(); !slices.Equal(got, want) {
			t.Errorf("seed %d: recovered %v, want %v", seed, got, want)
			return
		}
		closeMedium(t, m)
	}
}

// TestIntervalHoldsAfterAFailedWrite: a write fails when the file has flushes that
// were acknowledged and not yet synced. An interval later they are as safe as what
// has come behind them, whenever the file was given up.
func TestIntervalHoldsAfterAFailedWrite(t *testing.T) {
	for _, synced := range []uint64{0, 2, 5} {
		for _, files := range []uint64{1, 20} { // small journal files fill up
			t.Run(fmt.Sprintf("%d synced, %d before", synced, files), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fsys := vfs.NewCrashMem()
					c := testConfig(fsys)
					c.Durability = Interval
					m, _ := recoverFrom(t, c)
					n := files + synced
					want := flushBatches(t, m, 1, n, 2000)
					if synced > 0 {
						time.Sleep(c.Interval + time.Second)
						synctest.Wait()
					}
					want = append(want, flushBatches(t, m, n+1, n+3, 2000)...)
					failFlush(t, fsys, m, n+4)
					// The failed write may be how the system tells that it has lost
					// what was written before: a sync of the file proves nothing.
					failSyncs(t, fsys, c, m.journal.files[len(m.journal.files)-1:])
					if err := m.Reopen(n + 4); err != nil {
						t.Fatal(err)
					}
					wantAfterCrash(t, fsys, want) // also what lies behind it counts from here on
					want = append(want, flushBatches(t, m, n+4, n+30, 2000)...)
					time.Sleep(time.Second)
					synctest.Wait()
					wantAfterCrash(t, fsys, want)
					closeMedium(t, m)
					m, h := recoverFrom(t, c)
					wantOffsets(t, h, want)
					closeMedium(t, m)
				})
			})
		}
	}
}

// TestWhatAFailedFileHoldsIsCarriedOnce: the next file fails too, while it is
// made and after, and the one after that has everything once.
func TestWhatAFailedFileHoldsIsCarriedOnce(t *testing.T) {
	for _, d := range []Durability{Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fsys := vfs.NewCrashMem()
				c := testConfig(fsys)
				c.Durability = d
				m, _ := recoverFrom(t, c)
				want := flushBatches(t, m, 1, 3, 300)
				failFlush(t, fsys, m, 4)
				for n := range int64(3) {
					fsys.FailSync(n + 1)
					fsys.FailWrite(3 - n)
					if err := m.Reopen(4); err == nil {
						t.Fatal("a journal is reopened on a failing disk")
					}
					if size := m.JournalSize(); size != 3*space(300) {
						t.Errorf("journal has %d bytes", size)
					}
				}
				fsys.FailSync(0)
				fsys.FailWrite(0)
				if err := m.Reopen(4); err != nil {
					t.Fatal(err)
				}
				want = append(want, flushBatches(t, m, 4, 6, 300)...)
				failFlush(t, fsys, m, 7)
				if err := m.Reopen(7); err != nil {
					t.Fatal(err)
				}
				want = append(want, flushBatches(t, m, 7, 7, 300)...)
				if size := m.JournalSize(); size != 7*space(300) {
					t.Errorf("journal has %d bytes", size)
				}
				if d == Interval {
					time.Sleep(time.Second)
					synctest.Wait()
				} else {
					closeMedium(t, m)
				}
				wantAfterCrash(t, fsys, want)
				if d == Interval {
					closeMedium(t, m)
				}
				m, h := recoverFrom(t, c)
				wantOffsets(t, h, want)
				closeMedium(t, m)
			})
		})
	}
}

// TestCloseAfterAFailure: what was acknowledged before a write failed is durable when
// Close says so, whether the journal could be reopened or not.
func TestCloseAfterAFailure(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		for _, reopen := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, %v", d, reopen), func(t *testing.T) {
				fsys := vfs.NewCrashMem()
				c := testConfig(fsys)
				c.Durability, c.Interval = d, time.Hour
				m, _ := recoverFrom(t, c)
				want := flushBatches(t, m, 1, 24, 2000)
				failFlush(t, fsys, m, 25)
				if reopen {
					if err := m.Reopen(25); err != nil {
						t.Fatal(err)
					}
					want = append(want, flushBatches(t, m, 25, 30, 2000)...)
				}
				closeMedium(t, m)
				wantAfterCrash(t, fsys, want)
			})
		}
	}
}

// TestCloseOfADiskThatStaysBroken does not say that what it could not make
// durable is.
func TestCloseOfADiskThatStaysBroken(t *testing.T) {
	for _, d := range []Durability{Interval, Never} {
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		c.Durability, c.Interval = d, time.Hour
		m, _ := recoverFrom(t, c)
		flushBatches(t, m, 1, 3, 300)
		failFlush(t, fsys, m, 4)
		fsys.OnCall(func(c vfs.Call) error {
			if c.N > 0 {
				return vfs.ErrFault
			}
			return nil
		})
		if err := m.Close(); !errors.Is(err, vfs.ErrFault) {
			t.Errorf("%v: closed with %v", d, err)
		}
	}
}

// failSyncs is the system failing to write back what it has of journal files, and
// telling nobody who listens.
func failSyncs(t *testing.T, fsys *vfs.Mem, c Config, files []*journalFile) {
	t.Helper()
	for _, file := range files {
		f, err := fsys.Open(filepath.Join(c.Dir, journalPath(file.seq)))
		if err != nil {
			t.Fatal(err)
		}
		fsys.FailSync(1)
		if err := f.Sync(); !errors.Is(err, vfs.ErrFault) {
			t.Fatal(err)
		}
		f.Close()
	}
}

// TestDeletedFileComesBack: a file that failed is trimmed, which deletes it, and
// a crash brings its name back.
func TestDeletedFileComesBack(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fsys := vfs.NewCrashMem()
				c := testConfig(fsys)
				c.Durability = d
				m, _ := recoverFrom(t, c)
				s := newShelf(partition(1, 0))
				for n := range uint64(4) {
					if n == 2 && d == Interval {
						time.Sleep(time.Second)
						synctest.Wait()
					}
					flush(t, m, n+1, batchFrame(s.Partition, batch(int64(n), 1, int64(n), 300)))
				}
				failFlush(t, fsys, m, 5)
				if err := m.Reopen(5); err != nil {
					t.Fatal(err)
				}
				s.Flush = 3
				settle(t, m, s.move(m, false, s.run(4, 300, rising)...)) // covers flush 4
				want := flushBatches(t, m, 5, 8, 300)
				if d != Fsync {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				removed := 0
				fsys.OnCall(func(c vfs.Call) error {
					if c.Kind == vfs.RemoveCall {
						removed++
					} else if c.Kind == vfs.SyncCall && removed > 0 {
						removed = 0
					}
					return nil
				})
				if err := m.Trim(4); err != nil {
					t.Fatal(err)
				}
				fsys.OnCall(nil)
				if removed > 0 {
					t.Error("the name of a deleted file may come back")
				}
				if d == Never {
					closeMedium(t, m)
				}
				for seed := range uint64(20) {
					n, h, err := tryRecover(testConfig(fsys.CrashClone(seed)))
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
						break
					}
					got := slices.DeleteFunc(h.offsets(), func(s string) bool { return s[0] < '5' })
					if !slices.Equal(got, want) {
						t.Errorf("seed %d: recovered %v, want %v", seed, h.offsets(), want)
						break
					}
					closeMedium(t, n)
				}
				if d != Never {
					closeMedium(t, m)
				}
			})
		})
	}
}

// TestTrimLeavesTheNewestFile: the next file cannot be made, manifests cover the
// journal meanwhile, and the process ends. The leader epoch counter lies in the
// newest file alone.
func TestTrimLeavesTheNewestFile(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		c.Durability, c.Interval = d, time.Hour
		m, _ := recoverFrom(t, c)
		flush(t, m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 41})
		flushBatches(t, m, 2, 3, 2000)
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.CreateCall && c.N > 0 {
				return vfs.ErrFault
			}
			return nil
		})
		if err := flushErr(m, 4, batchFrame(partition(1, 0), batch(4, 1, 4, 60_000))); err == nil {
			t.Fatal("a flush without a file succeeds")
		}
		if err := m.Reopen(4); err == nil {
			t.Fatal("a journal is reopened without a file")
		}
		if err := m.Trim(3); err != nil {
			t.Fatal(err)
		}
		if size := m.JournalSize(); size != 0 {
			t.Errorf("%v: everything is trimmed, size is %d", d, size)
		}
		fsys.OnCall(nil)
		close(m.journal.stop)
		m.journal.loops.Wait()
		m.release()
		m, h := recoverFrom(t, c)
		epoch := int32(-1)
		for _, f := range h.frames {
			if f.Kind == storage.FrameEpoch {
				epoch = f.Epoch
			}
		}
		if epoch != 41 || h.report.LastFlush != 3 {
			t.Errorf("%v: leader epoch is %d after flush %d", d, epoch, h.report.LastFlush)
		}
		closeMedium(t, m)
	}
}

// TestWhatCannotBeCarried: what is to be carried cannot be read, which may pass: the
// journal is reopened later, or when manifests cover it. Or it is not what was
// acknowledged, which does not pass: the broker must stop.
func TestWhatCannotBeCarried(t *testing.T) {
	for _, d := range []Durability{Interval, Never} {
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		c.Durability, c.Interval = d, time.Hour
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 3, 300)
		failFlush(t, fsys, m, 4)
		reopenUnread(t, fsys, m, 4)
		if err := m.Reopen(4); err != nil {
			t.Fatal(err)
		}
		want = append(want, flushBatches(t, m, 4, 4, 300)...)
		failFlush(t, fsys, m, 5)
		if err := m.Trim(3); err != nil {
			t.Fatal(err)
		}
		reopenUnread(t, fsys, m, 5)
		if err := m.Trim(4); err != nil {
			t.Fatal(err)
		}
		if err := m.Reopen(5); err != nil {
			t.Fatal(err)
		}
		want = append(want[:0], flushBatches(t, m, 5, 6, 300)...)
		failFlush(t, fsys, m, 7)
		select {
		case err := <-m.Failed():
			t.Fatal(err)
		default:
		}
		file := m.journal.files[len(m.journal.files)-1]
		flip(t, c, filepath.Join(c.Dir, journalPath(file.seq)), journalHeader+100)
		if err, ok := errors.AsType[*storage.CorruptError](m.Reopen(7)); !ok || err.Offset != journalHeader {
			t.Errorf("%v: reopened with %v", d, err)
		}
		if err := <-m.Failed(); err == nil {
			t.Errorf("%v: the broker does not stop", d)
		}
		if err := m.Close(); err == nil {
			t.Errorf("%v: %v are in doubt, and Close does not say so", d, want)
		}
	}
}

// reopenUnread does not reopen the journal while nothing can be read.
func reopenUnread(t *testing.T, fsys *vfs.Mem, m *Medium, next uint64) {
	t.Helper()
	fsys.OnCall(func(c vfs.Call) error {
		if c.Kind == vfs.ReadCall {
			return vfs.ErrFault
		}
		return nil
	})
	defer fsys.OnCall(nil)
	if err := m.Reopen(next); !errors.Is(err, vfs.ErrFault) {
		t.Fatalf("reopened with %v", err)
	}
}
