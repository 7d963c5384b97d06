package disk

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
)

// setBatchCRC makes the checksum right of what stands for a batch.
func setBatchCRC(b []byte) { binary.BigEndian.PutUint32(b[atBatchCRC:], batchCRC(b)) }

func frameOf(b []byte) *storage.Frame { return &storage.Frame{Kind: storage.FrameBatch, Batch: b} }

// The checksum of a payload is that of its bytes, whether they are gone over or
// not, whatever their number.
func TestPayloadCRC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{record.HeaderSize, combineFrom - 1, combineFrom, combineFrom + 1, atCovered + 1<<16, atCovered + 1<<16 - 1, atCovered + 1<<24, 20_000_003}
	for range 200 {
		sizes = append(sizes, record.HeaderSize+rng.IntN(200_000))
	}
	for _, n := range sizes {
		b := make([]byte, n)
		for i := range min(n, 4096) {
			b[i], b[n-1-i] = byte(rng.Uint32()), byte(rng.Uint32())
		}
		setBatchCRC(b)
		if got, want := payloadCRC(frameOf(b)), crc32.Checksum(b, castagnoli); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
}

// A byte that changes after the batch's checksum was made is not covered up.
func TestPayloadCRCOfChangedBytes(t *testing.T) {
	b := make([]byte, combineFrom)
	setBatchCRC(b)
	b[combineFrom/2] ^= 1
	if payloadCRC(frameOf(b)) == crc32.Checksum(b, castagnoli) {
		t.Error("the checksum is right for bytes that are wrong")
	}
}

func BenchmarkPayloadCRC(b *testing.B) {
	batch := make([]byte, 64<<10)
	setBatchCRC(batch)
	f := frameOf(batch)
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		payloadCRC(f)
	}
}
