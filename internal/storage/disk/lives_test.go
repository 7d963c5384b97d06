package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// folderLife is a data folder that several processes have one after the other,
// each with a durability of its own, and what it must still hold.
type folderLife struct {
	t       *testing.T
	rng     *rand.Rand
	fsys    *vfs.Mem
	m       *Medium
	d       Durability
	shelf   *shelf      // of the manifest that covers flushes
	flushed []heldFrame // that count, oldest first
	next    uint64      // number of the next flush
	floor   uint64      // up to here a crash loses nothing
	covered uint64      // by the manifest
	trim    uint64      // what of it the journal is not told yet, 0 = it is
	offset  int64       // of the last batch tried, every one has another
	epoch   int32       // the last one taken
	crashed bool        // at the end of the last process
	lost    bool        // the process must end
}

// start opens the folder. What it finds is durable from then on.
func (l *folderLife) start() error {
	c := testConfig(l.fsys)
	c.Durability, c.Interval, c.Rand = Durability(1+l.rng.IntN(3)), time.Hour, nil
	m, h, err := tryRecover(c)
	if err != nil {
		return fmt.Errorf("start under %v: %w", c.Durability, err)
	}
	l.m, l.d, l.lost, l.trim = m, c.Durability, false, 0
	last := h.report.LastFlush
	if last < l.floor || last >= l.next || !l.crashed && last != l.next-1 {
		return fmt.Errorf("last flush is %d of %d, %d had to stay, crashed: %v", last, l.next-1, l.floor, l.crashed)
	}
	if got := h.counter(); got < l.epoch {
		return fmt.Errorf("the leader epoch counter is at %d, %d was taken", got, l.epoch)
	}
	got, want := batches(h.frames), batches(l.flushed)
	for len(want) > 0 && want[0].flush <= l.covered && (len(got) == 0 || got[0].flush != want[0].flush) {
		want = want[1:]
	}
	same := func(a, b heldFrame) bool { return a.flush == b.flush && a.Offset == b.Offset }
	if len(got) > len(want) || !slices.EqualFunc(got, want[:len(got)], same) {
		return fmt.Errorf("recovered %v", h.offsets())
	}
	if lost := want[len(got):]; len(lost) > 0 && lost[0].flush > l.covered && (!l.crashed || lost[0].flush <= l.floor) {
		return fmt.Errorf("flush %d is lost, crashed: %v, %d had to stay", lost[0].flush, l.crashed, l.floor)
	}
	l.flushed, l.next, l.floor = got, last+1, last
	return l.flush()
}

// batches are the frames that are not numbers of the leader epoch counter.
func batches(frames []heldFrame) []heldFrame {
	return slices.DeleteFunc(slices.Clone(frames), func(f heldFrame) bool { return f.Kind == storage.FrameEpoch })
}

func (l *folderLife) flush() error {
	l.offset++
	f := batchFrame(partition(1, 0), batch(l.offset, 1, l.offset, 300+l.rng.IntN(5000)))
	if l.rng.IntN(6) == 0 {
		f = storage.Frame{Kind: storage.FrameEpoch, Epoch: l.epoch + 1}
	}
	if err := flushErr(l.m, l.next, f); err != nil {
		return err
	}
	if f.Kind == storage.FrameEpoch {
		l.epoch = f.Epoch
	}
	l.flushed = append(l.flushed, heldFrame{l.next, f})
	if l.d == Fsync {
		l.floor = l.next
	}
	l.next++
	return nil
}

// fail has a flush fail, and goes on in a new file, after some attempts.
func (l *folderLife) fail() error {
	if l.d == Fsync && l.rng.IntN(2) == 0 {
		l.fsys.FailSync(1)
	} else {
		l.fsys.FailWrite(1)
	}
	l.offset++
	if flushErr(l.m, l.next, batchFrame(partition(1, 0), batch(l.offset, 1, l.offset, 3000))) == nil {
		return fmt.Errorf("flush %d does not fail", l.next)
	}
	for range l.rng.IntN(4) {
		l.beside()
		err := l.m.Reopen(l.next)
		l.fsys.OnCall(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrFault) || l.m.journal.lost != nil {
			return fmt.Errorf("reopen on a failing disk: %w", err)
		}
	}
	if l.m.journal.failed != nil {
		if err := l.m.Reopen(l.next); err != nil {
			return err
		}
	}
	if l.d == Interval {
		l.floor = l.next - 1
	}
	return nil
}

// beside has calls fail from now on, reads too, and the journal trimmed between
// two of them.
func (l *folderLife) beside() {
	n := l.rng.IntN(6)
	l.fsys.OnCall(func(c vfs.Call) error {
		if trim := l.trim; c.N > 0 && trim > 0 && l.rng.IntN(3) == 0 {
			l.trim = 0
			_ = l.m.Trim(trim) // a name that stays does no harm
		}
		if c.Kind != vfs.OpenCall && l.rng.IntN(2+n) == 0 {
			return vfs.ErrFault
		}
		return nil
	})
}

// settle covers flushes by a manifest and trims the journal, perhaps later.
func (l *folderLife) settle() error {
	if l.covered == l.next-1 {
		return nil
	}
	l.covered += 1 + l.rng.Uint64N(l.next-1-l.covered)
	l.floor = max(l.floor, l.covered)
	l.shelf.Flush = l.covered - 1
	if err := l.m.Settle([]storage.Move{l.shelf.move(l.m, false, l.shelf.run(1, 300, rising)...)}); err != nil {
		return err
	}
	if l.trim = l.covered; l.rng.IntN(2) == 0 {
		return nil
	}
	l.trim = 0
	return l.m.Trim(l.covered)
}

// tick is the sync of each interval. It may fail.
func (l *folderLife) tick() error {
	if l.d != Interval {
		return nil
	}
	if l.rng.IntN(4) == 0 {
		l.fsys.FailSync(1)
	}
	err := l.m.journal.syncActive()
	l.fsys.FailSync(0)
	switch {
	case err == nil:
		l.floor = l.next - 1
	case errors.Is(err, vfs.ErrFault):
		l.m.journal.lose(err)
		l.lost = true
		return nil
	}
	return err
}

// end is a clean stop, a kill, or a crash of the machine.
func (l *folderLife) end() error {
	l.crashed = false
	switch l.rng.IntN(4) {
	case 0:
		if err := l.m.Close(); err != nil && !l.lost {
			return err
		} else if err == nil && l.rng.IntN(2) == 0 {
			l.crashed, l.floor = true, l.next-1
			l.fsys = l.fsys.CrashClone(l.rng.Uint64())
		}
		return nil
	case 1:
		close(l.m.journal.stop)
		l.m.journal.loops.Wait()
		l.m.release()
		if l.d != Fsync && l.rng.IntN(2) == 0 {
			failSyncs(l.t, l.fsys, l.m.c, l.m.journal.files)
		}
		return nil
	}
	l.crashed = true
	left := l.fsys.CrashClone(l.rng.Uint64())
	l.fsys.Crash()
	_ = l.m.Close()
	l.fsys = left
	return nil
}

func (l *folderLife) process() error {
	if err := l.start(); err != nil {
		return err
	}
	for range l.rng.IntN(25) {
		if l.lost {
			break
		}
		var err error
		switch l.rng.IntN(12) {
		case 0:
			err = l.fail()
		case 1:
			err = l.settle()
		case 2:
			err = l.tick()
		default:
			err = l.flush()
		}
		if err != nil {
			return err
		}
	}
	return l.end()
}

// TestDurabilitiesOfOneFolder: whatever durability the processes before had,
// whatever failed and however they ended, a start is never refused, finds all that they promised and
// no flush behind one that is lost.
func TestDurabilitiesOfOneFolder(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		l := &folderLife{t: t, rng: rand.New(rand.NewPCG(seed, 1)), fsys: vfs.NewCrashMem(), next: 1, epoch: -1, shelf: newShelf(partition(7, 0))}
		for process := range 6 {
			if err := l.process(); err != nil {
				t.Fatalf("seed %d, process %d: %v", seed, process, err)
			}
		}
	}
}
