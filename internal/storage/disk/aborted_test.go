package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// transactionBatch is a transactional batch of one record at an offset.
func transactionBatch(producer, offset int64) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(producer, 0, 0)
	b.SetTransactional()
	b.Append(1000, []byte("k"), []byte("v"))
	return placed(b.Finish(), offset)
}

func markerBatch(producer, offset int64, commit bool) []byte {
	m := storage.Marker{ProducerID: producer, CoordinatorEpoch: 6, Commit: commit}
	return placed(m.Batch(2000), offset)
}

func placed(batch []byte, offset int64) []byte {
	record.SetBaseOffset(batch, offset)
	record.SetLeaderEpoch(batch, 1)
	return batch
}

// abortedShelf has two rounds of settling behind it: n aborted transactions of
// one producer in the first, and one that began before them all in the second.
func abortedShelf(t testing.TB, m *Medium, n int) (s *shelf, want []storage.AbortedTransaction) {
	t.Helper()
	s = newShelf(partition(5, 2))
	batches := [][]byte{transactionBatch(2, 0)}
	for i := range int64(n) {
		batches = append(batches, transactionBatch(1, 1+2*i), markerBatch(1, 2+2*i, false))
		want = append(want, storage.AbortedTransaction{ProducerID: 1, First: 1 + 2*i, Last: 2 + 2*i})
	}
	move := s.move(m, false, batches...)
	settleAborted(t, m, s, move, 0, want)
	end := 1 + 2*int64(n)
	last := storage.AbortedTransaction{ProducerID: 2, First: 0, Last: end, Stable: end + 1}
	move = s.move(m, false, markerBatch(2, end, false), markerBatch(1, end+1, true))
	settleAborted(t, m, s, move, int32(n), []storage.AbortedTransaction{last})
	return s, append(want, last)
}

func settleAborted(t testing.TB, m *Medium, s *shelf, move storage.Move, at int32, entries []storage.AbortedTransaction) {
	t.Helper()
	w := &move.Writes[len(move.Writes)-1]
	w.AbortedAt, w.Aborted = at, entries
	seg := &move.Manifest.Segments[len(move.Manifest.Segments)-1]
	seg.Aborted = at + int32(len(entries))
	s.Segments[len(s.Segments)-1].Aborted = seg.Aborted
	settle(t, m, move)
}

// abortedFrom reads the index of a segment from an offset to the end.
func abortedFrom(m *Medium, p storage.Partition, seg storage.Segment, from int64) (all []storage.AbortedTransaction, err error) {
	for {
		got, err := m.Aborted(p, seg, from, nil)
		if err != nil || len(got) == 0 {
			return all, err
		}
		all = append(all, got...)
		from = got[len(got)-1].Last + 1
	}
}

func TestAbortedTransactionsAreFound(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, _ := recoverFrom(t, c)
		s, want := abortedShelf(t, m, 600) // more than one read gives
		seg := s.Segments[0]
		for range 2 {
			for i := 0; i <= len(want); i += 75 {
				got, err := abortedFrom(m, s.Partition, seg, int64(2*i))
				if diff := cmp.Diff(want[max(0, i-1):], got); diff != "" && i > 0 || err != nil {
					t.Fatalf("from marker %d: %v (-want +got):\n%s", i, err, diff)
				}
			}
			if got, err := m.Aborted(s.Partition, seg, seg.End, nil); len(got) > 0 || err != nil {
				t.Errorf("behind the end: %v, %v", got, err)
			}
			if v, err := Verify(t.Context(), c, func(err error) { t.Error(err) }); err != nil || v.Segments != 1 {
				t.Errorf("verified %+v, %v", v, err)
			}
			closeMedium(t, m)
			var h *held
			m, h = recoverFrom(t, c)
			if diff := cmp.Diff(&s.Manifest, h.manifests[s.Partition]); diff != "" {
				t.Error(diff)
			}
		}
		closeMedium(t, m)
	})
}

// A round that is tried again writes the same entries at the same places; what
// an attempt left behind counts for nothing.
func TestAbortedTransactionsOfAFailedRound(t *testing.T) {
	fsys := vfs.NewMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(5, 2))
	move := s.move(m, false, transactionBatch(1, 0), markerBatch(1, 1, false))
	wrong, right := storage.AbortedTransaction{ProducerID: 9, First: 7, Last: 8}, storage.AbortedTransaction{ProducerID: 1, First: 0, Last: 1, Stable: 2}
	move.Writes[0].Aborted = []storage.AbortedTransaction{wrong, wrong}
	fsys.OnCall(func(c vfs.Call) error {
		if c.Kind == vfs.WriteCall && strings.HasSuffix(c.Name, manifestSpareExt) {
			return vfs.ErrFault
		}
		return nil
	})
	if err := m.Settle([]storage.Move{move}); err == nil {
		t.Fatal("the round did not fail")
	}
	fsys.OnCall(nil)
	settleAborted(t, m, s, move, 0, []storage.AbortedTransaction{right})
	for range 2 {
		if got, err := abortedFrom(m, s.Partition, s.Segments[0], 0); err != nil || len(got) != 1 || got[0] != right {
			t.Errorf("read %+v, %v", got, err)
		}
		closeMedium(t, m)
		m, _ = recoverFrom(t, c)
	}
	manifest := s.Manifest
	manifest.Segments = nil
	settle(t, m, storage.Move{Manifest: &manifest})
	m.Drop(s.Partition, s.Segments)
	if names, err := fsys.List(filepath.Join(c.Dir, segmentFolder(s.Partition))); err != nil || len(names) > 0 {
		t.Errorf("left of a deleted segment: %v, %v", names, err)
	}
	closeMedium(t, m)
}

func TestDamagedIndexOfAbortedTransactions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(b []byte) []byte
		reason string
		atRead bool // found when it is read only
	}{
		{"entry", func(b []byte) []byte { b[abortedAt(1)+3] ^= 1; return b }, "the entry's checksum is wrong", true},
		{"header", func(b []byte) []byte { b[20] ^= 1; return b }, "the header's checksum is wrong", false},
		{"cut off", func(b []byte) []byte { return b[:len(b)-1] }, "it ends before entry 4, which its manifest covers", false},
		{"empty", func([]byte) []byte { return nil }, "it does not begin with " + abortedMagic, false},
		{"entries swapped", func(b []byte) []byte {
			one := string(b[abortedAt(1):abortedAt(2)])
			copy(b[abortedAt(1):], b[abortedAt(2):abortedAt(3)])
			copy(b[abortedAt(2):], one)
			return b
		}, "an entry that cannot be here", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testConfig(vfs.NewMem())
			m, _ := recoverFrom(t, c)
			s, _ := abortedShelf(t, m, 3)
			closeMedium(t, m)
			file := abortedPath(s.Partition, s.Segments[0].Token)
			alter(t, c, filepath.Join(c.Dir, file), tt.change)

			var found []error
			if _, err := Verify(t.Context(), c, func(err error) { found = append(found, err) }); err != nil || len(found) == 0 {
				t.Fatalf("verify finds %v, %v", found, err)
			}
			m, h := recoverFrom(t, c)
			defer closeMedium(t, m)
			err := h.report.Corrupt[s.Partition]
			if tt.atRead {
				if err != nil {
					t.Fatalf("at start: %v", err)
				}
				_, err = abortedFrom(m, s.Partition, s.Segments[0], 0)
			}
			var damage *storage.CorruptError
			if !errors.As(err, &damage) || damage.Reason != tt.reason || damage.File != file {
				t.Errorf("found %v, want %q", err, tt.reason)
			}
			if !errors.As(found[0], &damage) || damage.Reason != tt.reason {
				t.Errorf("verify found %v, want %q", found[0], tt.reason)
			}
		})
	}
}

func TestMissingIndexOfAbortedTransactions(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	s, _ := abortedShelf(t, m, 3)
	closeMedium(t, m)
	if err := c.FS.Remove(filepath.Join(c.Dir, abortedPath(s.Partition, s.Segments[0].Token))); err != nil {
		t.Fatal(err)
	}
	m, h := recoverFrom(t, c)
	if err := h.report.Corrupt[s.Partition]; err == nil || !strings.Contains(err.Error(), "it is missing") {
		t.Errorf("found %v", err)
	}
	closeMedium(t, m)
}

// Verify holds entries against the markers that they speak of.
func TestIndexThatDoesNotFitItsSegment(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(5, 2))
	move := s.move(m, false, transactionBatch(1, 0), markerBatch(1, 1, true))
	settleAborted(t, m, s, move, 0, []storage.AbortedTransaction{{ProducerID: 1, First: 0, Last: 1, Stable: 2}})
	closeMedium(t, m)
	var found []string
	if _, err := Verify(t.Context(), c, func(err error) { found = append(found, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], "no marker of producer 1 at offset 1") {
		t.Errorf("found %q", found)
	}
}

func TestDumpOfTransactions(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	p := partition(5, 2)
	flush(t, m, 1, batchFrame(p, transactionBatch(1, 0)), batchFrame(p, markerBatch(1, 1, false)), batchFrame(p, markerBatch(2, 2, true)))
	s, _ := abortedShelf(t, m, 1)
	closeMedium(t, m)
	got, err := dumped(t, c, journalPath(1))
	if err != nil || len(got) != 5 {
		t.Fatalf("journal: %v\n%s", err, strings.Join(got, "\n"))
	}
	for i, want := range []string{
		"producer 1 epoch 0 sequence 0 transactional",
		"producer 1 epoch 0 sequence -1 transactional control abort marker coordinator epoch 6",
		"producer 2 epoch 0 sequence -1 transactional control commit marker coordinator epoch 6 (last)",
	} {
		if !strings.HasSuffix(got[1+i], want) {
			t.Errorf("journal: %q does not end with %q", got[1+i], want)
		}
	}
	got, err = dumped(t, c, segmentPath(p, s.Segments[0].Token))
	if err != nil || !strings.HasSuffix(got[4], "control abort marker coordinator epoch 6") {
		t.Errorf("segment: %v\n%s", err, strings.Join(got, "\n"))
	}
	file := abortedPath(p, s.Segments[0].Token)
	head, err := dumped(t, c, file)
	if err != nil || !strings.HasPrefix(head[0], "aborted transactions version 1 durability fsync partition "+partitionName(p)+" base 0 of segment header ") {
		t.Errorf("%v, first line %q", err, head[0])
	}
	want := []string{
		head[0], "manifest covers 2 entries",
		"64 producer 1 offsets 1 to 2, last stable behind it 0", "104 producer 2 offsets 0 to 3, last stable behind it 4",
	}
	wantDump(t, c, file, want...)
	alter(t, c, filepath.Join(c.Dir, file), func(b []byte) []byte { return append(append(b, b[64:104]...), "rest"...) })
	wantDump(t, c, file, append(want, "144 VOID producer 1 offsets 1 to 2, last stable behind it 0", "184 TORN 4 bytes that do not count")...)
	flip(t, c, filepath.Join(c.Dir, file), 110)
	got, err = dumped(t, c, file)
	var damage *storage.CorruptError
	if !errors.As(err, &damage) || damage.Offset != 104 || got[3] != "104 CORRUPT the entry's checksum is wrong" {
		t.Errorf("damaged: %v\n%s", err, strings.Join(got, "\n"))
	}
}

// FuzzAborted mutates an index of aborted transactions. Opening and reading it
// must not panic and give what was written, or damage.
func FuzzAborted(f *testing.F) {
	c := testConfig(vfs.NewCrashMem())
	m, _ := recoverFrom(f, c)
	s, want := abortedShelf(f, m, 20)
	closeMedium(f, m)
	path := filepath.Join(c.Dir, abortedPath(s.Partition, s.Segments[0].Token))
	whole, err := vfs.ReadFile(c.FS, path, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 70, 0, 1}, uint16(9))
	f.Add([]byte{0, 200, 0xff, 0}, uint16(9))
	f.Add([]byte{0, 56, 0, 1}, uint16(30))
	fsys := c.FS.(*vfs.Mem)
	f.Fuzz(func(t *testing.T, script []byte, from uint16) {
		c := c
		c.FS = fsys.CrashClone(1)
		write(t, c, abortedPath(s.Partition, s.Segments[0].Token), "")
		alter(t, c, path, func([]byte) []byte { return mutate(whole, script) })
		corruptOnly(t, Dump(io.Discard, c.FS, path))
		if _, err := Verify(context.Background(), c, func(err error) { corruptOnly(t, err) }); err != nil {
			corruptOnly(t, err)
		}
		m, h, err := tryRecover(c)
		if err != nil {
			corruptOnly(t, err)
			return
		}
		defer closeMedium(t, m)
		if h.manifests[s.Partition] == nil {
			return
		}
		got, err := abortedFrom(m, s.Partition, s.Segments[0], int64(from))
		corruptOnly(t, err)
		first := 0
		for first < len(want) && want[first].Last < int64(from) {
			first++
		}
		if len(got) > 0 && fmt.Sprint(got) != fmt.Sprint(want[first:first+len(got)]) {
			t.Fatalf("read %+v", got)
		}
	})
}
