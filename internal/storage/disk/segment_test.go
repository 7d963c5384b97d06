package disk

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// bigShelf settles enough batches for many index entries: 1,500 batches of
// 1,000 bytes, in three rounds.
func bigShelf(t testing.TB, m *Medium) *shelf {
	t.Helper()
	s := newShelf(partition(1, 0))
	for range 3 {
		settle(t, m, s.move(m, false, s.run(500, 1000, rising)...))
	}
	return s
}

func indexFile(c Config, s *shelf) string {
	return filepath.Join(c.Dir, indexPath(s.Partition, s.Segments[0].Token))
}

func segmentFile(c Config, s *shelf) string {
	return filepath.Join(c.Dir, segmentPath(s.Partition, s.Segments[0].Token))
}

// checkReads reads at many offsets and times.
func checkReads(t testing.TB, m *Medium, s *shelf) {
	t.Helper()
	seg := s.Segments[0]
	for offset := int64(0); offset < seg.End; offset += 13 {
		got, err := m.Read(s.Partition, seg, offset, 3000, nil)
		if err != nil || len(got) != 1000*int(min(3, seg.End-offset)) || record.BaseOffset(got) != offset {
			t.Fatalf("read at %d: %d bytes, %v", offset, len(got), err)
		}
		if lent := lentBytes(t, m, s.Partition, seg, offset, 90_000); lent != nil {
			want, err := m.Read(s.Partition, seg, offset, len(lent), nil)
			if err != nil || !bytes.Equal(lent, want) {
				t.Fatalf("lent at %d: %d bytes that are not the %d that are read, %v", offset, len(lent), len(want), err)
			}
		}
		if at, err := m.Seek(s.Partition, seg, rising(offset)-3); err != nil || at != offset {
			t.Fatalf("seek for offset %d: %d, %v", offset, at, err)
		}
	}
}

func TestIndexIsMadeAgain(t *testing.T) {
	damage := map[string]func(t *testing.T, c Config, s *shelf){
		"missing": func(t *testing.T, c Config, s *shelf) {
			if err := c.FS.Remove(indexFile(c, s)); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, c Config, s *shelf) {
			alter(t, c, indexFile(c, s), func([]byte) []byte { return []byte{0} })
		},
		"header": func(t *testing.T, c Config, s *shelf) { flip(t, c, indexFile(c, s), 57) },
		"entry":  func(t *testing.T, c Config, s *shelf) { flip(t, c, indexFile(c, s), segmentHeader+5*entrySize+3) },
		"torn": func(t *testing.T, c Config, s *shelf) {
			alter(t, c, indexFile(c, s), func(b []byte) []byte { return b[:segmentHeader+4*entrySize+5] })
		},
		// Entries with good checksums that lead to the wrong places.
		"wrong places": func(t *testing.T, c Config, s *shelf) {
			alter(t, c, indexFile(c, s), func(b []byte) []byte {
				h, _, err := decodeSegmentHead("", b, indexMagic, indexVersion)
				if err != nil {
					t.Fatal(err)
				}
				seg, _, err := openSegmentHead(c, s)
				if err != nil {
					t.Fatal(err)
				}
				out := h.encode(indexMagic, indexVersion, seg.crc)
				for i := range int64(40) {
					out = appendEntry(out, entry{i * 33, i*33*1000 + i, -1}, seg.crc)
				}
				return out
			})
		},
		"wrong offsets": func(t *testing.T, c Config, s *shelf) {
			alter(t, c, indexFile(c, s), func(b []byte) []byte {
				seg, _, err := openSegmentHead(c, s)
				if err != nil {
					t.Fatal(err)
				}
				out := b[:segmentHeader:segmentHeader]
				for i := range int64(40) {
					out = appendEntry(out, entry{i * 32, i * 33 * 1000, rising(33*i - 1)}, seg.crc)
				}
				return out
			})
		},
	}
	for name, hurt := range damage {
		t.Run(name, func(t *testing.T) {
			c := testConfig(vfs.NewMem())
			c.saveEvery = 8
			m, _ := recoverFrom(t, c)
			s := bigShelf(t, m)
			checkReads(t, m, s)
			closeMedium(t, m)
			hurt(t, c, s)
			m, h := recoverFrom(t, c)
			if len(h.report.Corrupt) != 0 {
				t.Fatalf("a bad index is taken for damage: %v", h.report.Corrupt)
			}
			checkReads(t, m, s)
			settle(t, m, s.move(m, false, s.run(500, 1000, rising)...))
			checkReads(t, m, s)
			closeMedium(t, m)
			m, _ = recoverFrom(t, c)
			checkReads(t, m, s)
			closeMedium(t, m)
		})
	}
}

func openSegmentHead(c Config, s *shelf) (segmentHead, int64, error) {
	f, h, err := openSegment(c, s.Partition, s.Segments[0].Token)
	if err != nil {
		return h, 0, err
	}
	defer f.Close()
	size, err := f.Size()
	return h, size, err
}

func TestIndexKeepsWalksShort(t *testing.T) {
	fsys := vfs.NewMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	s := bigShelf(t, m)
	read := 0
	fsys.OnCall(func(c vfs.Call) error {
		if c.Kind == vfs.ReadCall {
			read += c.Size
		}
		return nil
	})
	for _, offset := range []int64{0, 700, 1499} {
		read = 0
		if _, err := m.Read(s.Partition, s.Segments[0], offset, 1000, nil); err != nil {
			t.Fatal(err)
		}
		if read > 2*walkStep {
			t.Errorf("reading one batch at %d reads %d bytes", offset, read)
		}
	}
	// A reader that goes on where it stopped needs no walk at all.
	got, err := m.Read(s.Partition, s.Segments[0], 100, 5000, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(100 + len(got)/1000)
	read = 0
	if _, err := m.Read(s.Partition, s.Segments[0], next, 500_000, nil); err != nil {
		t.Fatal(err)
	}
	if read > walkStep+500_000 {
		t.Errorf("going on reads %d bytes", read)
	}
	fsys.OnCall(nil)
	closeMedium(t, m)
}

func TestDamagedSegmentTakesOnlyItsPartition(t *testing.T) {
	for name, hurt := range map[string]func(t *testing.T, c Config, path string, s *shelf){
		"missing": func(t *testing.T, c Config, path string, _ *shelf) {
			if err := c.FS.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"short": func(t *testing.T, c Config, path string, _ *shelf) {
			alter(t, c, path, func(b []byte) []byte { return b[:len(b)-1] })
		},
		"header":  func(t *testing.T, c Config, path string, _ *shelf) { flip(t, c, path, 20) },
		"another": func(t *testing.T, c Config, path string, s *shelf) { swapSegment(t, c, path, s) },
	} {
		t.Run(name, func(t *testing.T) {
			c := testConfig(vfs.NewMem())
			m, _ := recoverFrom(t, c)
			bad, good := newShelf(partition(1, 0)), newShelf(partition(2, 0))
			settle(t, m, bad.move(m, false, bad.run(5, 300, rising)...), good.move(m, false, good.run(5, 300, rising)...))
			flush(t, m, 1, batchFrame(bad.Partition, batch(5, 1, 0, 100)))
			closeMedium(t, m)
			path := segmentFile(c, bad)
			hurt(t, c, path, good)
			m, h := recoverFrom(t, c)
			var damage *storage.CorruptError
			if err := h.report.Corrupt[bad.Partition]; !errors.As(err, &damage) || damage.File != segmentPath(bad.Partition, bad.Segments[0].Token) {
				t.Errorf("report says %v", err)
			}
			if len(h.report.Corrupt) != 1 || h.manifests[bad.Partition] != nil || h.manifests[good.Partition] == nil {
				t.Errorf("corrupt: %v, manifests of %d partitions", h.report.Corrupt, len(h.manifests))
			}
			if got, err := readAll(m, &good.Manifest, 1000); err != nil || !bytes.Equal(got, good.all) {
				t.Errorf("the other partition: %v", err)
			}
			if names, err := c.FS.List(filepath.Dir(path)); err != nil || name != "missing" && len(names) == 0 {
				t.Errorf("the damaged partition's files: %v, %v", names, err)
			}
			closeMedium(t, m)
		})
	}
}

// TestWhatTheSystemRefusesAtAStartIsDamage: of a partition that a start cannot
// look at nothing is known, and nobody looks again, so it is damaged to everybody
// who asks, whatever the reason.
func TestWhatTheSystemRefusesAtAStartIsDamage(t *testing.T) {
	fsys := vfs.NewMem()
	c := testConfig(fsys)
	m, _ := recoverFrom(t, c)
	bad, good := newShelf(partition(1, 0)), newShelf(partition(2, 0))
	settle(t, m, bad.move(m, false, bad.run(5, 300, rising)...), good.move(m, false, good.run(5, 300, rising)...))
	closeMedium(t, m)
	for _, kind := range []vfs.CallKind{vfs.OpenCall, vfs.ReadCall} {
		fsys.OnCall(func(call vfs.Call) error {
			if call.Kind == kind && call.Name == segmentFile(c, bad) {
				return vfs.ErrFault
			}
			return nil
		})
		m, h := recoverFrom(t, c)
		fsys.OnCall(nil)
		var damage *storage.CorruptError
		if err := h.report.Corrupt[bad.Partition]; !errors.As(err, &damage) || damage.File != segmentPath(bad.Partition, bad.Segments[0].Token) || !strings.Contains(damage.Reason, vfs.ErrFault.Error()) {
			t.Errorf("report says %v", err)
		}
		if len(h.report.Corrupt) != 1 || h.manifests[good.Partition] == nil {
			t.Errorf("corrupt: %v, manifests of %d partitions", h.report.Corrupt, len(h.manifests))
		}
		closeMedium(t, m)
	}
	m, h := recoverFrom(t, c)
	if len(h.report.Corrupt) != 0 {
		t.Errorf("after the fault: %v", h.report.Corrupt)
	}
	closeMedium(t, m)
}

func swapSegment(t *testing.T, c Config, path string, s *shelf) {
	other, err := vfs.ReadFile(c.FS, segmentFile(c, s), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	alter(t, c, path, func([]byte) []byte { return other })
}

// TestEveryDamagedByteIsFound flips one byte after the other.
func TestEveryDamagedByteIsFound(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	s := newShelf(partition(1, 0))
	settle(t, m, s.move(m, false, s.run(4, 150, rising)...))
	closeMedium(t, m)
	path := segmentFile(c, s)
	for pos := int64(segmentHeader); pos < segmentHeader+4*150; pos++ {
		at := (pos - segmentHeader) % 150
		if at >= 12 && at < 16 {
			continue // the leader epoch has no checksum in Kafka's format
		}
		flip(t, c, path, pos)
		start := pos - at
		damaged := int64(-1)
		_, err := Verify(t.Context(), c, func(err error) {
			var damage *storage.CorruptError
			if errors.As(err, &damage) && damaged < 0 {
				damaged = damage.Offset
			}
		})
		// A wrong length is noticed by what it leads to.
		if err != nil || damaged != start && (at > 11 || damaged < start) {
			t.Fatalf("byte %d changed: verify found damage at %d, %v", pos, damaged, err)
		}
		m, _ := recoverFrom(t, c)
		got, err := readAll(m, &s.Manifest, 1<<20)
		var damage *storage.CorruptError
		if !errors.As(err, &damage) || damage.File != segmentPath(s.Partition, s.Segments[0].Token) || !bytes.HasPrefix(s.all, got) {
			t.Fatalf("byte %d changed: read %d bytes, %v", pos, len(got), err)
		}
		closeMedium(t, m)
		flip(t, c, path, pos)
	}
	v, err := Verify(t.Context(), c, func(err error) { t.Error(err) })
	if err != nil || v.Partitions != 1 || v.Segments != 1 || v.SegmentBytes != 600 {
		t.Errorf("verified %+v, %v", v, err)
	}
}

func TestReadersAndWriterTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, _ := recoverFrom(t, c)
		s := newShelf(partition(1, 0))
		settle(t, m, s.move(m, false, s.run(50, 400, rising)...))
		var mu sync.Mutex
		now := s.Manifest // what readers know
		now.Segments = slices.Clone(s.Segments)
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for r := range 3 {
			readers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					mu.Lock()
					seg := now.Segments[len(now.Segments)-1-(i%len(now.Segments))]
					mu.Unlock()
					offset := seg.Base + int64((i*7+r)%int(seg.End-seg.Base))
					got, err := m.Read(s.Partition, seg, offset, 2000, nil)
					if err != nil || record.BaseOffset(got) != offset {
						t.Errorf("read at %d of %+v: %v", offset, seg, err)
						return
					}
				}
			})
		}
		for round := range 40 {
			settle(t, m, s.move(m, round%10 == 9, s.run(20, 400, rising)...))
			mu.Lock()
			now = s.Manifest
			now.Segments = slices.Clone(s.Segments)
			mu.Unlock()
		}
		close(stop)
		readers.Wait()
		closeMedium(t, m)
	})
}

func TestFailedRoundCanBeTriedAgain(t *testing.T) {
	for _, few := range []bool{true, false} {
		t.Run(fmt.Sprintf("few=%t", few), func(t *testing.T) {
			shelves := 1
			if !few {
				shelves = 8
			}
			// Every call of a round fails in turn.
			for n := int64(1); ; n++ {
				fsys := vfs.NewCrashMem()
				c := testConfig(fsys)
				m, _ := recoverFrom(t, c)
				var all []*shelf
				for i := range shelves {
					s := newShelf(partition(byte(i+1), 0))
					settle(t, m, s.move(m, false, s.run(3, 700, rising)...))
					all = append(all, s)
				}
				var moves []storage.Move
				for i, s := range all {
					moves = append(moves, s.move(m, i%2 == 1, s.run(3, 700, rising)...))
				}
				begin := fsys.Calls()
				fsys.OnCall(func(c vfs.Call) error {
					if c.N == begin+n {
						return vfs.ErrFault
					}
					return nil
				})
				err := m.Settle(moves)
				if err == nil {
					if n < 4 {
						t.Fatalf("a round makes %d calls", n-1)
					}
					closeMedium(t, m)
					return
				}
				if !errors.Is(err, vfs.ErrFault) {
					t.Fatalf("call %d: %v", n, err)
				}
				for seed := range uint64(6) { // old or new, each consistent
					m, h := recoverFrom(t, testConfig(fsys.CrashClone(seed)))
					for _, s := range all {
						manifest := h.manifests[s.Partition]
						if manifest == nil || manifest.End != 3 && manifest.End != 6 {
							t.Fatalf("call %d, seed %d: manifest %+v, corrupt %v", n, seed, manifest, h.report.Corrupt)
						}
						if got, err := readAll(m, manifest, 1<<20); err != nil || !bytes.Equal(got, s.all[:700*manifest.End]) {
							t.Fatalf("call %d, seed %d: %v", n, seed, err)
						}
					}
					closeMedium(t, m)
				}
				settle(t, m, moves...)
				for _, s := range all {
					if got, err := readAll(m, &s.Manifest, 1000); err != nil || !bytes.Equal(got, s.all) {
						t.Fatalf("call %d: after the second attempt: %v", n, err)
					}
				}
				m2, h := recoverFrom(t, testConfig(fsys.CrashClone(0)))
				for _, s := range all {
					if got, err := readAll(m2, h.manifests[s.Partition], 1000); err != nil || !bytes.Equal(got, s.all) {
						t.Fatalf("call %d: after a crash: %v", n, err)
					}
				}
				closeMedium(t, m2)
				closeMedium(t, m)
			}
		})
	}
}

// What is read of a small segment takes little memory, also when it grows
// afterwards.
func TestSmallSegmentsTakeLittleMemory(t *testing.T) {
	m, _ := recoverFrom(t, Config{FS: vfs.OS(), Dir: filepath.Join(t.TempDir(), "data"), JournalFile: smallJournal})
	const segments = 40
	var all []*shelf
	for i := range segments {
		all = append(all, newShelf(partition(1, int32(i))))
	}
	for range 3 {
		var moves []storage.Move
		for _, s := range all {
			moves = append(moves, s.move(m, false, s.run(20, 300, rising)...))
		}
		settle(t, m, moves...)
		for _, s := range all {
			if got, err := readAll(m, &s.Manifest, 1<<20); err != nil || !bytes.Equal(got, s.all) {
				t.Fatal(err)
			}
		}
	}
	size := 0
	for _, s := range all {
		size += len(s.all)
	}
	// Where files cannot be direct nothing is kept.
	if got := m.Cached(); got != 0 && got < int64(size) || got > int64(size+segments*4*4096) {
		t.Errorf("%d bytes of memory hold %d in %d segments", got, size, segments)
	}
	closeMedium(t, m)
}

func TestManySegmentsStayWithinTheCache(t *testing.T) {
	m, _ := recoverFrom(t, testConfig(vfs.NewMem()))
	m.segments.maxOpen = 256
	var all []*shelf
	var moves []storage.Move
	for i := range m.segments.maxOpen + 50 {
		s := newShelf(partition(1, int32(i)))
		moves = append(moves, s.move(m, false, s.run(2, 100, rising)...))
		all = append(all, s)
	}
	settle(t, m, moves...)
	for range 2 {
		for _, s := range all {
			if got, err := readAll(m, &s.Manifest, 1000); err != nil || !bytes.Equal(got, s.all) {
				t.Fatal(err)
			}
		}
	}
	if n := len(m.segments.open); n > m.segments.maxOpen {
		t.Errorf("%d segments are open", n)
	}
	closeMedium(t, m)
}
