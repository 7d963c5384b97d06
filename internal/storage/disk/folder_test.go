package disk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
	"rota/internal/vfs"
)

func write(t testing.TB, c Config, rel, text string) {
	t.Helper()
	f, err := c.FS.Create(filepath.Join(c.Dir, rel))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func TestFolderIsMadeAndOpenedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		c.Dir = filepath.Join(c.Dir, "deep", "down")
		m, _ := recoverFrom(t, c)
		closeMedium(t, m)
		names, err := c.FS.List(c.Dir)
		if diff := cmp.Diff([]string{"format", "journal", "lock", "manifests", "segments"}, names); diff != "" || err != nil {
			t.Errorf("%v, folder (-want +got):\n%s", err, diff)
		}
		b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, "format"), 100)
		if err != nil || string(b) != "rota data folder\nversion 2\n" {
			t.Errorf("format holds %q, %v", b, err)
		}
		m, _ = recoverFrom(t, c)
		closeMedium(t, m)
	})
}

func TestFolderVersions(t *testing.T) {
	for _, tt := range []struct {
		name, format string
		version      bool // a *VersionError
		ok           bool
	}{
		{"this", "rota data folder\nversion 2\n", false, true},
		{"the first", "rota data folder\nversion 1\n", false, true},
		{"newer", "rota data folder\nversion 3\n", true, false},
		{"much newer", "rota data folder\nversion 17\nand more\n", false, false},
		{"zero", "rota data folder\nversion 0\n", false, false},
		{"empty", "", false, false},
		{"another's", "somebody else's\n", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testConfig(vfs.NewMem())
			m, _ := recoverFrom(t, c)
			closeMedium(t, m)
			write(t, c, "format", tt.format)
			m, err := Open(c)
			var version *VersionError
			if (err == nil) != tt.ok || errors.As(err, &version) != tt.version {
				t.Errorf("open: %v", err)
			}
			if m != nil {
				closeMedium(t, m)
			}
		})
	}
}

// A folder of an earlier version becomes one of this, whatever happens meanwhile.
func TestFolderBecomesThisVersion(t *testing.T) {
	for n := int64(0); ; n++ {
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 3, 100)
		closeMedium(t, m)
		write(t, c, formatName, "rota data folder\nversion 1\n")
		if err := vfs.SyncDir(fsys, c.Dir); err != nil {
			t.Fatal(err)
		}
		fsys.CrashAfter(fsys.Calls() + n)
		m, h, err := tryRecover(c)
		opened := err == nil
		if opened {
			wantOffsets(t, h, want)
			_ = m.Close()
		}
		fsys.Crash()
		c.FS = fsys.CrashClone(uint64(n))
		m, h = recoverFrom(t, c)
		wantOffsets(t, h, want)
		closeMedium(t, m)
		if b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, formatName), 100); err != nil || string(b) != "rota data folder\nversion 2\n" {
			t.Errorf("crash after %d calls: format holds %q, %v", n, b, err)
		}
		if opened {
			return
		}
	}
}

func TestFolderWithoutFormatIsRefused(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flushBatches(t, m, 1, 1, 100)
	closeMedium(t, m)
	if err := c.FS.Remove(filepath.Join(c.Dir, "format")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "no file format") {
		t.Errorf("open: %v", err)
	}
}

func TestSecondBrokerIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, _ := recoverFrom(t, c)
		if _, err := Open(c); !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), "another broker") || !strings.Contains(err.Error(), c.Dir) {
			t.Errorf("second open: %v", err)
		}
		flushBatches(t, m, 1, 1, 100) // the first one is not disturbed
		closeMedium(t, m)
		m, _ = recoverFrom(t, c)
		closeMedium(t, m)
	})
}

// TestNothingIsOpenedWhenOpenFails opens with every call failing in turn; the
// lock is free after.
func TestOpenFailsCleanly(t *testing.T) {
	for n := int64(1); ; n++ {
		fsys := vfs.NewMem()
		c := testConfig(fsys)
		calls := int64(0)
		fsys.OnCall(func(vfs.Call) error {
			if calls++; calls == n {
				return vfs.ErrFault
			}
			return nil
		})
		m, err := Open(c)
		fsys.OnCall(nil)
		if err == nil {
			if n < 10 {
				t.Fatalf("Open makes %d calls", n)
			}
			closeMedium(t, m)
			return
		}
		if !errors.Is(err, vfs.ErrFault) {
			t.Fatalf("call %d: %v", n, err)
		}
		// What was half made is no obstacle, unless it is a folder without format.
		m, h := recoverFrom(t, c)
		if len(h.frames) != 0 {
			t.Fatal("frames in a new folder")
		}
		closeMedium(t, m)
	}
}

func TestPartitionNames(t *testing.T) {
	for _, p := range []storage.Partition{{}, partition(255, 0), partition(3, 1<<31-1)} {
		if got, ok := parsePartition(partitionName(p)); !ok || got != p {
			t.Errorf("%v becomes %s becomes %v, %t", p, partitionName(p), got, ok)
		}
	}
	for _, name := range []string{"", "-", "x", "01-0", strings.Repeat("0", 32), strings.Repeat("0", 32) + "--1", strings.Repeat("0", 32) + "-01", strings.Repeat("A", 32) + "-1", strings.Repeat("0", 32) + "-2147483648"} {
		if p, ok := parsePartition(name); ok {
			t.Errorf("%q is taken for %v", name, p)
		}
	}
}

func TestManifestBytes(t *testing.T) {
	full := &storage.Manifest{
		Partition: partition(9, 5), Start: 3, End: 40, Flush: 77, LastStable: 39, Producers: []byte("producers"),
		Segments: []storage.Segment{
			{Base: 0, End: 20, Size: 1000, MaxTimestamp: 5, MaxTimestampOffset: 4, Created: 9, Token: "a"},
			{Base: 20, End: 40, Size: 1 << 40, MaxTimestamp: -1, MaxTimestampOffset: 20, Created: 10, Token: strings.Repeat("t", 190)},
		},
		Epochs: []storage.EpochStart{{Epoch: 1, Start: 0}, {Epoch: 8, Start: 21}},
	}
	for _, m := range []*storage.Manifest{{Partition: partition(1, 0)}, full} {
		b := appendManifest([]byte("before"), m, Interval)[6:]
		got, err := decodeManifest("file", b)
		if diff := cmp.Diff(m, got); diff != "" || err != nil {
			t.Errorf("%v, manifest (-want +got):\n%s", err, diff)
		}
		for i := range b {
			for _, bit := range []byte{1, 0x80} {
				b[i] ^= bit
				if _, err := decodeManifest("file", b); err == nil && i != 10 {
					t.Fatalf("byte %d can change", i)
				}
				b[i] ^= bit
			}
			if _, err := decodeManifest("file", b[:i]); err == nil {
				t.Fatalf("it can be cut to %d bytes", i)
			}
		}
		if _, err := decodeManifest("file", append(b, 0)); err == nil {
			t.Error("bytes can follow")
		}
	}
}

func TestDamagedManifestTakesOnlyItsPartition(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	bad, good := newShelf(partition(1, 0)), newShelf(partition(2, 0))
	settle(t, m, bad.move(m, false, bad.run(5, 300, rising)...), good.move(m, false, good.run(5, 300, rising)...))
	closeMedium(t, m)
	flip(t, c, filepath.Join(c.Dir, manifestPath(bad.Partition)), 60)
	for range 2 { // nothing is deleted the first time
		m, h := recoverFrom(t, c)
		var damage *storage.CorruptError
		if err := h.report.Corrupt[bad.Partition]; !errors.As(err, &damage) || damage.File != manifestPath(bad.Partition) {
			t.Errorf("report says %v", err)
		}
		if h.manifests[good.Partition] == nil || len(h.report.Corrupt) != 1 {
			t.Errorf("corrupt: %v", h.report.Corrupt)
		}
		if _, _, err := openSegmentHead(c, bad); err != nil {
			t.Errorf("the segment of the damaged partition: %v", err)
		}
		closeMedium(t, m)
	}
	damaged := 0
	if _, err := Verify(t.Context(), c, func(error) { damaged++ }); err != nil || damaged != 1 {
		t.Errorf("verify finds %d, %v", damaged, err)
	}
}

func TestOrphansAreDeletedAtStart(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(1, 0))
	settle(t, m, s.move(m, false, s.run(5, 300, rising)...))
	closeMedium(t, m)
	orphan := partition(2, 0)
	if err := c.FS.Mkdir(filepath.Join(c.Dir, segmentFolder(orphan))); err != nil {
		t.Fatal(err)
	}
	for _, rel := range []string{
		segmentPath(orphan, "x"), indexPath(orphan, "x"), segmentPath(s.Partition, "x"), indexPath(s.Partition, "x"),
		manifestPath(orphan) + manifestSpareExt, filepath.Join(journalName, prepareName),
	} {
		write(t, c, rel, "rubbish")
	}
	kept := filepath.Join(segmentFolder(s.Partition), "notes.txt")
	write(t, c, kept, "somebody's")
	m, h := recoverFrom(t, c)
	if got, err := readAll(m, h.manifests[s.Partition], 1000); err != nil || len(got) != len(s.all) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	closeMedium(t, m)
	for dir, want := range map[string][]string{
		manifestName:               {filepath.Base(manifestPath(s.Partition))},
		segmentName:                {partitionName(s.Partition)},
		segmentFolder(s.Partition): {s.Segments[0].Token + segmentExt, "notes.txt"},
		journalName:                {},
	} {
		names, err := c.FS.List(filepath.Join(c.Dir, dir))
		if diff := cmp.Diff(want, append([]string{}, names...)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", dir, err, diff)
		}
	}
}

func TestDurabilityNames(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval, Never} {
		if got, err := ParseDurability(d.String()); got != d || err != nil {
			t.Errorf("%v is parsed as %v, %v", d, got, err)
		}
	}
	if _, err := ParseDurability("sometimes"); err == nil {
		t.Error("sometimes is a durability")
	}
	if _, err := Open(Config{FS: vfs.NewMem(), Dir: "data", Durability: 9}); err == nil {
		t.Error("durability 9 is accepted")
	}
}
