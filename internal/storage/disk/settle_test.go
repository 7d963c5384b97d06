package disk

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// shelf builds moves for one partition, as the store above does.
type shelf struct {
	storage.Manifest
	all []byte // every batch there is, from offset 0
}

func newShelf(p storage.Partition) *shelf {
	return &shelf{Manifest: storage.Manifest{Partition: p, Epochs: []storage.EpochStart{{Epoch: 1}}, Producers: []byte("state")}}
}

// move appends batches to the last segment, or to a new one.
func (s *shelf) move(m *Medium, fresh bool, batches ...[]byte) storage.Move {
	if fresh || len(s.Segments) == 0 {
		s.Segments = append(s.Segments, storage.Segment{Base: s.End, End: s.End, MaxTimestamp: -1, Created: 77, Token: m.NewToken(s.Partition, s.End)})
	}
	seg := &s.Segments[len(s.Segments)-1]
	w := storage.SegmentWrite{Token: seg.Token, Base: seg.Base, At: seg.Size}
	for _, b := range batches {
		h, err := record.ParseHeader(b)
		if err != nil {
			panic(err)
		}
		w.Batches = append(w.Batches, b...)
		seg.Size += int64(len(b))
		seg.End = h.NextOffset()
		if h.MaxTimestamp > seg.MaxTimestamp {
			seg.MaxTimestamp, seg.MaxTimestampOffset = h.MaxTimestamp, h.LastOffset()
		}
	}
	s.End, s.LastStable, seg.LastStable = seg.End, seg.End, seg.End
	s.Flush++
	s.all = append(s.all, w.Batches...)
	manifest := s.Manifest
	manifest.Segments = slices.Clone(s.Segments)
	return storage.Move{Manifest: &manifest, Writes: []storage.SegmentWrite{w}}
}

// run returns batches of one record from the next offset on.
func (s *shelf) run(n int, size int, ts func(offset int64) int64) [][]byte {
	var all [][]byte
	for i := range n {
		offset := s.End + int64(i)
		all = append(all, batch(offset, 1, ts(offset), size))
	}
	return all
}

func rising(offset int64) int64 { return 1000 + 10*offset }

func settle(t testing.TB, m *Medium, moves ...storage.Move) {
	t.Helper()
	if err := m.Settle(moves); err != nil {
		t.Fatal(err)
	}
}

// readAll reads a whole partition in reads of the given size.
func readAll(m *Medium, s *storage.Manifest, limit int) (all []byte, err error) {
	for _, seg := range s.Segments {
		for at := seg.Base; at < seg.End; {
			from := len(all)
			if all, err = m.Read(s.Partition, seg, at, limit, all); err != nil {
				return all, err
			}
			if len(all) == from {
				return all, errors.New("read returned nothing before the end")
			}
			for b := all[from:]; len(b) > 0; {
				h, err := record.ParseHeader(b)
				if err != nil {
					return all, err
				}
				at, b = h.NextOffset(), b[h.Size():]
			}
		}
	}
	return all, nil
}

func TestSettledBatchesAreReadBack(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, _ := recoverFrom(t, c)
		var shelves []*shelf
		for topic := range byte(9) { // more than are synced one by one
			shelves = append(shelves, newShelf(partition(topic+1, int32(topic))))
		}
		for round := range 4 {
			var moves []storage.Move
			for i, s := range shelves {
				if i == 0 || round%2 == 0 {
					moves = append(moves, s.move(m, round == 2, s.run(20, 900+100*i, rising)...))
				}
			}
			settle(t, m, moves...)
		}
		check := func(m *Medium) {
			t.Helper()
			for _, s := range shelves {
				for _, limit := range []int{1, 1000, 5000, 1 << 20} {
					got, err := readAll(m, &s.Manifest, limit)
					if err != nil || !bytes.Equal(got, s.all) {
						t.Fatalf("partition %v: read %d bytes of %d, %v", s.Partition, len(got), len(s.all), err)
					}
				}
			}
		}
		check(m)
		closeMedium(t, m)
		m, h := recoverFrom(t, c)
		for _, s := range shelves {
			if diff := cmp.Diff(&s.Manifest, h.manifests[s.Partition]); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
		}
		if h.report.LastFlush != shelves[0].Flush {
			t.Errorf("last flush is %d, a manifest covers %d", h.report.LastFlush, shelves[0].Flush)
		}
		check(m)
		closeMedium(t, m)
	})
}

func TestSeekFindsTheFirstBatchSince(t *testing.T) {
	m, _ := recoverFrom(t, testConfig(vfs.NewMem()))
	defer closeMedium(t, m)
	s := newShelf(partition(1, 0))
	// Timestamps that go back now and then.
	ts := func(offset int64) int64 { return 1000 + 10*offset - 95*(offset%3) }
	for range 3 {
		settle(t, m, s.move(m, false, s.run(150, 700, ts)...))
	}
	seg := s.Segments[0]
	for want := int64(500); want < 6000; want += 7 {
		expect := seg.End
		for offset := range seg.End {
			if ts(offset) >= want {
				expect = offset
				break
			}
		}
		if got, err := m.Seek(s.Partition, seg, want); err != nil || got != expect {
			t.Fatalf("Seek(%d) = %d, %v, want %d", want, got, err, expect)
		}
	}
}

func TestReadBeginsWithTheBatchThatContainsTheOffset(t *testing.T) {
	m, _ := recoverFrom(t, testConfig(vfs.NewMem()))
	defer closeMedium(t, m)
	s := newShelf(partition(1, 0))
	// Offsets 0-4, 5-9, a gap as compaction leaves it, 20-24.
	settle(t, m, s.move(m, false, batch(0, 5, 1, 100), batch(5, 5, 2, 200), batch(20, 5, 3, 300)))
	seg := s.Segments[0]
	for offset, base := range map[int64]int64{0: 0, 4: 0, 5: 5, 9: 5, 10: 20, 20: 20, 24: 20} {
		got, err := m.Read(s.Partition, seg, offset, 1, []byte("before"))
		if err != nil || !bytes.HasPrefix(got, []byte("before")) || record.BaseOffset(got[6:]) != base {
			t.Errorf("read at %d: %d bytes, %v, want the batch at %d", offset, len(got), err, base)
		}
	}
	if got, err := m.Read(s.Partition, seg, 25, 1000, nil); err != nil || len(got) != 0 {
		t.Errorf("read at the end: %d bytes, %v", len(got), err)
	}
}

func TestDropAndRemoveDeleteFiles(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, _ := recoverFrom(t, c)
		s := newShelf(partition(1, 0))
		settle(t, m, s.move(m, false, s.run(3, 100, rising)...))
		settle(t, m, s.move(m, true, s.run(3, 100, rising)...))
		manifest := s.Manifest
		manifest.Start, manifest.Segments = 3, s.Segments[1:]
		settle(t, m, storage.Move{Manifest: &manifest})
		m.Drop(s.Partition, s.Segments[:1])
		folder := filepath.Join(c.Dir, segmentFolder(s.Partition))
		names, err := c.FS.List(folder)
		if want := []string{s.Segments[1].Token + segmentExt}; err != nil || !slices.Equal(names, want) {
			t.Errorf("after the drop the folder holds %v, %v, want %v", names, err, want)
		}
		if err := m.Remove(s.Partition); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{manifestName, segmentName} {
			if names, err := c.FS.List(filepath.Join(c.Dir, dir)); err != nil || len(names) != 0 {
				t.Errorf("after Remove %s holds %v, %v", dir, names, err)
			}
		}
		if err := m.Remove(s.Partition); err != nil {
			t.Errorf("removing it again: %v", err)
		}
		closeMedium(t, m)
	})
}

// TestLateReadersKeepNoDeletedFile: somebody who has found a segment before it
// was given up reads it while its files are being deleted. It does not stay
// open, which would keep its bytes on the disk.
func TestLateReadersKeepNoDeletedFile(t *testing.T) {
	for name, give := range map[string]func(m *Medium, s *shelf) error{
		"drop": func(m *Medium, s *shelf) error {
			m.Drop(s.Partition, s.Segments)
			return nil
		},
		"remove": func(m *Medium, s *shelf) error { return m.Remove(s.Partition) },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewMem()
			m, _ := recoverFrom(t, testConfig(fsys))
			s := newShelf(partition(1, 0))
			settle(t, m, s.move(m, false, s.run(3, 100, rising)...))
			read := 0
			fsys.OnCall(func(c vfs.Call) error {
				if c.Kind == vfs.RemoveCall && filepath.Ext(c.Name) == segmentExt {
					if got, err := readAll(m, &s.Manifest, 1000); err != nil || len(got) != 300 {
						t.Errorf("late reader: %d bytes, %v", len(got), err)
					}
					read++
				}
				return nil
			})
			if err := give(m, s); err != nil || read != 1 {
				t.Errorf("%d late readers, %v", read, err)
			}
			fsys.OnCall(nil)
			if n := len(m.segments.open); n != 0 {
				t.Errorf("%d segments are open that are deleted", n)
			}
			closeMedium(t, m)
		})
	}
}

// TestSpareIsNotTheManifestOnTheDisk: a round fails somewhere, and the machine
// stops somewhere in the next one, with and without a new process in between.
// If a spare that is still the manifest on the disk were written over, the
// manifest would be found damaged.
func TestSpareIsNotTheManifestOnTheDisk(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for fail := int64(1); ; fail++ {
			failed, ended := true, false
			for stop := int64(0); failed && !ended; stop++ {
				failed, ended = failThenStop(t, restart, fail, stop)
			}
			if !failed {
				break // a round has fewer calls
			}
		}
	}
}

func failThenStop(t *testing.T, restart bool, fail, stop int64) (failed, ended bool) {
	t.Helper()
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(1, 0))
	for range 2 { // so that there is a spare
		s.Producers = bytes.Repeat([]byte{byte(s.End)}, 2000) // several sectors
		settle(t, m, s.move(m, false, s.run(3, 700, rising)...))
	}
	s.Producers = bytes.Repeat([]byte{byte(s.End)}, 2000)
	move := s.move(m, false, s.run(3, 700, rising)...)
	begin := fsys.Calls()
	fsys.OnCall(func(c vfs.Call) error {
		if c.N == begin+fail {
			return vfs.ErrFault
		}
		return nil
	})
	if m.Settle([]storage.Move{move}) == nil {
		closeMedium(t, m)
		return false, false
	}
	fsys.OnCall(nil)
	if restart {
		closeMedium(t, m)
		var h *held
		m, h = recoverFrom(t, c)
		if h.manifests[s.Partition].End == 9 { // it is the new one
			move = s.move(m, false, s.run(3, 700, rising)...)
		}
	}
	fsys.CrashAfter(fsys.Calls() + stop)
	ended = m.Settle([]storage.Move{move}) == nil
	for seed := range uint64(8) {
		n, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
		manifest := h.manifests[s.Partition]
		if manifest == nil || manifest.End < 6 || ended && manifest.End != move.Manifest.End {
			t.Fatalf("call %d failed, the next round stopped after %d, restart %t, seed %d: manifest %+v, damage %v",
				fail, stop, restart, seed, manifest, h.report.Corrupt)
		}
		if got, err := readAll(n, manifest, 1<<20); err != nil || !bytes.HasPrefix(s.all, got) {
			t.Fatalf("call %d failed, the next round stopped after %d, restart %t, seed %d: %v", fail, stop, restart, seed, err)
		}
		closeMedium(t, n)
	}
	_ = m.Close() // the machine has stopped
	return true, ended
}

// TestRoundAgainAfterManifestsWereReplaced: a round fails when manifests have
// been replaced, and is tried again with the same names. A crash at any moment of
// that leaves the old manifest or the new one, and all that it lists.
func TestRoundAgainAfterManifestsWereReplaced(t *testing.T) {
	for n := int64(1); ; n++ {
		fsys := vfs.NewCrashMem()
		m, _ := recoverFrom(t, testConfig(fsys))
		s := newShelf(partition(1, 0))
		move := s.move(m, false, transactionBatch(9, 0), markerBatch(9, 1, false))
		move.Writes[0].Aborted = []storage.AbortedTransaction{{ProducerID: 9, First: 0, Last: 1}}
		move.Manifest.Segments[0].Aborted = 1
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.SyncCall && filepath.Base(c.Name) == manifestName {
				return vfs.ErrFault
			}
			return nil
		})
		if err := m.Settle([]storage.Move{move}); !errors.Is(err, vfs.ErrFault) {
			t.Fatal(err)
		}
		left := n
		fsys.OnCall(func(vfs.Call) error {
			if left--; left < 0 {
				return vfs.ErrCrashed
			}
			return nil
		})
		err := m.Settle([]storage.Move{move})
		for seed := range uint64(12) {
			again, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
			if len(h.report.Corrupt) > 0 {
				t.Fatalf("crash after %d calls: %v", n, h.report.Corrupt)
			}
			if len(h.manifests) > 0 {
				if err := again.VerifySegment(s.Partition, move.Manifest.Segments[0]); err != nil {
					t.Errorf("crash after %d calls: %v", n, err)
				}
			}
			closeMedium(t, again)
		}
		if err == nil {
			break
		}
	}
}

// TestRemovalOfTheLastManifestIsDurableBeforeItsSegmentsGo: the process ends
// between deleting the only manifest and syncing that, and the next one finds segments
// that nobody lists.
func TestRemovalOfTheLastManifestIsDurableBeforeItsSegmentsGo(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(1, 0))
	settle(t, m, s.move(m, false, s.run(3, 100, rising)...))
	fsys.OnCall(func(c vfs.Call) error {
		if c.Kind == vfs.SyncCall {
			return vfs.ErrFault
		}
		return nil
	})
	if err := m.Remove(s.Partition); err == nil {
		t.Fatal("a removal that cannot be made durable succeeds")
	}
	m.release() // all that happens to a process that is killed
	fsys.OnCall(nil)
	m, _ = recoverFrom(t, c)
	for seed := range uint64(40) {
		n, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
		if len(h.report.Corrupt) > 0 {
			t.Fatalf("seed %d: a crash is taken for damage: %v", seed, h.report.Corrupt)
		}
		closeMedium(t, n)
	}
	closeMedium(t, m)
}
