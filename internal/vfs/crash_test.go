package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// outcomes lists what a file can hold after a crash, over many seeds.
func outcomes(t *testing.T, m *Mem, name string) map[string]int {
	t.Helper()
	all := map[string]int{}
	for seed := range uint64(200) {
		first, again := contents(t, m.CrashClone(seed), name), contents(t, m.CrashClone(seed), name)
		if first != again {
			t.Fatalf("seed %d gives two outcomes", seed)
		}
		all[first]++
	}
	return all
}

func durable(t *testing.T, m *Mem, name, content string) File {
	t.Helper()
	f := mustCreate(t, m, name, content)
	check(t, f.Sync())
	check(t, SyncDir(m, "."))
	return f
}

func TestCrashKeepsWhatIsSynced(t *testing.T) {
	m := NewCrashMem()
	durable(t, m, "f", "synced")
	if got := outcomes(t, m, "f"); len(got) != 1 || got["synced"] == 0 {
		t.Errorf("outcomes: %v", got)
	}
}

func TestCrashKeepsLosesAndTearsWrites(t *testing.T) {
	m := NewCrashMem()
	old, fresh := strings.Repeat("o", 3*sectorSize), strings.Repeat("n", 3*sectorSize)
	f := durable(t, m, "f", old)
	check(t, second(f.WriteAt([]byte(fresh), 0)))
	got := outcomes(t, m, "f")
	if got[old] == 0 || got[fresh] == 0 {
		t.Errorf("not both of kept and lost: %d, %d", got[fresh], got[old])
	}
	torn := 0
	for content := range got {
		for s := 0; s < len(content); s += sectorSize {
			part := content[s : s+sectorSize]
			if part != old[:sectorSize] && part != fresh[:sectorSize] {
				t.Error("a sector is neither old nor new")
			}
		}
		if content != old && content != fresh {
			torn++
		}
	}
	if torn < 4 {
		t.Errorf("%d torn outcomes of 6 that there are", torn)
	}
	check(t, f.Sync())
	if got := outcomes(t, m, "f"); len(got) != 1 || got[fresh] == 0 {
		t.Errorf("after the sync there are %d outcomes", len(got))
	}
}

// A synced write is durable whatever happened to its sectors before, and says
// nothing of the others.
func TestCrashKeepsWhatIsWrittenSynced(t *testing.T) {
	m := NewCrashMem()
	sectors := func(s string) string { // one letter for each sector
		var b strings.Builder
		for _, letter := range s {
			b.WriteString(strings.Repeat(string(letter), sectorSize))
		}
		return b.String()
	}
	f := durable(t, m, "f", sectors("ooooo"))
	check(t, second(f.WriteAt([]byte(sectors("nnnnn")), 0)))
	check(t, WriteSynced(f, []byte(strings.Repeat("s", sectorSize/2)), 2*sectorSize))
	got := outcomes(t, m, "f")
	for content := range got {
		if want := strings.Repeat("s", sectorSize/2) + strings.Repeat("n", sectorSize/2); content[2*sectorSize:3*sectorSize] != want {
			t.Fatal("a crash loses a synced write")
		}
	}
	for _, want := range []string{"oo.oo", "nn.nn"} {
		rest := sectors(want)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(content string) bool {
			return content[:2*sectorSize] == rest[:2*sectorSize] && content[3*sectorSize:] == rest[3*sectorSize:]
		}) {
			t.Errorf("no crash leaves %s", want)
		}
	}
	check(t, second(f.WriteAt([]byte(sectors("l")), 2*sectorSize)))
	if got := outcomes(t, m, "f"); len(got) < 4 {
		t.Errorf("a later write is never lost, or never kept: %d outcomes", len(got))
	}
	m.FailSync(1)
	if err := WriteSynced(f, []byte("x"), 0); !errors.Is(err, ErrFault) {
		t.Errorf("a failed sync is reported as %v", err)
	}
	check(t, f.Truncate(sectorSize))
	check(t, WriteSynced(f, []byte(sectors("e")), 0))
	if got := outcomes(t, m, "f"); len(got) != 1 || got[sectors("e")] == 0 {
		t.Errorf("a size that was set before a synced write: %d outcomes", len(got))
	}
}

func TestCrashAppliesWritesAndTruncationsInOrder(t *testing.T) {
	m := NewCrashMem()
	f := durable(t, m, "f", "abcdef")
	check(t, f.Truncate(2))
	check(t, second(f.WriteAt([]byte("XY"), 4)))
	want := map[string]bool{"abcdef": true, "ab": true, "abcdXY": true, "ab\x00\x00XY": true}
	for got := range outcomes(t, m, "f") {
		if !want[got] {
			t.Errorf("impossible outcome %q", got)
		}
	}
	check(t, f.Sync())
	if got := outcomes(t, m, "f"); len(got) != 1 || got["ab\x00\x00XY"] == 0 {
		t.Errorf("after the sync: %v", got)
	}
}

func TestCrashLosesNames(t *testing.T) {
	m := NewCrashMem()
	f := mustCreate(t, m, "new", "content")
	check(t, f.Sync())
	if got := outcomes(t, m, "new"); got["(none)"] == 0 || got["content"] == 0 || len(got) != 2 {
		t.Errorf("a file whose name is not synced: %v", got)
	}
	check(t, SyncDir(m, "."))

	durable(t, m, "old", "old")
	check(t, m.Rename("new", "old"))
	for seed := range uint64(50) {
		c := m.CrashClone(seed)
		got := fmt.Sprint(contents(t, c, "old"), contents(t, c, "new"))
		if got != "oldcontent" && got != "content(none)" {
			t.Fatalf("seed %d: half a rename: %s", seed, got)
		}
	}
	durable(t, m, "x", "x")
	durable(t, m, "y", "y")
	check(t, m.Exchange("x", "y"))
	both := map[string]bool{}
	for seed := range uint64(50) {
		c := m.CrashClone(seed)
		both[contents(t, c, "x")+contents(t, c, "y")] = true
	}
	if len(both) != 2 || !both["xy"] || !both["yx"] {
		t.Errorf("after an exchange: %v", both)
	}
	check(t, m.Remove("old"))
	if got := outcomes(t, m, "old"); got["(none)"] == 0 || len(got) < 2 {
		t.Errorf("a file whose removal is not synced: %v", got)
	}
	check(t, m.Mkdir("dir"))
	mustCreate(t, m, "dir/f", "x")
	check(t, SyncDir(m, "dir"))
	if _, err := m.CrashClone(0).List("dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder whose name is not synced: %v", err)
	}
}

func TestFailedSyncLeavesWritesInDoubtForEver(t *testing.T) {
	m := NewCrashMem()
	f := durable(t, m, "f", "1")
	check(t, second(f.WriteAt([]byte("2"), 0)))
	m.FailSync(1)
	if err := f.Sync(); !errors.Is(err, ErrFault) {
		t.Fatalf("sync: %v", err)
	}
	check(t, f.Sync())
	if got := outcomes(t, m, "f"); got["1"] == 0 || got["2"] == 0 {
		t.Errorf("a second sync that succeeds proves something: %v", got)
	}
	check(t, second(f.WriteAt([]byte("2"), 0)))
	check(t, f.Sync())
	if got := outcomes(t, m, "f"); got["2"] == 0 || len(got) != 1 {
		t.Errorf("written again and synced: %v", got)
	}
}

func TestFailedWriteWritesAPart(t *testing.T) {
	m := NewMem()
	f := mustCreate(t, m, "f", "")
	m.FailWrite(2)
	check(t, second(f.WriteAt([]byte("abcd"), 0)))
	if _, err := f.WriteAt([]byte("ABCD"), 0); !errors.Is(err, ErrFault) {
		t.Errorf("second write: %v", err)
	}
	if got := contents(t, m, "f"); got != "ABcd" {
		t.Errorf("file holds %q", got)
	}
	check(t, second(f.WriteAt([]byte("xy"), 0)))
}

func TestCrashAfterStopsEverything(t *testing.T) {
	m := NewCrashMem()
	f := durable(t, m, "f", "1") // create, write, sync, sync
	if n := m.Calls(); n != 4 {
		t.Fatalf("%d calls", n)
	}
	m.CrashAfter(5)
	check(t, second(f.WriteAt([]byte("2"), 0)))
	for name, err := range map[string]error{
		"write": second(f.WriteAt([]byte("3"), 0)), "sync": f.Sync(), "read": second(f.ReadAt(make([]byte, 1), 0)),
		"rename": m.Rename("f", "g"), "list": second(m.List(".")), "lock": second(m.Lock("l")),
	} {
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("%s after the crash: %v", name, err)
		}
	}
	if got := contents(t, m.CrashClone(1), "f"); got != "2" {
		t.Errorf("with everything kept the file holds %q", got)
	}
}

func TestFullDisk(t *testing.T) {
	for _, m := range []*Mem{NewMem(), NewCrashMem()} {
		f := mustCreate(t, m, "f", "1234")
		m.SetFree(6)
		check(t, second(f.WriteAt([]byte("abcdef"), 2))) // four more bytes
		if _, err := f.WriteAt([]byte("abc"), 8); !errors.Is(err, ErrNoSpace) {
			t.Errorf("write to a full disk: %v", err)
		}
		check(t, second(f.WriteAt([]byte("ABCD"), 0)))
		if free, _ := m.Free("."); free != 2 {
			t.Errorf("%d bytes free, want 2", free)
		}
		f.Close()
		check(t, m.Remove("f"))
		if free, _ := m.Free("."); free != 10 {
			t.Errorf("%d bytes free after the removal, want 10", free)
		}
	}
}

func TestOnCallStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem()
		f := mustCreate(t, m, "f", "")
		m.OnCall(func(c Call) error {
			if c.Kind == SyncCall {
				time.Sleep(12 * time.Second)
			}
			return nil
		})
		began := time.Now()
		check(t, f.Sync())
		if d := time.Since(began); d != 12*time.Second {
			t.Errorf("the sync took %v", d)
		}
	})
}
