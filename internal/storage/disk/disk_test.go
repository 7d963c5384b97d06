package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// held is what recovery delivered.
type held struct {
	manifests map[storage.Partition]*storage.Manifest
	frames    []heldFrame
	report    storage.Report
}

type heldFrame struct {
	flush uint64
	storage.Frame
}

func (h *held) Manifest(m *storage.Manifest) error {
	h.manifests[m.Partition] = m
	return nil
}

func (h *held) Frame(flush uint64, f storage.Frame) error {
	f.Batch = append([]byte(nil), f.Batch...)
	h.frames = append(h.frames, heldFrame{flush, f})
	return nil
}

// offsets lists the batches that recovery delivered, as flush:offset.
func (h *held) offsets() []string {
	var all []string
	for _, f := range h.frames {
		if f.Kind == storage.FrameBatch {
			all = append(all, fmt.Sprintf("%d:%d", f.flush, f.Offset))
		}
	}
	return all
}

// smallJournal keeps tests quick: a file takes a few flushes.
const smallJournal = 16 << 10

func testConfig(fsys vfs.FS) Config {
	return Config{FS: fsys, Dir: "data", JournalFile: smallJournal, Rand: rand.NewChaCha8([32]byte{1})}
}

// recoverFrom opens the folder and recovers.
func recoverFrom(t testing.TB, c Config) (*Medium, *held) {
	t.Helper()
	m, h, err := tryRecover(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, h
}

func tryRecover(c Config) (*Medium, *held, error) {
	m, err := Open(c)
	if err != nil {
		return nil, nil, err
	}
	h := &held{manifests: map[storage.Partition]*storage.Manifest{}}
	if h.report, err = m.Recover(context.Background(), h); err != nil {
		return nil, h, errors.Join(err, m.Close())
	}
	return m, h, nil
}

func closeMedium(t testing.TB, m *Medium) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// partition returns a partition for tests.
func partition(topic byte, index int32) storage.Partition {
	return storage.Partition{Topic: storage.TopicID{topic, 15: 1}, Index: index}
}

// batch returns a batch of one record-like payload; only its header means
// anything.
func batch(base int64, records int32, ts int64, size int) []byte {
	b := make([]byte, max(size, record.HeaderSize))
	be := binary.BigEndian
	be.PutUint64(b[0:], uint64(base))
	be.PutUint32(b[8:], uint32(len(b)-record.Overhead))
	be.PutUint32(b[12:], 1)
	b[16] = record.Magic
	be.PutUint32(b[23:], uint32(records-1))
	be.PutUint64(b[27:], uint64(ts))
	be.PutUint64(b[35:], uint64(ts))
	be.PutUint64(b[43:], ^uint64(0))
	be.PutUint16(b[51:], ^uint16(0))
	be.PutUint32(b[53:], ^uint32(0))
	be.PutUint32(b[57:], uint32(records))
	for i := record.HeaderSize; i < len(b); i++ {
		b[i] = byte(base + int64(i))
	}
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

func batchFrame(p storage.Partition, b []byte) storage.Frame {
	return storage.Frame{Kind: storage.FrameBatch, Partition: p, Offset: record.BaseOffset(b), Epoch: 1, Batch: b}
}

// flushErr sends a flush and returns its outcome.
func flushErr(m *Medium, number uint64, frames ...storage.Frame) (err error) {
	err = errors.New("done was not called")
	m.Flush(storage.Flush{Number: number, Frames: frames}, func() {}, func(e error) { err = e })
	return err
}

func flush(t testing.TB, m *Medium, number uint64, frames ...storage.Frame) {
	t.Helper()
	if err := flushErr(m, number, frames...); err != nil {
		t.Fatalf("flush %d: %v", number, err)
	}
}

// flushBatches sends flushes from..to, each a batch of one record whose offset
// is the flush's number, and returns how recovery will list them.
func flushBatches(t testing.TB, m *Medium, from, to uint64, size int) (want []string) {
	t.Helper()
	for n := from; n <= to; n++ {
		flush(t, m, n, batchFrame(partition(1, 0), batch(int64(n), 1, int64(n), size)))
		want = append(want, fmt.Sprintf("%d:%d", n, n))
	}
	return want
}

// onBoth runs a test on the disk and in memory.
func onBoth(t *testing.T, f func(t *testing.T, c Config)) {
	t.Run("mem", func(t *testing.T) { f(t, testConfig(vfs.NewCrashMem())) })
	t.Run("os", func(t *testing.T) {
		f(t, Config{FS: vfs.OS(), Dir: filepath.Join(t.TempDir(), "data"), JournalFile: smallJournal})
	})
}

func TestRecoverDeliversWhatWasFlushed(t *testing.T) {
	onBoth(t, func(t *testing.T, c Config) {
		m, h := recoverFrom(t, c)
		if len(h.frames) != 0 || h.report.LastFlush != 0 {
			t.Fatalf("a new folder holds %v, last flush %d", h.frames, h.report.LastFlush)
		}
		p, q := partition(1, 0), partition(2, 7)
		sent := []heldFrame{
			{1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 5}},
			{2, batchFrame(p, batch(0, 3, 100, 200))},
			{2, batchFrame(q, batch(0, 1, 100, 9000))},
			{2, batchFrame(p, batch(3, 2, 101, 61))},
			{3, storage.Frame{Kind: storage.FrameStart, Partition: p, Offset: 4, Epoch: 5}},
			{4, storage.Frame{Kind: storage.FrameRemove, Partition: q, Epoch: 5}},
			{5, batchFrame(p, batch(5, 1, 102, 40000))}, // larger than a file
			{6, batchFrame(p, batch(6, 1, 103, 100))},
		}
		for n := uint64(1); n <= 6; n++ {
			var frames []storage.Frame
			for _, f := range sent {
				if f.flush == n {
					frames = append(frames, f.Frame)
				}
			}
			flush(t, m, n, frames...)
		}
		closeMedium(t, m)

		for range 3 {
			m, h = recoverFrom(t, c)
			got := h.frames
			if len(got) > 0 && got[0].Kind == storage.FrameEpoch && got[0].flush != 1 {
				got = got[1:] // what the newest header carries on
			}
			if diff := cmp.Diff(sent, got, cmp.AllowUnexported(heldFrame{}), cmp.Transformer("len", func(b []byte) string { return string(b) })); diff != "" {
				t.Fatalf("recovered (-sent +got):\n%s", diff)
			}
			if h.report.LastFlush != 6 || h.report.TornBytes != 0 {
				t.Errorf("report is %+v", h.report)
			}
			closeMedium(t, m)
		}
	})
}
