package storage_test

import (
	"bytes"
	"context"
	"testing"
	"unsafe"

	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

const testBlock, testLead = 4096, 64

// blockwise is a medium that writes whole blocks, and counts the bytes that it
// would have to copy for that.
type blockwise struct {
	storage.Medium
	written, copied int
}

func (*blockwise) Blocks() (size, lead int) { return testBlock, testLead }

func (m *blockwise) Settle(moves []storage.Move) error {
	for i := range moves {
		for j := range moves[i].Writes {
			w := &moves[i].Writes[j]
			m.written += len(w.Batches)
			if int64(uintptr(unsafe.Pointer(unsafe.SliceData(w.Batches))))%testBlock != (testLead+w.At)%testBlock {
				m.copied += len(w.Batches)
			}
		}
	}
	return m.Medium.Settle(moves)
}

// Batches of several logs that are appended in turn lie in memory as they will
// in segments, round after round and also after a restart, unless they are few
// and small.
func TestBatchesLieInTheirPlaces(t *testing.T) {
	for _, test := range []struct {
		name          string
		size, count   int // of batches
		copiedAtMost  int
		copiedAtLeast int
	}{
		{"large", 50_000, 20, 0, 0},
		{"small, many", 3000, 300, 0, 0},
		// Those of the first log may lie in their places by chance.
		{"small, few", 3000, 4, 3 * 5 * 4 * 3100, 2 * 4 * 3000},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &blockwise{Medium: storagetest.NewMemory()}
			batch := batchOf(string(bytes.Repeat([]byte{'x'}, test.size)))
			for round := range 5 {
				s := open(t, m, storage.Config{})
				for i := range 3 * test.count {
					l := create(t, s, storage.Partition{Topic: storage.TopicID{1}, Index: int32(i % 3)})
					appendOne(t, l, batch)
				}
				if err := s.Settle(context.Background()); err != nil {
					t.Fatal(err)
				}
				if want := 3 * test.count * (round + 1) * len(batch); m.written != want {
					t.Fatalf("%d bytes are settled after round %d, want %d", m.written, round, want)
				}
				closeStore(t, s)
			}
			if m.copied > test.copiedAtMost || m.copied < test.copiedAtLeast {
				t.Errorf("%d of %d bytes have to be copied, want %d to %d", m.copied, m.written, test.copiedAtLeast, test.copiedAtMost)
			}
		})
	}
}
