package disk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
	"rota/internal/vfs"
)

func dumped(t testing.TB, c Config, rel string) ([]string, error) {
	t.Helper()
	var out strings.Builder
	err := Dump(&out, c.FS, filepath.Join(c.Dir, rel))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

func wantDump(t testing.TB, c Config, rel string, want ...string) {
	t.Helper()
	got, err := dumped(t, c, rel)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("dump of %s: %v (-want +got):\n%s", rel, err, diff)
	}
}

func TestDump(t *testing.T) {
	c := testConfig(vfs.NewMem())
	c.Now = func() time.Time { return time.UnixMilli(1234) }
	m, _ := recoverFrom(t, c)
	p := partition(0xab, 3)
	name := partitionName(p)
	flush(t, m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 5})
	flush(t, m, 2, batchFrame(p, batch(0, 3, 100, 200)), batchFrame(p, batch(3, 1, 101, 61)))
	flush(t, m, 3, storage.Frame{Kind: storage.FrameStart, Partition: p, Offset: 2, Epoch: 1}, storage.Frame{Kind: storage.FrameRemove, Partition: p, Epoch: 1})
	s := newShelf(p)
	s.Flush = 1
	settle(t, m, s.move(m, false, batch(0, 3, 100, 200), batch(3, 1, 101, 61)))
	sg, err := m.segments.acquire(p, &s.Segments[0])
	if err != nil {
		t.Fatal(err)
	}
	sg.save(m.c)
	m.segments.release(sg)
	closeMedium(t, m)

	journal := journalPath(1)
	head, err := dumped(t, c, journal)
	if err != nil || len(head) < 2 {
		t.Fatal(err)
	}
	frames := []string{
		"4096 flush 1 epoch 5 taken (last)",
		"4160 flush 2 batch " + name + " offsets 0 to 2 records 3 epoch 1 timestamps 100 to 100 none bytes 200",
		"4424 flush 2 batch " + name + " offsets 3 to 3 records 1 epoch 1 timestamps 101 to 101 none bytes 61 (last)",
		"4552 flush 3 start " + name + " offset 2 epoch 1",
		"4616 flush 3 remove " + name + " epoch 1 (last)",
	}
	first := head[0]
	if !strings.HasPrefix(first, "journal version 1 durability fsync sequence 1 salt ") || !strings.HasSuffix(first, " first flush 1 created 1234") {
		t.Errorf("first line is %q", first)
	}
	wantDump(t, c, journal, append(append([]string{first}, frames...), "4680 end, 0 bytes unused")...)

	token := s.Segments[0].Token
	wantDump(t, c, manifestPath(p),
		"manifest version 2 durability fsync partition "+name+" bytes 195",
		"offsets 0 to 4, last stable 4, covers flush 2, 5 bytes of producer state",
		"segment "+token+" offsets 0 to 4 bytes 261 max timestamp 101 at 3 created 77 last stable 4 aborted 0",
		"leader epoch 1 from offset 0")
	segment := []string{
		"segment version 1 durability fsync partition " + name + " base 0 created 77",
		"manifest covers 261 bytes, up to byte 325",
		"64 batch offsets 0 to 2 records 3 epoch 1 timestamps 100 to 100 none bytes 200",
		"264 batch offsets 3 to 3 records 1 epoch 1 timestamps 101 to 101 none bytes 61",
	}
	wantDump(t, c, segmentPath(p, token), segment...)
	index, err := dumped(t, c, indexPath(p, token))
	if err != nil || len(index) != 2 || index[1] != "64 offset 0 position 0 timestamps before -1" {
		t.Errorf("index: %v, %v", index, err)
	}
	wantDump(t, c, formatName, "rota data folder", "version 2")

	// What does not count, and what is damaged.
	alter(t, c, filepath.Join(c.Dir, segmentPath(p, token)), func(b []byte) []byte { return append(b, "more"...) })
	wantDump(t, c, segmentPath(p, token), append(segment, "325 VOID 4 bytes that the manifest does not cover")...)
	flip(t, c, filepath.Join(c.Dir, segmentPath(p, token)), 300)
	got, err := dumped(t, c, segmentPath(p, token))
	var damage *storage.CorruptError
	if !errors.As(err, &damage) || damage.Offset != 264 || got[4] != "264 CORRUPT the batch's checksum is wrong" {
		t.Errorf("damaged segment: %v\n%s", err, strings.Join(got, "\n"))
	}
	flip(t, c, filepath.Join(c.Dir, journal), 4640)
	wantDump(t, c, journal, append(append([]string{first}, frames[:3]...), "4552 TORN 128 bytes that do not count", "4552 end, 128 bytes unused")...)
	flip(t, c, filepath.Join(c.Dir, journal), 4200)
	got, err = dumped(t, c, journal)
	if !errors.As(err, &damage) || damage.Offset != 4160 || got[len(got)-1] != "4160 CORRUPT the frame header's checksum is wrong, yet flush 3 follows at byte 4552" {
		t.Errorf("damaged journal: %v\n%s", err, strings.Join(got, "\n"))
	}
	if _, err := dumped(t, c, lockName); err == nil {
		t.Error("the lock can be dumped")
	}
}

func TestDumpKnowsWhereASealedFileEnds(t *testing.T) {
	c := testConfig(vfs.NewMem())
	m, _ := recoverFrom(t, c)
	flushBatches(t, m, 1, 8, 2000)
	closeMedium(t, m)
	got, err := dumped(t, c, journalPath(1))
	if err != nil || got[1] != "sequence 2 voids it beyond byte 14416" || got[len(got)-1] != "14416 end, 0 bytes unused" {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	flip(t, c, filepath.Join(c.Dir, journalPath(1)), 14400) // the last flush, which alone would seem torn
	if _, err := dumped(t, c, journalPath(1)); err == nil {
		t.Error("damage before the end of a sealed file is not found")
	}
}
