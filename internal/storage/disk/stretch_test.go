package disk

import (
	"bytes"
	"errors"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// lentBytes reads a stretch to its end in uneven steps. It is nil if nothing is
// lent, or what is lent turns out to be damaged: then nothing more is lent.
func lentBytes(t testing.TB, m *Medium, p storage.Partition, seg storage.Segment, offset int64, limit int) []byte {
	t.Helper()
	st, _, err := m.Lend(p, seg, offset, limit, seg.End)
	if st == nil || err != nil {
		return nil
	}
	defer st.Close()
	got, err := drained(st)
	if err == nil {
		if len(got) != st.Size() || len(got) > limit {
			t.Fatalf("a stretch of %d bytes gave %d, at most %d were asked for", st.Size(), len(got), limit)
		}
		return got
	}
	if again, _, err := m.Lend(p, seg, offset, limit, seg.End); again != nil || err != nil {
		t.Errorf("lent again after damage: %v, %v", again, err)
	}
	return nil
}

func drained(st storage.Stretch) ([]byte, error) {
	var got []byte
	buf := make([]byte, 50_021)
	for step := 1; ; step = step*7%50_021 + 1 {
		if b := outOfFile(st); b != nil && step%3 > 0 {
			st.(storage.FileStretch).Passed(len(b))
			got = append(got, b...)
			continue
		}
		n, lent, err := st.Next(buf[:step])
		if err != nil {
			return got, err
		}
		if n+len(lent) == 0 {
			return got, nil
		}
		got = append(append(got, buf[:n]...), lent...)
	}
}

// outOfFile returns what the system would send next by itself.
func outOfFile(st storage.Stretch) []byte {
	file, ok := st.(*stretch)
	if !ok {
		return nil
	}
	_, off, size := file.InFile()
	if size == 0 {
		return nil
	}
	b := make([]byte, size)
	if n, _ := file.sg.paged().ReadAt(b, off); n < size {
		return nil
	}
	return b
}

// onTheSystem is a configuration whose files go past the page cache.
func onTheSystem(t *testing.T) Config {
	t.Helper()
	c := testConfig(vfs.OS())
	c.Dir = t.TempDir()
	return c
}

// largeShelf settles 9 MiB in batches of 40 KB.
func largeShelf(t *testing.T, m *Medium) *shelf {
	t.Helper()
	s := newShelf(partition(1, 0))
	for range 3 {
		settle(t, m, s.move(m, false, s.run(80, 40_000, rising)...))
	}
	return s
}

// passOver reads the whole segment through stretches of a megabyte, as a
// consumer does, and compares with what was read before.
func passOver(t *testing.T, m *Medium, s *shelf, want []byte) {
	t.Helper()
	seg := s.Segments[0]
	var got []byte
	for offset := int64(0); offset < seg.End; {
		b := lentBytes(t, m, s.Partition, seg, offset, 1<<20)
		if len(b) == 0 {
			t.Fatalf("nothing is lent at %d", offset)
		}
		got = append(got, b...)
		for batch, err := range record.Batches(b) {
			if err != nil {
				t.Fatal(err)
			}
			offset = record.NextOffset(batch)
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatal("the lent bytes are not those that are read")
	}
}

func openSegmentOf(t *testing.T, m *Medium, s *shelf) *segment {
	t.Helper()
	sg, err := m.segments.acquire(s.Partition, &s.Segments[0])
	if err != nil {
		t.Fatal(err)
	}
	m.segments.release(sg)
	return sg
}

// A stretch is of one moment: growth, and the end of its segment, do not
// reach it.
func TestAStretchOutlivesItsSegment(t *testing.T) {
	for name, c := range map[string]Config{"memory": testConfig(vfs.NewMem()), "system": onTheSystem(t)} {
		t.Run(name, func(t *testing.T) {
			m, _ := recoverFrom(t, c)
			s := largeShelf(t, m)
			seg := s.Segments[0]
			want, err := m.Read(s.Partition, seg, 0, 3<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			early, end, err := m.Lend(s.Partition, seg, 0, 3<<20, seg.End)
			if err != nil || early == nil {
				t.Fatal(early, err)
			}
			idle, _, err := m.Lend(s.Partition, seg, end, 1<<20, seg.End)
			if err != nil || idle == nil {
				t.Fatal(idle, err)
			}
			settle(t, m, s.move(m, false, s.run(5, 40_000, rising)...))
			if err := m.Remove(s.Partition); err != nil {
				t.Fatal(err)
			}
			got, err := drained(early)
			if err != nil || !bytes.Equal(got, want[:len(got)]) || len(got) != early.Size() {
				t.Errorf("%d of %d bytes, %v", len(got), early.Size(), err)
			}
			idle.Close() // never read
			early.Close()
			m.segments.read.work.Wait()
			if n := segmentsInUse(m); n != 0 {
				t.Errorf("%d segments are in use", n)
			}
			closeMedium(t, m)
		})
	}
}

// segmentsInUse counts those that somebody has acquired.
func segmentsInUse(m *Medium) int {
	m.segments.mu.Lock()
	defer m.segments.mu.Unlock()
	n := 0
	for _, sg := range m.segments.open {
		if sg.users > 0 {
			n++
		}
	}
	return n
}

// A rotten byte is found before the last byte of the stretch has come, and by
// Read from then on: it gives what lies before, and then the error.
func TestDamageInAStretch(t *testing.T) {
	for name, c := range map[string]Config{"memory": testConfig(vfs.NewMem()), "system": onTheSystem(t)} {
		t.Run(name, func(t *testing.T) {
			m, _ := recoverFrom(t, c)
			defer func() { closeMedium(t, m) }()
			s := largeShelf(t, m)
			seg := s.Segments[0]
			flip(t, c, segmentFile(c, s), segmentHeader+10*40_000+777)
			st, _, err := m.Lend(s.Partition, seg, 0, 1<<20, seg.End)
			if err != nil || st == nil {
				t.Fatal(st, err)
			}
			got, err := drained(st)
			st.Close()
			if _, ok := errors.AsType[*storage.CorruptError](err); !ok || len(got) >= st.Size() {
				t.Errorf("%d of %d bytes, %v", len(got), st.Size(), err)
			}
			if st, _, err := m.Lend(s.Partition, seg, 11, 1<<20, seg.End); st != nil || err != nil {
				t.Errorf("lent behind the damage: %v, %v", st, err)
			}
			before, err := m.Read(s.Partition, seg, 0, 1<<20, nil)
			if len(before) != 10*40_000 || err != nil {
				t.Errorf("read before the damage: %d bytes, %v", len(before), err)
			}
			_, err = m.Read(s.Partition, seg, 10, 1<<20, nil)
			if _, ok := errors.AsType[*storage.CorruptError](err); !ok {
				t.Errorf("read at the damage: %v", err)
			}
		})
	}
}

// More chunks than may be lent are copied instead.
func TestLentChunksAreBounded(t *testing.T) {
	c := onTheSystem(t)
	m, _ := recoverFrom(t, c)
	s := largeShelf(t, m)
	seg := s.Segments[0]
	if !vfs.IsDirect(openSegmentOf(t, m, s).f) {
		t.Skip("there is no way past the page cache here")
	}
	var open []storage.Stretch
	lent := 0
	for i := range int64(maxLent + 5) {
		st, _, err := m.Lend(s.Partition, seg, i*240/(maxLent+5), 1<<20, seg.End)
		if err != nil || st == nil {
			t.Fatal(st, err)
		}
		n, b, err := st.Next(make([]byte, 4096))
		if err != nil || n+len(b) != 4096 {
			t.Fatal(n, len(b), err)
		}
		if len(b) > 0 {
			lent++
		}
		open = append(open, st)
	}
	if lent != maxLent {
		t.Errorf("%d chunks are lent, want %d", lent, maxLent)
	}
	for _, st := range open {
		st.Close()
	}
	m.segments.read.work.Wait() // what is read ahead uses the segment too
	if m.segments.read.lent != 0 || segmentsInUse(m) != 0 {
		t.Errorf("%d chunks are lent, %d segments in use", m.segments.read.lent, segmentsInUse(m))
	}
	closeMedium(t, m)
}

// forgetAll drops every chunk, as if others had taken their place.
func (rc *readCache) forgetAll() {
	rc.work.Wait()
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for _, c := range rc.chunks {
		rc.dropLocked(c)
	}
}

// TestStretchWhileARoundIsTriedAgain: a round of settling failed when it had
// written to the segment, and the next one walks over its last batches again.
// What the manifest covers is as it was.
func TestStretchWhileARoundIsTriedAgain(t *testing.T) {
	m, _ := recoverFrom(t, onTheSystem(t))
	s := largeShelf(t, m)
	seg := s.Segments[0]
	st, _, err := m.Lend(s.Partition, seg, 0, 16<<20, seg.End)
	if st == nil || err != nil {
		t.Fatalf("nothing is lent: %v", err)
	}
	defer closeMedium(t, m)
	defer st.Close()
	sg := openSegmentOf(t, m, s)
	sg.rewind(seg.Size)
	if covered, _ := sg.state(); covered >= seg.Size {
		t.Fatalf("%d bytes are covered", covered)
	}
	if got, err := drained(st); err != nil || !bytes.Equal(got, s.all) {
		t.Errorf("%d of %d bytes are lent, %v", len(got), len(s.all), err)
	}
	if sg.suspect.Load() {
		t.Error("the segment counts as damaged")
	}
}
