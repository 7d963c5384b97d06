package disk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// The walk runs one workload over and over, crashes the machine after each of
// its calls in turn, and looks at several states that the disk may be in. It
// drives the medium alone, in the order in which the store drives it, so that
// a broken promise is the medium's.

// world is a workload and what the medium has promised it.
type world struct {
	m        *Medium
	d        Durability
	shelves  []*shelf
	last     uint64                      // number of the last flush tried
	acked    uint64                      // number of the last flush acknowledged
	ackedEnd map[storage.Partition]int64 // and where it ends
	safe     uint64                      // number of the last flush that a crash of the machine must leave
	safeEnd  map[storage.Partition]int64 // and where it ends
	covered  map[storage.Partition]int64 // end of the last manifest that is durable
	removed  map[storage.Partition]bool  // or about to be
	closed   bool
}

func newWorld(m *Medium, d Durability) *world {
	w := &world{
		m: m, d: d, ackedEnd: map[storage.Partition]int64{}, safeEnd: map[storage.Partition]int64{},
		covered: map[storage.Partition]int64{}, removed: map[storage.Partition]bool{},
	}
	for i := range 3 {
		w.shelves = append(w.shelves, newShelf(partition(byte(i+1), int32(i))))
	}
	return w
}

// content is the batch at an offset of a partition: recovery must find it.
func content(p storage.Partition, offset int64) []byte {
	return batch(offset, 1, 1000+offset, 300+100*int(p.Index)+int(offset%5)*600)
}

// flush sends the next batch of each partition, or a frame of its own.
func (w *world) flush(frames ...storage.Frame) error {
	w.last++
	if err := flushErr(w.m, w.last, frames...); err != nil {
		return err
	}
	w.acked = w.last
	for _, f := range frames {
		if f.Kind == storage.FrameBatch {
			w.ackedEnd[f.Partition] = f.Offset + 1
		}
	}
	if w.d == Fsync {
		w.keep()
	}
	return nil
}

// keep says that what has been acknowledged is promised for good.
func (w *world) keep() { w.safe, w.safeEnd = w.acked, maps.Clone(w.ackedEnd) }

// tick is the sync of each interval.
func (w *world) tick() error {
	if w.d != Interval {
		return nil
	}
	err := w.m.journal.syncActive()
	if err == nil {
		w.keep()
	}
	return err
}

// fail has a flush fail, and some attempts to go on.
func (w *world) fail(fsys *vfs.Mem, next int64, attempts int64) error {
	if w.d == Fsync {
		fsys.FailSync(1)
	} else {
		fsys.FailWrite(1)
	}
	if err := w.flush(w.batches(next)...); !errors.Is(err, vfs.ErrFault) {
		return err
	}
	for n := range attempts {
		fsys.FailSync(n + 1) // of the new file, then of the folder
		if err := w.m.Reopen(w.last); !errors.Is(err, vfs.ErrFault) {
			return err
		}
		if err := w.m.Trim(w.acked - 1); err != nil {
			return err
		}
	}
	err := w.m.Reopen(w.last)
	if err == nil {
		w.last--
	}
	return err
}

func (w *world) batches(from int64) []storage.Frame {
	var frames []storage.Frame
	for _, s := range w.shelves {
		if !w.removed[s.Partition] {
			frames = append(frames, batchFrame(s.Partition, content(s.Partition, from)))
		}
	}
	return frames
}

// settleUpTo moves offsets below end into segments.
func (w *world) settleUpTo(end int64, fresh bool) error {
	var moves []storage.Move
	for _, s := range w.shelves {
		if w.removed[s.Partition] {
			continue
		}
		var all [][]byte
		for at := s.End; at < end; at++ {
			all = append(all, content(s.Partition, at))
		}
		flush := w.acked
		move := s.move(w.m, fresh, all...)
		s.Flush, move.Manifest.Flush = flush, flush
		moves = append(moves, move)
	}
	if err := w.m.Settle(moves); err != nil {
		return err
	}
	for _, move := range moves {
		w.covered[move.Manifest.Partition] = move.Manifest.End
	}
	return w.m.Trim(w.acked)
}

// work is the workload: many files, reuse, a failed flush, a removal.
func (w *world) work(fsys *vfs.Mem) error {
	if err := w.flush(storage.Frame{Kind: storage.FrameEpoch, Epoch: 7}); err != nil {
		return err
	}
	next := int64(0)
	for step := range 14 {
		if err := w.flush(w.batches(next)...); err != nil {
			return err
		}
		next++
		switch step {
		case 3, 6, 10:
			if err := w.settleUpTo(next, step == 6); err != nil {
				return err
			}
		case 2, 12:
			if err := w.tick(); err != nil {
				return err
			}
		case 4: // the disk fails a flush and goes on
			if err := w.fail(fsys, next, 0); err != nil {
				return err
			}
		case 5, 9: // an interval later
			if err := w.tick(); err != nil {
				return err
			}
		case 11: // all that is not in segments is in the file that fails
			if err := w.fail(fsys, next, 2); err != nil {
				return err
			}
		case 8:
			p := w.shelves[1].Partition
			w.removed[p] = true
			if err := w.flush(storage.Frame{Kind: storage.FrameRemove, Partition: p}); err != nil {
				return err
			}
			if err := w.m.Remove(p); err != nil {
				return err
			}
		}
	}
	w.closed = true
	return w.m.Close()
}

// verify holds what a restart found against what was promised.
func (w *world) verify(m *Medium, h *held) error {
	if h.report.LastFlush < w.safe || h.report.LastFlush > w.last {
		return fmt.Errorf("last flush is %d, promised was %d, acknowledged %d, tried %d", h.report.LastFlush, w.safe, w.acked, w.last)
	}
	if len(h.report.Corrupt) > 0 {
		return fmt.Errorf("a crash is taken for damage: %v", h.report.Corrupt)
	}
	gone := map[storage.Partition]bool{}
	for _, f := range h.frames {
		if f.Kind == storage.FrameRemove {
			gone[f.Partition] = true
		}
	}
	for _, s := range w.shelves {
		if gone[s.Partition] || w.removed[s.Partition] {
			continue
		}
		if err := w.verifyLog(m, h, s.Partition); err != nil {
			return fmt.Errorf("partition %d: %w", s.Partition.Index, err)
		}
	}
	return nil
}

// verifyLog checks that segments and journal together hold a log without a
// gap, with everything that was acknowledged.
func (w *world) verifyLog(m *Medium, h *held, p storage.Partition) error {
	end := int64(0)
	var flushed uint64
	if manifest := h.manifests[p]; manifest != nil {
		got, err := readAll(m, manifest, 4000)
		if err != nil {
			return err
		}
		for len(got) > 0 {
			want := content(p, end)
			if !bytes.HasPrefix(got, want) {
				return fmt.Errorf("segments hold something else at offset %d", end)
			}
			got, end = got[len(want):], end+1
		}
		if end != manifest.End {
			return fmt.Errorf("segments end at %d, the manifest says %d", end, manifest.End)
		}
		flushed = manifest.Flush
	}
	if end < w.covered[p] {
		return fmt.Errorf("segments end at %d, %d was promised", end, w.covered[p])
	}
	for _, f := range h.frames {
		if f.Partition != p || f.Kind != storage.FrameBatch || f.flush <= flushed {
			continue
		}
		if f.Offset != end || !bytes.Equal(f.Batch, content(p, end)) {
			return fmt.Errorf("flush %d holds offset %d where %d was expected", f.flush, f.Offset, end)
		}
		end = record.NextOffset(f.Batch)
	}
	if want := w.safeEnd[p]; end < want {
		return fmt.Errorf("log ends at %d, %d was promised", end, want)
	}
	return nil
}

func TestCrashWalk(t *testing.T) { crashWalk(t, Fsync) }

// Under interval a crash loses nothing that is older than an interval, whatever
// has failed since.
func TestCrashWalkInterval(t *testing.T) { crashWalk(t, Interval) }

// Under never a crash loses what the system has not written, but nothing that
// is in segments, nothing from the middle of a log, and nothing that a restart has
// found.
func TestCrashWalkUnsynced(t *testing.T) { crashWalk(t, Never) }

// startWorld opens a new folder.
func startWorld(fsys *vfs.Mem, d Durability) (*world, error) {
	c := testConfig(fsys)
	c.Durability, c.Interval = d, time.Hour
	m, _, err := tryRecover(c)
	if err != nil {
		return newWorld(nil, d), err
	}
	return newWorld(m, d), nil
}

// eachCrash runs the workload once for each of its calls that changes or syncs
// something, and stops it there.
func eachCrash(t *testing.T, d Durability, look func(w *world, fsys *vfs.Mem, n int64) error) {
	fsys := vfs.NewCrashMem()
	w, err := startWorld(fsys, d)
	if err == nil {
		err = w.work(fsys)
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := fsys.Calls()
	for n := int64(1); n <= calls; n++ {
		fsys := vfs.NewCrashMem()
		fsys.CrashAfter(n)
		w, err := startWorld(fsys, d)
		if err == nil {
			if err = w.work(fsys); err == nil && n < calls {
				t.Fatalf("call %d: no crash", n)
			}
		}
		if err != nil && !errors.Is(err, vfs.ErrCrashed) {
			t.Fatalf("call %d: %v", n, err)
		}
		if err := look(w, fsys, n); err != nil {
			t.Fatalf("crash after call %d of %d: %v", n, calls, err)
		}
		if w.m != nil && !w.closed {
			_ = w.m.Close()
		}
	}
}

func crashWalk(t *testing.T, d Durability) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	eachCrash(t, d, func(w *world, fsys *vfs.Mem, _ int64) error {
		for seed := range seeds {
			if err := w.restart(fsys.CrashClone(seed), seed); err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
		}
		return nil
	})
}

// restart looks at a disk after the crash, twice: the second crash hits the
// first flush after the restart.
func (w *world) restart(fsys *vfs.Mem, seed uint64) error {
	m, h, err := tryRecover(testConfig(fsys))
	if err != nil {
		return err
	}
	if err := w.verify(m, h); err != nil {
		return err
	}
	first := h.offsets()
	again := storage.Partition{Topic: storage.TopicID{99}}
	next := h.report.LastFlush + 1
	err = flushErr(m, next, batchFrame(again, batch(0, 1, 0, 700)))
	if err != nil {
		return err
	}
	m, h, err = tryRecover(testConfig(fsys.CrashClone(seed + 1)))
	if err != nil {
		return fmt.Errorf("second restart: %w", err)
	}
	if got, want := h.offsets(), append(first, fmt.Sprintf("%d:0", next)); !slices.Equal(got, want) {
		return fmt.Errorf("second restart: recovered %v, want %v", got, want)
	}
	w2 := *w
	w2.safe, w2.last = next, next
	if err := w2.verify(m, h); err != nil {
		return fmt.Errorf("second restart: %w", err)
	}
	return m.Close()
}
