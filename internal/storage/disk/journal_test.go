package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// journalNames lists the journal's folder.
func journalNames(t testing.TB, c Config) []string {
	t.Helper()
	names, err := c.FS.List(filepath.Join(c.Dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// newestJournal is the path of the journal file with the largest sequence.
func newestJournal(t testing.TB, c Config) string {
	t.Helper()
	newest := ""
	for _, name := range journalNames(t, c) {
		if strings.HasSuffix(name, journalExt) {
			newest = name
		}
	}
	return filepath.Join(c.Dir, journalName, newest)
}

// alter changes bytes of a file in place.
func alter(t testing.TB, c Config, path string, change func(b []byte) []byte) {
	t.Helper()
	b, err := vfs.ReadFile(c.FS, path, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.FS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(change(b), 0); err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte of a file.
func flip(t testing.TB, c Config, path string, pos int64) {
	t.Helper()
	alter(t, c, path, func(b []byte) []byte { b[pos] ^= 0x10; return b })
}

func wantOffsets(t testing.TB, h *held, want []string) {
	t.Helper()
	if got := h.offsets(); !slices.Equal(got, want) {
		t.Fatalf("recovered %v, want %v", got, want)
	}
}

// space is what flushBatches takes for a batch of that size.
func space(size int) int64 { return frameSpace(size) }

func TestTornTailIsCutAtEveryByte(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 3, 300)
	closeMedium(t, m)
	path := newestJournal(t, c)
	whole, err := vfs.ReadFile(c.FS, path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	start := int64(journalHeader) + 2*space(300)
	for cut := start; cut < start+space(300); cut += 7 {
		zeroed := cut%2 == 0
		alter(t, c, path, func([]byte) []byte {
			if zeroed { // the file was longer before
				return append(slices.Clone(whole[:cut]), make([]byte, int64(len(whole))-cut)...)
			}
			return whole[:cut]
		})
		if !zeroed {
			f, err := c.FS.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			f.Truncate(cut)
			f.Close()
		}
		m, h := recoverFrom(t, c)
		if padding := start + frameHeader + 300; cut >= padding && zeroed {
			wantOffsets(t, h, want)
		} else {
			wantOffsets(t, h, want[:2])
			if cut > start+8 && (h.report.TornBytes < cut-start || h.report.TornFile != filepath.Join(journalName, filepath.Base(path))) {
				t.Fatalf("cut at %d: report is %+v", cut, h.report)
			}
		}
		closeMedium(t, m)
		for _, name := range journalNames(t, c) { // as it was before
			if name != filepath.Base(path) {
				c.FS.Remove(filepath.Join(c.Dir, journalName, name))
			}
		}
	}
}

func TestDamageBeforeALaterFlushIsCorruption(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		t.Run(d.String(), func(t *testing.T) {
			c := testConfig(vfs.NewMem())
			c.Durability = d
			m, _ := recoverFrom(t, c)
			want := flushBatches(t, m, 1, 5, 300)
			closeMedium(t, m)
			path := newestJournal(t, c)
			rel := filepath.Join(journalName, filepath.Base(path))
			for _, at := range []int64{0, 9, 18, 22, 30, 57, 60, 61, 62, 64, 300} { // every field, and the payload
				for n := range int64(5) {
					pos := journalHeader + n*space(300)
					flip(t, c, path, pos+at)
					// Flush 5 is the last: it may be torn.
					m, h, err := tryRecover(c)
					var damage *storage.CorruptError
					switch {
					case d == Fsync && n < 4:
						if !errors.As(err, &damage) || damage.File != rel || damage.Offset != pos {
							t.Fatalf("byte %d of flush %d: %v", at, n+1, err)
						}
					case err != nil:
						t.Fatalf("byte %d of flush %d: %v", at, n+1, err)
					default:
						wantOffsets(t, h, want[:n])
						if torn := (5 - n) * space(300); n < 4 && h.report.TornBytes != torn {
							t.Fatalf("byte %d of flush %d: %d bytes torn, want %d", at, n+1, h.report.TornBytes, torn)
						}
						closeMedium(t, m)
						if newest := newestJournal(t, c); newest != path {
							t.Fatalf("recovery alone made %s", newest)
						}
					}
					flip(t, c, path, pos+at)
				}
			}
		})
	}
}

func TestCutBytesNeverComeBack(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval} {
		c := testConfig(vfs.NewMem())
		c.Durability = d
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 4, 300)
		closeMedium(t, m)
		path := newestJournal(t, c)
		pos := journalHeader + 3*space(300) + 100
		flip(t, c, path, pos)
		m, h := recoverFrom(t, c)
		wantOffsets(t, h, want[:3])
		flush(t, m, 4, batchFrame(partition(2, 0), batch(70, 1, 0, 100)))
		closeMedium(t, m)
		flip(t, c, path, pos) // it is whole again
		m, h = recoverFrom(t, c)
		wantOffsets(t, h, append(want[:3:3], "4:70"))
		closeMedium(t, m)
	}
}

func TestDamageInASealedFileIsCorruption(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		c := testConfig(vfs.NewMem())
		c.Durability = d
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 30, 2000)
		closeMedium(t, m)
		first := filepath.Join(c.Dir, journalPath(1))
		b, err := vfs.ReadFile(c.FS, first, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		last := journalHeader + (c.JournalFile-journalHeader)/space(2000)*space(2000) - space(2000)
		if int64(len(b)) < last+space(2000) {
			t.Fatalf("file has %d bytes", len(b))
		}
		flip(t, c, first, last+500)
		_, h, err := tryRecover(c)
		if d == Never && err == nil {
			// It may as well be what the system had not written in a crash.
			n := int(last-journalHeader) / int(space(2000))
			wantOffsets(t, h, want[:n])
			if torn := int64(30-n) * space(2000); h.report.TornBytes != torn || h.report.TornFile != journalPath(1) {
				t.Errorf("report is %+v, want %d bytes torn", h.report, torn)
			}
			continue
		}
		var damage *storage.CorruptError
		if !errors.As(err, &damage) || damage.File != journalPath(1) || damage.Offset != last {
			t.Errorf("%v: the last flush of a sealed file is damaged: %v, want byte %d", d, err, last)
		}
	}
}

func TestDamagedHeaders(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flushBatches(t, m, 1, 30, 2000)
	closeMedium(t, m)
	for _, seq := range []uint64{1, 3, 6} {
		path := filepath.Join(c.Dir, journalPath(seq))
		for _, at := range []int64{0, 9, 10, 11, 12, 16, 24, 40, 64, 100} {
			flip(t, c, path, at)
			_, _, err := tryRecover(c)
			var damage *storage.CorruptError
			var version *VersionError
			if at == 9 && !errors.As(err, &version) || at != 9 && (!errors.As(err, &damage) || damage.File != journalPath(seq)) {
				t.Errorf("byte %d of header %d changed: %v", at, seq, err)
			}
			flip(t, c, path, at)
		}
	}
	// A file under another's name.
	alter(t, c, filepath.Join(c.Dir, journalPath(3)), func([]byte) []byte {
		b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, journalPath(2)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	var damage *storage.CorruptError
	if _, _, err := tryRecover(c); !errors.As(err, &damage) || damage.File != journalPath(3) {
		t.Errorf("a file under another's name: %v", err)
	}
}

// watchFile counts writes and syncs of one file.
func watchFile(m *vfs.Mem, name string) *int {
	n := 0
	m.OnCall(func(c vfs.Call) error {
		if c.Name == name && (c.Kind == vfs.WriteCall || c.Kind == vfs.SyncCall) {
			n++
		}
		return nil
	})
	return &n
}

func TestFailedFlushIsVoidForEver(t *testing.T) {
	faults := map[string]func(m *vfs.Mem){
		"sync":  func(m *vfs.Mem) { m.FailSync(1) },
		"write": func(m *vfs.Mem) { m.FailWrite(1) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewCrashMem()
			c := testConfig(fsys)
			m, _ := recoverFrom(t, c)
			want := flushBatches(t, m, 1, 3, 300)
			path := newestJournal(t, c)
			fault(fsys)
			if err := flushErr(m, 4, batchFrame(partition(1, 0), batch(4, 1, 0, 300))); !errors.Is(err, vfs.ErrFault) {
				t.Fatalf("flush on a failing disk: %v", err)
			}
			touched := watchFile(fsys, path)
			for n := uint64(4); n < 6; n++ {
				if err := flushErr(m, n, batchFrame(partition(1, 0), batch(4, 1, 0, 300))); err == nil {
					t.Fatalf("flush %d after a failed one succeeds", n)
				}
			}
			if err := m.Reopen(4); err != nil {
				t.Fatal(err)
			}
			flush(t, m, 4, batchFrame(partition(1, 0), batch(44, 1, 0, 300)))
			flush(t, m, 5, batchFrame(partition(1, 0), batch(45, 1, 0, 300)))
			want = append(want, "4:44", "5:45")
			if *touched != 0 {
				t.Errorf("the file whose %s failed was written or synced %d times after", name, *touched)
			}
			// Whatever reached the disk of flush 4 the first time is void.
			for seed := range uint64(20) {
				clone := testConfig(fsys.CrashClone(seed))
				m, h := recoverFrom(t, clone)
				wantOffsets(t, h, want)
				closeMedium(t, m)
			}
			if err := m.Trim(5); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(journalNames(t, c), filepath.Base(sparePathOf(path))) {
				t.Error("the file that failed is kept for reuse")
			}
			closeMedium(t, m)
		})
	}
}

func sparePathOf(path string) string {
	seq, _ := parseSeq(strings.TrimSuffix(filepath.Base(path), journalExt))
	return sparePath(seq)
}

func TestReopenIsTriedUntilItWorks(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 2, 300)
	fsys.FailSync(1)
	if err := flushErr(m, 3, batchFrame(partition(1, 0), batch(3, 1, 0, 300))); err == nil {
		t.Fatal("flush on a failing disk succeeds")
	}
	// Reopen syncs the new file, then the folder.
	for _, n := range []int64{1, 2} {
		fsys.FailSync(n)
		if err := m.Reopen(3); !errors.Is(err, vfs.ErrFault) {
			t.Fatalf("reopen on a failing disk: %v", err)
		}
		if err := flushErr(m, 3, batchFrame(partition(1, 0), batch(3, 1, 0, 300))); err == nil {
			t.Fatal("flush succeeds before the journal is reopened")
		}
		for seed := range uint64(8) {
			m, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
			// Flush 3 was never acknowledged and not yet voided.
			if got := h.offsets(); len(got) > 2 {
				want := append(want[:2:2], "3:3")
				wantOffsets(t, h, want)
			} else {
				wantOffsets(t, h, want)
			}
			closeMedium(t, m)
		}
	}
	fsys.FailWrite(1)
	if err := m.Reopen(3); !errors.Is(err, vfs.ErrFault) {
		t.Fatalf("reopen on a failing disk: %v", err)
	}
	if err := m.Reopen(2); err == nil {
		t.Error("a durable flush can be voided")
	}
	if err := m.Reopen(3); err != nil {
		t.Fatal(err)
	}
	flush(t, m, 3, batchFrame(partition(1, 0), batch(33, 1, 0, 300)))
	closeMedium(t, m)
	m, h := recoverFrom(t, c)
	wantOffsets(t, h, append(want, "3:33"))
	closeMedium(t, m)
}

// TestFlushInDoubtIsWrittenAgain: a sync fails, the process ends before it can
// void the flush, and the next one finds its bytes in the system's memory.
func TestFlushInDoubtIsWrittenAgain(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 3, 300)
	fsys.FailSync(1)
	if err := flushErr(m, 4, batchFrame(partition(1, 0), batch(4, 1, 0, 300))); err == nil {
		t.Fatal("flush on a failing disk succeeds")
	}
	closeMedium(t, m)
	want = append(want, "4:4")
	m, h := recoverFrom(t, c)
	wantOffsets(t, h, want)
	for seed := range uint64(20) {
		m, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
		wantOffsets(t, h, want)
		closeMedium(t, m)
	}
	closeMedium(t, m)
}

func TestFilesAreUsedAgainWithANewSalt(t *testing.T) {
	c := testConfig(vfs.NewCrashMem())
	c.JournalSpare = 4 * c.JournalFile
	m, _ := recoverFrom(t, c)
	salts := map[uint64]bool{}
	files := map[string]bool{}
	n := uint64(0)
	for range 20 {
		flushBatches(t, m, n+1, n+8, 1500)
		n += 8
		for _, f := range m.journal.files {
			salts[f.salt] = true
		}
		if err := m.Trim(n - 1); err != nil {
			t.Fatal(err)
		}
		names := journalNames(t, c)
		if len(names) > 4 {
			t.Fatalf("%d files: %v", len(names), names)
		}
		for _, name := range names {
			files[name] = true
		}
	}
	if len(salts) < 15 {
		t.Errorf("%d salts", len(salts))
	}
	want := 0
	for _, f := range m.journal.files {
		want += int((f.end - journalHeader) / space(1500))
	}
	if size := m.JournalSize(); size != int64(want)*space(1500) {
		t.Errorf("journal has %d bytes, want %d flushes of %d", size, want, space(1500))
	}
	closeMedium(t, m)
	m, h := recoverFrom(t, c)
	got := h.offsets()
	if len(got) != want || got[len(got)-1] != fmt.Sprintf("%d:%d", n, n) {
		t.Errorf("recovered %v, want the last %d of %d", got, want, n)
	}
	closeMedium(t, m)
}

// TestOldFramesOfAUsedFileAreNoEvidence: what an earlier use of a file left
// behind a torn tail proves nothing.
func TestOldFramesOfAUsedFileAreNoEvidence(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flushBatches(t, m, 1, 25, 1500)
	if err := m.Trim(24); err != nil {
		t.Fatal(err)
	}
	used := len(m.journal.spares)
	want := flushBatches(t, m, 26, 38, 1500) // into used files
	if len(m.journal.spares) >= used {
		t.Fatal("no file was used again")
	}
	a := m.journal.activeLocked()
	path, end := filepath.Join(c.Dir, journalPath(a.seq)), a.end
	closeMedium(t, m)
	flip(t, c, path, end-100)
	m, h := recoverFrom(t, c)
	got := h.offsets()
	if got[len(got)-1] != want[len(want)-2] || h.report.TornBytes != space(1500) {
		t.Errorf("recovered up to %v, report %+v", got[len(got)-1], h.report)
	}
	closeMedium(t, m)
}

func TestEpochCounterSurvivesTrimming(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flush(t, m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 41})
	flushBatches(t, m, 2, 40, 2000)
	if err := m.Trim(39); err != nil {
		t.Fatal(err)
	}
	closeMedium(t, m)
	m, h := recoverFrom(t, c)
	if len(h.frames) == 0 || h.frames[0].Kind != storage.FrameEpoch || h.frames[0].Epoch != 41 {
		t.Errorf("recovered %+v", h.frames)
	}
	closeMedium(t, m)
}

func TestFlushNumbersAreNeverUsedTwice(t *testing.T) {
	c := testConfig(vfs.NewMem())
	c.Durability = Never
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(1, 0))
	s.Flush = 8
	settle(t, m, s.move(m, false, s.run(2, 100, rising)...)) // covers flush 9
	closeMedium(t, m)
	m, h := recoverFrom(t, c) // the journal lost everything
	if h.report.LastFlush != 9 {
		t.Errorf("last flush is %d, a manifest knows 9", h.report.LastFlush)
	}
	if err := flushErr(m, 9); err == nil {
		t.Error("flush 9 is accepted")
	}
	flush(t, m, 10, batchFrame(s.Partition, batch(2, 1, 0, 100)))
	closeMedium(t, m)
	m, h = recoverFrom(t, c)
	wantOffsets(t, h, []string{"10:2"})
	closeMedium(t, m)
}

func TestWrittenIsCalledBeforeTheSync(t *testing.T) {
	fsys := vfs.NewMem()
	m, _ := recoverFrom(t, testConfig(fsys))
	flush(t, m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 1})
	var order []string
	fsys.OnCall(func(c vfs.Call) error {
		switch c.Kind {
		case vfs.WriteCall:
			order = append(order, "write")
		case vfs.SyncCall:
			order = append(order, "sync")
		default:
		}
		return nil
	})
	m.Flush(storage.Flush{Number: 2, Frames: []storage.Frame{batchFrame(partition(1, 0), batch(0, 1, 0, 9000))}},
		func() { order = append(order, "written") }, func(error) { order = append(order, "done") })
	if want := []string{"write", "written", "sync", "done"}; !slices.Equal(order, want) {
		t.Errorf("order is %v, want %v", order, want)
	}
	fsys.OnCall(nil)
	closeMedium(t, m)
}

func TestIntervalSyncsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		c.Durability = Interval
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 3, 300)
		_, h := recoverFrom(t, testConfig(fsys.CrashClone(0)))
		wantOffsets(t, h, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		_, h = recoverFrom(t, testConfig(fsys.CrashClone(0)))
		wantOffsets(t, h, want)

		syncs := 0
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.SyncCall {
				syncs++
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		if synctest.Wait(); syncs != 0 {
			t.Errorf("%d syncs while nothing is written", syncs)
		}
		flushBatches(t, m, 4, 4, 300)
		fsys.FailSync(1)
		select {
		case err := <-m.Failed():
			if !errors.Is(err, vfs.ErrFault) {
				t.Errorf("failed with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("a failed sync is not reported")
		}
		if err := flushErr(m, 5); err == nil {
			t.Error("flush after a failed interval sync succeeds")
		}
		if err := m.Reopen(5); err == nil {
			t.Error("acknowledged flushes are voided")
		}
		if m.Close() == nil {
			t.Error("Close says that all is durable")
		}
	})
}

func TestTrimmedActiveFileIsLeftBehind(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flushBatches(t, m, 1, 4, 2000)
	if err := m.Trim(4); err != nil {
		t.Fatal(err)
	}
	if size := m.JournalSize(); size != 0 {
		t.Errorf("everything is trimmed, size is %d", size)
	}
	flushBatches(t, m, 5, 5, 2000)
	if size := m.JournalSize(); size != space(2000) {
		t.Errorf("size is %d, want %d", size, space(2000))
	}
	if err := m.Trim(4); err != nil {
		t.Fatal(err)
	}
	closeMedium(t, m)
	m, h := recoverFrom(t, c)
	wantOffsets(t, h, []string{"5:5"})
	closeMedium(t, m)
}

func TestFlushAllocatesNothing(t *testing.T) {
	c := Config{FS: vfs.NewMem(), Dir: "data"}
	m, _ := recoverFrom(t, c)
	frames := []storage.Frame{batchFrame(partition(1, 0), batch(0, 1, 0, 300)), batchFrame(partition(1, 1), batch(0, 1, 0, 9000))}
	n := uint64(0)
	var failed error
	written, done := func() {}, func(err error) { failed = errors.Join(failed, err) }
	// The file system's memory grows, so it is allowed a little.
	if per := testing.AllocsPerRun(1000, func() {
		n++
		m.Flush(storage.Flush{Number: n, Frames: frames}, written, done)
	}); per > 0.5 {
		t.Errorf("%v allocations for a flush", per)
	}
	if failed != nil {
		t.Error(failed)
	}
	closeMedium(t, m)
}
