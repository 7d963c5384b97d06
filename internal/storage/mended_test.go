package storage_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// holed is a medium in which what lies below an offset is damaged.
type holed struct {
	storage.Medium
	below int64
}

func (m *holed) Read(p storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	if s.Base < m.below {
		return dst, &storage.CorruptError{File: s.Token, Reason: "test"}
	}
	return m.Medium.Read(p, s, offset, limit, dst)
}

// TestCompactionGoesOnBehindDeletedDamage: a log with damage is not compacted,
// until what is damaged has been deleted.
func TestCompactionGoesOnBehindDeletedDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &holed{Medium: storagetest.NewMemory(), below: 1}
		s := open(t, m, storage.Config{CleanInterval: time.Minute})
		defer closeStore(t, s)
		l, err := s.Create(part, storage.LogConfig{
			Compression: -1, Compact: true, Delete: true, RetentionAge: -1, RetentionBytes: -1, SegmentBytes: 2 << 10, DirtyRatio: 0.5,
		})
		if err != nil {
			t.Fatal(err)
		}
		k := storagetest.NewKeyed()
		fill := func() {
			for i := range 100 {
				batch, acked := k.Batch(record.Uncompressed, storagetest.Change{Key: fmt.Sprint(i % 5)})
				acked(appendOne(t, l, batch).Base)
			}
			if err := s.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fill()
		before := l.Size()
		time.Sleep(10 * time.Minute)
		if got := l.Size(); got != before {
			t.Fatalf("with damage %d of %d bytes are left", got, before)
		}
		done := make(chan error, 1)
		l.DeleteRecords(50, func(_ int64, err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := s.Retain(); err != nil {
			t.Fatal(err)
		}
		fill()
		before = l.Size()
		time.Sleep(10 * time.Minute)
		if got := l.Size(); got > before/2 {
			t.Errorf("without damage %d of %d bytes are left", got, before)
		}
	})
}
