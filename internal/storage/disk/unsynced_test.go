package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// TestNeverLeavesFilesToTheSystem: nothing but headers is synced before Close. What
// a crash leaves has no gap, and is durable once a restart has found it.
func TestNeverLeavesFilesToTheSystem(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	c.Durability = Never
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 30, 2000)
	lengths := map[int]bool{}
	for seed := range uint64(80) {
		crashed := fsys.CrashClone(seed)
		n, h := recoverFrom(t, testConfig(crashed))
		got := h.offsets()
		if !slices.Equal(got, want[:len(got)]) || seed == 0 && len(got) > 0 || seed == 1 && len(got) < len(want) {
			t.Fatalf("seed %d: recovered %v", seed, got)
		}
		lengths[len(got)] = true
		next := h.report.LastFlush + 1
		flush(t, n, next, batchFrame(partition(2, 0), batch(99, 1, 0, 300)))
		_, h = recoverFrom(t, testConfig(crashed.CrashClone(0)))
		wantOffsets(t, h, append(got, fmt.Sprintf("%d:99", next)))
		closeMedium(t, n)
	}
	if len(lengths) < 4 {
		t.Errorf("crashes leave journals of %d lengths only", len(lengths))
	}
	closeMedium(t, m)
	_, h := recoverFrom(t, testConfig(fsys.CrashClone(0)))
	wantOffsets(t, h, want) // Close syncs
}

// TestRestartSyncsWhatIsBehindIt: a process under never is killed, the next one
// promises more, then the machine crashes. What was promised lies behind files
// that nobody had synced.
func TestRestartSyncsWhatIsBehindIt(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	c.Durability = Never
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 30, 2000)
	m.release() // all that happens to a process that is killed
	m, h := recoverFrom(t, testConfig(fsys))
	wantOffsets(t, h, want)
	want = append(want, flushBatches(t, m, 31, 32, 300)...)
	for seed := range uint64(20) {
		_, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
		wantOffsets(t, h, want)
	}
	closeMedium(t, m)
}

// TestCutInAnUnsyncedFile: under never, a write fails, the journal goes on in a
// new file, and a crash loses a part of the old one.
func TestCutInAnUnsyncedFile(t *testing.T) {
	fsys := vfs.NewCrashMem()
	c := testConfig(fsys)
	c.Durability = Never
	m, _ := recoverFrom(t, c)
	want := flushBatches(t, m, 1, 4, 2000)
	fsys.FailWrite(1)
	if err := flushErr(m, 5, batchFrame(partition(1, 0), batch(5, 1, 0, 300))); err == nil {
		t.Fatal("flush on a failing disk succeeds")
	}
	if err := m.Reopen(5); err != nil {
		t.Fatal(err)
	}
	want = append(want, flushBatches(t, m, 5, 8, 2000)...)
	cuts := 0
	for seed := range uint64(80) {
		clone := testConfig(fsys.CrashClone(seed))
		clone.Durability = Never
		n, h := recoverFrom(t, clone)
		got := h.offsets()
		if !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("seed %d: recovered %v", seed, got)
		}
		if len(got) < 4 {
			cuts++
		}
		next := h.report.LastFlush + 1
		flush(t, n, next, batchFrame(partition(2, 0), batch(99, 1, 0, 300)))
		closeMedium(t, n)
		n, again := recoverFrom(t, clone)
		wantOffsets(t, again, append(got, fmt.Sprintf("%d:99", next)))
		closeMedium(t, n)
	}
	if cuts == 0 {
		t.Error("no seed loses a part of the first file")
	}
	closeMedium(t, m)
}

// TestDamageBeforeWhatARestartPromisedIsCorruption: a process under never is
// killed, and the next one, which has synced what it found, promises more.
// Damage in the old files is then not what the system had not written.
func TestDamageBeforeWhatARestartPromisedIsCorruption(t *testing.T) {
	for _, d := range []Durability{Fsync, Interval} {
		c := testConfig(vfs.NewMem())
		c.Durability = Never
		m, _ := recoverFrom(t, c)
		flushBatches(t, m, 1, 30, 2000)
		m.release() // all that happens to a process that is killed
		c.Durability = d
		m, _ = recoverFrom(t, c)
		flushBatches(t, m, 31, 90, 2000)
		closeMedium(t, m)
		flip(t, c, filepath.Join(c.Dir, journalPath(1)), journalHeader+500)
		_, h, err := tryRecover(c)
		if damage, ok := errors.AsType[*storage.CorruptError](err); !ok || damage.File != journalPath(1) || damage.Offset != journalHeader {
			t.Errorf("%v: damage in the first of the files: %v, recovered %v", d, err, h.offsets())
		}
	}
}

// TestTrimmedFilesThatStay: under never, files that manifests cover cannot be taken
// away, or their names come back after a crash. What lies behind them is durable
// when Close says so.
func TestTrimmedFilesThatStay(t *testing.T) {
	for _, kept := range []int{0, 1, 2} { // calls that change a name before one fails
		fsys := vfs.NewCrashMem()
		c := testConfig(fsys)
		c.Durability = Never
		c.JournalSpare = 2 * smallJournal // not all files are used again
		m, _ := recoverFrom(t, c)
		want := flushBatches(t, m, 1, 30, 2000)[20:]
		names := 0
		fsys.OnCall(func(c vfs.Call) error {
			if c.Kind == vfs.RenameCall || c.Kind == vfs.RemoveCall {
				if names++; names > kept {
					return vfs.ErrFault
				}
			}
			return nil
		})
		if err := m.Trim(20); !errors.Is(err, vfs.ErrFault) {
			t.Fatal(err)
		}
		fsys.OnCall(nil)
		closeMedium(t, m)
		for seed := range uint64(40) {
			m, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
			got := h.offsets()
			if !slices.Equal(got[max(0, len(got)-len(want)):], want) {
				t.Fatalf("%d names, seed %d: recovered %v, want %v", kept, seed, got, want)
			}
			closeMedium(t, m)
		}
	}
}
