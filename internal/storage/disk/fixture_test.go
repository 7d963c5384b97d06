package disk

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
	"rota/internal/vfs"
)

var writeFixture = flag.String("write-fixture", "", "write the data folder of this version to `DIR`, to be kept in testdata for ever")

// fixtureWork fills a data folder with one of everything that a version of the
// folder knows. What it writes is fixed for ever, because folders of released
// versions are compared with it.
func fixtureWork(t *testing.T, c Config, version int) (shelves []*shelf, frames []heldFrame, aborted []storage.AbortedTransaction) {
	t.Helper()
	m, _ := recoverFrom(t, c)
	p, q, gone := partition(1, 0), partition(2, 11), partition(3, 1)
	send := func(number uint64, sent ...storage.Frame) {
		flush(t, m, number, sent...)
		for _, f := range sent {
			frames = append(frames, heldFrame{number, f})
		}
	}
	send(1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 1})
	a, b := newShelf(p), newShelf(q)
	a.Producers = nil
	for i := range 3 {
		settle(t, m, a.move(m, i == 2, a.run(3, 700, rising)...), b.move(m, false, b.run(1, 5000, rising)...))
	}
	send(2, batchFrame(p, batch(9, 2, 2000, 300)), batchFrame(q, batch(3, 1, 2001, 6000)))
	send(3, storage.Frame{Kind: storage.FrameStart, Partition: p, Offset: 4, Epoch: 1})
	send(4, batchFrame(gone, batch(0, 1, 2002, 100)))
	send(5, storage.Frame{Kind: storage.FrameRemove, Partition: gone, Epoch: 1})
	send(6, batchFrame(q, batch(4, 1, 2003, 6000)))
	shelves = []*shelf{a, b}
	if version > 1 {
		s, entries := abortedShelf(t, m, 3) // two rounds: flush 2 is covered
		shelves, aborted = append(shelves, s), entries
		send(7, batchFrame(s.Partition, transactionBatch(3, 9)), batchFrame(s.Partition, markerBatch(3, 10, true)))
	}
	closeMedium(t, m)
	return shelves, frames, aborted
}

// TestReleasedFoldersOpen opens the folders that released versions wrote.
func TestReleasedFoldersOpen(t *testing.T) {
	if *writeFixture != "" {
		c := Config{Dir: *writeFixture, JournalFile: smallJournal, Now: func() time.Time { return time.UnixMilli(0) }}
		fixtureWork(t, c, FolderVersion)
		return
	}
	folders, err := filepath.Glob("testdata/format/v?")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for i, folder := range folders {
		version := i + 1
		t.Run(filepath.Base(folder), func(t *testing.T) {
			want, frames, aborted := fixtureWork(t, testConfig(vfs.NewMem()), version)
			dir := filepath.Join(t.TempDir(), "data") // the fixture itself stays as it is
			if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			c := Config{Dir: dir, JournalFile: smallJournal}
			if v, err := Verify(t.Context(), c, func(err error) { t.Error(err) }); err != nil ||
				v.Segments != len(want)+1 || v.LastFlush != 5+uint64(version) || v.TornBytes != 0 {
				t.Errorf("verified %+v, %v", v, err)
			}
			m, h := recoverFrom(t, c)
			for _, s := range want {
				got := h.manifests[s.Partition]
				if got == nil {
					t.Fatalf("partition %d has no manifest: %v", s.Partition.Topic[0], h.report.Corrupt)
				}
				all, err := readAll(m, got, 1000)
				if err != nil || !bytes.Equal(all, s.all) {
					t.Errorf("partition %d: read %d bytes of %d, %v", s.Partition.Topic[0], len(all), len(s.all), err)
				}
				same := s.Manifest
				for i := range same.Segments { // tokens are random
					same.Segments[i].Token = got.Segments[i].Token
				}
				if diff := cmp.Diff(&same, got); diff != "" {
					t.Errorf("manifest (-want +got):\n%s", diff)
				}
				if n := got.Segments[0].Aborted; n > 0 {
					entries, err := abortedFrom(m, s.Partition, got.Segments[0], 0)
					if diff := cmp.Diff(aborted, entries); diff != "" || err != nil {
						t.Errorf("aborted transactions: %v (-want +got):\n%s", err, diff)
					}
				}
			}
			got := h.frames
			if len(got) > 0 && got[0].Kind == storage.FrameEpoch && got[0].flush != 1 {
				got = got[1:] // what the newest header carries on
			}
			if diff := cmp.Diff(frames, got, cmp.AllowUnexported(heldFrame{}), cmp.Transformer("string", func(b []byte) string { return string(b) })); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
			closeMedium(t, m)
		})
	}
}
