package disk

import (
	"testing"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// counter is what the leader epoch counter is at, as recovery says.
func (h *held) counter() int32 {
	epoch := int32(-1)
	for _, f := range h.frames {
		if f.Kind == storage.FrameEpoch {
			epoch = max(epoch, f.Epoch)
		}
	}
	return epoch
}

// wantCounter checks what any crash leaves of the leader epoch counter.
func wantCounter(t *testing.T, fsys *vfs.Mem, want int32) {
	t.Helper()
	for seed := range uint64(20) {
		m, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
		if got := h.counter(); got != want {
			t.Fatalf("seed %d: the leader epoch counter is at %d, %d was taken", seed, got, want)
		}
		closeMedium(t, m)
	}
}

// TestTakenEpochsAreDurable: a machine that crashes may lose what a process under
// interval or never was told, but no leader epoch: another process would take it
// again, with other records in it. The first one is taken in a new folder, the
// others behind flushes that are not synced, after a failed one, by a process that
// begins, and behind what manifests cover.
func TestTakenEpochsAreDurable(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			fsys := vfs.NewCrashMem()
			c := testConfig(fsys)
			c.Durability, c.Interval = d, time.Hour
			m, _ := recoverFrom(t, c)
			number, epoch := uint64(0), int32(4)
			take := func() {
				t.Helper()
				number, epoch = number+1, epoch+1
				flush(t, m, number, storage.Frame{Kind: storage.FrameEpoch, Epoch: epoch})
				wantCounter(t, fsys, epoch)
				flushBatches(t, m, number+1, number+12, 2000)
				number += 12
			}
			take()
			take()
			failFlush(t, fsys, m, number+1)
			if err := m.Reopen(number + 1); err != nil {
				t.Fatal(err)
			}
			take()
			close(m.journal.stop)
			m.journal.loops.Wait()
			m.release() // all that happens to a process that is killed
			m, _ = recoverFrom(t, c)
			take()
			if err := m.Trim(number); err != nil {
				t.Fatal(err)
			}
			wantCounter(t, fsys, epoch)
			failFlush(t, fsys, m, number+1)
			closeMedium(t, m) // all that counts is in segments
			wantCounter(t, fsys, epoch)
		})
	}
}
