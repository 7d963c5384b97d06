package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// onEach runs a test on every file system. dir is an empty folder.
func onEach(t *testing.T, f func(t *testing.T, fsys FS, dir string)) {
	t.Run("os", func(t *testing.T) { f(t, OS(), t.TempDir()) })
	t.Run("mem", func(t *testing.T) { f(t, NewMem(), ".") })
	t.Run("crash mem", func(t *testing.T) { f(t, NewCrashMem(), ".") })
}

func mustCreate(t testing.TB, fsys FS, name string, content string) File {
	t.Helper()
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func contents(t testing.TB, fsys FS, name string) string {
	t.Helper()
	b, err := ReadFile(fsys, name, 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		at := func(name string) string { return filepath.Join(dir, name) }
		check(t, MkdirAll(fsys, at("a/b/c")))
		check(t, MkdirAll(fsys, at("a/b/c")))
		if err := fsys.Mkdir(at("a")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("making a folder twice: %v", err)
		}
		if err := fsys.Mkdir(at("x/y")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("making a folder in none: %v", err)
		}
		mustCreate(t, fsys, at("a/one"), "1").Close()
		two := mustCreate(t, fsys, at("a/two"), "2")
		if names, err := fsys.List(at("a")); err != nil || !slices.Equal(names, []string{"b", "one", "two"}) {
			t.Errorf("List: %v, %v", names, err)
		}
		check(t, fsys.Rename(at("a/one"), at("a/two")))
		if got := contents(t, fsys, at("a/two")); got != "1" {
			t.Errorf("after the rename two holds %q", got)
		}
		b := make([]byte, 1)
		if _, err := two.ReadAt(b, 0); err != nil || b[0] != '2' {
			t.Errorf("the replaced file, still open, reads %q, %v", b, err)
		}
		two.Close()
		mustCreate(t, fsys, at("a/three"), "3").Close()
		check(t, fsys.Exchange(at("a/two"), at("a/three")))
		if got := contents(t, fsys, at("a/two")) + contents(t, fsys, at("a/three")); got != "31" {
			t.Errorf("after the exchange the files hold %q", got)
		}
		if err := fsys.Exchange(at("a/two"), at("a/four")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("exchange with what is not there: %v", err)
		}
		check(t, fsys.Exchange(at("a/three"), at("a/two")))
		check(t, fsys.Remove(at("a/three")))
		if err := fsys.Rename(at("a/two"), at("a/b/two")); err == nil {
			t.Error("a rename to another folder works")
		}
		if err := fsys.Remove(at("a/b")); err == nil {
			t.Error("a folder that is not empty can be removed")
		}
		check(t, fsys.Remove(at("a/b/c")))
		check(t, fsys.Remove(at("a/two")))
		for name, err := range map[string]error{
			"Remove": fsys.Remove(at("a/two")),
			"Rename": fsys.Rename(at("a/two"), at("a/x")),
			"Open":   second(fsys.Open(at("a/two"))),
			"List":   second(fsys.List(at("nowhere"))),
			"Create": second(fsys.Create(at("nowhere/x"))),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of what is not there: %v", name, err)
			}
		}
		if err := second(fsys.Open(at("a"))); err == nil {
			t.Error("a folder can be opened as a file")
		}
		if free, err := fsys.Free(dir); err != nil || free <= 0 {
			t.Errorf("Free: %d, %v", free, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestLockIsExclusive(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "lock")
		l, err := fsys.Lock(name)
		check(t, err)
		for range 2 {
			if _, err := fsys.Lock(name); !errors.Is(err, ErrLocked) {
				t.Fatalf("second lock: %v", err)
			}
		}
		check(t, l.Close())
		l, err = fsys.Lock(name)
		check(t, err)
		check(t, l.Close())
	})
}

// TestFileAgainstModel compares a file with a slice under random changes.
func TestFileAgainstModel(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		r := rand.New(rand.NewPCG(1, 2))
		f := mustCreate(t, fsys, filepath.Join(dir, "f"), "")
		defer f.Close()
		var model []byte
		grow := func(n int) {
			if n > len(model) {
				model = append(model, make([]byte, n-len(model))...)
			}
		}
		for i := range 400 {
			off := r.IntN(1 << (8 + r.IntN(11)))
			switch r.IntN(8) {
			case 0:
				check(t, f.Truncate(int64(off)))
				grow(off)
				model = model[:off]
			case 1:
				check(t, f.Sync())
			case 2:
				// Allocate may leave a size as it is, so it is told a size that is there.
				check(t, f.Allocate(int64(len(model))))
			default:
				var bufs [][]byte
				for range r.IntN(5) {
					b := make([]byte, r.IntN(1<<r.IntN(18)))
					for j := range b {
						b[j] = byte(r.Uint32())
					}
					bufs = append(bufs, b)
				}
				check(t, f.WriteVec(bufs, int64(off)))
				if all := bytes.Join(bufs, nil); len(all) > 0 {
					grow(off + len(all))
					copy(model[off:], all)
				}
			}
			if size, err := f.Size(); err != nil || size != int64(len(model)) {
				t.Fatalf("step %d: size %d, %v, want %d", i, size, err, len(model))
			}
			from := r.IntN(len(model) + 1)
			got := make([]byte, len(model)-from+3)
			n, _ := f.ReadAt(got, int64(from))
			if !bytes.Equal(got[:n], model[from:]) {
				t.Fatalf("step %d: read at %d differs", i, from)
			}
		}
	})
}

func TestWriteVecOfManyPieces(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		f := mustCreate(t, fsys, filepath.Join(dir, "f"), "")
		defer f.Close()
		var bufs [][]byte
		for i := range 3000 { // more than the system takes at once
			bufs = append(bufs, bytes.Repeat([]byte{byte(i)}, i%7))
		}
		check(t, f.WriteVec(bufs, 5))
		if got, want := contents(t, fsys, filepath.Join(dir, "f")), "\x00\x00\x00\x00\x00"+string(bytes.Join(bufs, nil)); got != want {
			t.Error("pieces are not where they should be")
		}
	})
}

func TestWriteSyncedWrites(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		f := mustCreate(t, fsys, name, "abcdef")
		check(t, WriteSynced(f, []byte("XY"), 2))
		check(t, WriteSynced(f, []byte("Z"), 7))
		if got, want := contents(t, fsys, name), "abXYef\x00Z"; got != want {
			t.Errorf("file holds %q, want %q", got, want)
		}
		check(t, f.Close())
		if f, err := CreateDirect(fsys, name); err != nil {
			t.Error(err)
		} else {
			check(t, WriteSynced(f, []byte("direct"), 0))
			check(t, f.Close())
			if got := contents(t, fsys, name); got[:6] != "direct" {
				t.Errorf("direct file holds %.20q", got)
			}
		}
	})
}

func TestAllocateWritesZeros(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		f := mustCreate(t, fsys, name, "head")
		defer f.Close()
		check(t, f.Allocate(700_000))
		check(t, f.Allocate(10))
		size, err := f.Size()
		check(t, err)
		if _, plain := fsys.(*Mem); size != 700_000 && !plain {
			t.Errorf("size is %d", size)
		}
		want := "head" + string(make([]byte, size-4))
		if contents(t, fsys, name) != want {
			t.Error("the new bytes are not zero, or the old ones are gone")
		}
	})
}

func TestSyncAll(t *testing.T) {
	onEach(t, func(t *testing.T, fsys FS, dir string) {
		d, err := fsys.OpenDir(dir)
		check(t, err)
		defer d.Close()
		var names []string
		for _, name := range []string{"a", "b"} {
			names = append(names, filepath.Join(dir, name))
			mustCreate(t, fsys, names[len(names)-1], name).Close()
		}
		check(t, d.SyncAll(append(names, dir)))
		if m, ok := fsys.(*Mem); ok && m.tracked {
			if got := contents(t, m.CrashClone(0), "a") + contents(t, m.CrashClone(0), "b"); got != "ab" {
				t.Errorf("after a crash the files hold %q", got)
			}
		}
	})
}

func BenchmarkMemAppend(b *testing.B) {
	f := mustCreate(b, NewMem(), "f", "")
	piece := make([]byte, 16<<10)
	b.SetBytes(int64(len(piece)))
	b.ReportAllocs()
	off := int64(0)
	for b.Loop() {
		if _, err := f.WriteAt(piece, off%(64<<20)); err != nil {
			b.Fatal(err)
		}
		off += int64(len(piece))
	}
}
