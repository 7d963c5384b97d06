package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// corruptOnly fails unless err is nil, damage, or a newer version.
func corruptOnly(t *testing.T, err error) {
	t.Helper()
	var damage *storage.CorruptError
	var version *VersionError
	if err != nil && !errors.As(err, &damage) && !errors.As(err, &version) {
		t.Fatalf("recovery ends with %v", err)
	}
}

// mutate changes b as script says, four bytes a change: the position, what to
// do there, and a value.
func mutate(b, script []byte) []byte {
	b = slices.Clone(b)
	for ; len(script) >= 4; script = script[4:] {
		pos := int(script[0])<<8 | int(script[1])
		switch {
		case pos >= len(b):
		case script[2] == 0xff:
			b = b[:pos]
		case script[2] == 0xfe: // a lost sector
			clear(b[pos:min(len(b), pos+512)])
		default:
			b[pos] ^= script[3]
		}
	}
	return b
}

// journalFiles returns the two files of a journal and what is in them.
func journalFiles(f *testing.F) (files [2][]byte, want []string) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(f, c)
	want = flushBatches(f, m, 1, 9, 1600)
	flush(f, m, 10, batchFrame(partition(1, 0), batch(10, 1, 0, 50)), batchFrame(partition(1, 0), batch(11, 1, 0, 50)))
	closeMedium(f, m)
	for i := range files {
		b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, journalPath(uint64(i+1))), 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		files[i] = b
	}
	return files, append(want, "10:10", "10:11")
}

// withDurability is a journal file as if it had been written under d.
func withDurability(t *testing.T, b []byte, d Durability) []byte {
	h, err := decodeFileHeader("", b)
	if err != nil {
		t.Fatal(err)
	}
	h.durability = d
	return append(h.encode(), b[headerUsed:]...)
}

// FuzzJournalRecovery mutates the two files of a journal. Recovery must not
// panic, must deliver the beginning of what was flushed or refuse, and must go
// on in a way that the next recovery agrees with.
func FuzzJournalRecovery(f *testing.F) {
	files, want := journalFiles(f)
	f.Add([]byte{}, []byte{}, byte(0))
	f.Add([]byte{0x10, 0x20, 0, 1}, []byte{}, byte(0))
	f.Add([]byte{}, []byte{0x10, 0x20, 0, 1}, byte(1))
	f.Add([]byte{}, []byte{0x12, 0x00, 0xfe, 0}, byte(0))
	f.Add([]byte{0x20, 0x00, 0xff, 0}, []byte{0x10, 0x00, 0xff, 0}, byte(2))
	f.Add([]byte{0, 33, 0, 1}, []byte{0, 9, 0, 3}, byte(0))
	f.Add([]byte{0, 60, 0, 1}, []byte{0, 58, 0, 0xff}, byte(128))
	f.Add([]byte{}, []byte{0, 39, 0, 0x80}, byte(129))
	f.Fuzz(func(t *testing.T, first, second []byte, durability byte) {
		c := testConfig(vfs.NewMem())
		c.Durability = Fsync + Durability(durability%3)
		lies := durability >= 128 // headers whose checksum holds all the same
		m, _ := recoverFrom(t, c)
		closeMedium(t, m)
		for i, script := range [][]byte{first, second} {
			b := mutate(withDurability(t, files[i], c.Durability), script)
			if lies && len(b) >= headerUsed {
				binary.BigEndian.PutUint32(b[atFileCRC:], crcAround(b[:headerUsed], atFileCRC))
			}
			write(t, c, journalPath(uint64(i+1)), string(b))
		}
		m, h, err := tryRecover(c)
		if err != nil {
			corruptOnly(t, err)
			return
		}
		got := h.offsets()
		if !lies && !slices.Equal(got, want[:min(len(got), len(want))]) {
			t.Fatalf("recovered %v", got)
		}
		if h.report.LastFlush+1 == 0 {
			return // every number is taken, says a header
		}
		flush(t, m, h.report.LastFlush+1, batchFrame(partition(7, 7), batch(0, 1, 0, 100)))
		closeMedium(t, m)
		m, again := recoverFrom(t, c)
		if n := len(again.offsets()); n != len(got)+1 || !slices.Equal(again.offsets()[:n-1], got) {
			t.Fatalf("recovered %v, then %v", got, again.offsets())
		}
		closeMedium(t, m)
		for _, name := range journalNames(t, c) {
			corruptOnly(t, Dump(io.Discard, c.FS, filepath.Join(c.Dir, journalName, name)))
		}
	})
}

// FuzzSegmentRecovery mutates a segment, its index and its manifest. Recovery
// and reads must not panic and give what was written, or damage.
func FuzzSegmentRecovery(f *testing.F) {
	c := testConfig(vfs.NewMem())
	c.saveEvery = 1
	m, _ := recoverFrom(f, c)
	s := newShelf(partition(1, 0))
	settle(f, m, s.move(m, false, s.run(40, 1500, rising)...))
	closeMedium(f, m)
	paths := []string{segmentPath(s.Partition, s.Segments[0].Token), indexPath(s.Partition, s.Segments[0].Token), manifestPath(s.Partition)}
	var files [3][]byte
	for i, rel := range paths {
		b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, rel), 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		files[i] = b
	}
	f.Add([]byte{}, []byte{}, []byte{}, uint16(0))
	f.Add([]byte{0, 70, 0, 1}, []byte{0, 80, 0, 1}, []byte{}, uint16(7))
	f.Add([]byte{0x10, 0, 0, 1}, []byte{0, 10, 0xff, 0}, []byte{}, uint16(39))
	f.Add([]byte{0x20, 0, 0xff, 0}, []byte{}, []byte{0, 99, 0, 4}, uint16(20))
	f.Add([]byte{0x30, 0, 0xfe, 0}, []byte{0, 64, 0xfe, 0}, []byte{}, uint16(11))
	f.Fuzz(func(t *testing.T, segment, index, manifest []byte, at uint16) {
		c := testConfig(vfs.NewMem())
		m, _ := recoverFrom(t, c)
		closeMedium(t, m)
		if err := c.FS.Mkdir(filepath.Join(c.Dir, segmentFolder(s.Partition))); err != nil {
			t.Fatal(err)
		}
		for i, script := range [][]byte{segment, index, manifest} {
			write(t, c, paths[i], string(mutate(files[i], script)))
		}
		for _, rel := range paths {
			corruptOnly(t, Dump(io.Discard, c.FS, filepath.Join(c.Dir, rel)))
		}
		if _, err := Verify(context.Background(), c, func(err error) { corruptOnly(t, err) }); err != nil {
			corruptOnly(t, err)
		}
		m, h, err := tryRecover(c)
		if err != nil {
			corruptOnly(t, err)
			return
		}
		defer closeMedium(t, m)
		manifested := h.manifests[s.Partition]
		if manifested == nil {
			return
		}
		offset := int64(at) % 45
		for _, seg := range manifested.Segments {
			got, err := m.Read(s.Partition, seg, offset, 5000, nil)
			corruptOnly(t, err)
			if len(got) > 0 && record.BaseOffset(got) == offset && offset < 40 {
				// What a checksum of Kafka's format covers is as it was.
				if want := s.all[offset*1500:]; !bytes.Equal(got[21:1500], want[21:1500]) {
					t.Fatalf("read at %d gives other bytes", offset)
				}
			}
			_, err = m.Seek(s.Partition, seg, rising(offset))
			corruptOnly(t, err)
		}
	})
}
