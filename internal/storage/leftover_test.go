package storage_test

import (
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// ledgered is a medium that knows which segments were made, and are not in the
// newest manifest nor deleted.
type ledgered struct {
	*storagetest.Memory
	made, listed map[string]bool
}

func (m *ledgered) Settle(moves []storage.Move) error {
	for i := range moves {
		for _, w := range moves[i].Writes {
			m.made[w.Token] = true
		}
	}
	err := m.Memory.Settle(moves)
	if err == nil { // one partition is all there is
		m.listed = map[string]bool{}
		for _, s := range moves[0].Manifest.Segments {
			m.listed[s.Token] = true
		}
	}
	return err
}

func (m *ledgered) Drop(p storage.Partition, segments []storage.Segment) {
	for _, s := range segments {
		delete(m.made, s.Token)
	}
	m.Memory.Drop(p, segments)
}

// TestNoSegmentIsLeftOfARoundThatFailed: when a round is tried again its batches
// fit into the last segment. The one that the first attempt made is deleted.
func TestNoSegmentIsLeftOfARoundThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &ledgered{Memory: storagetest.NewMemory(), made: map[string]bool{}}
		s := open(t, m, storage.Config{TailAge: time.Hour})
		defer closeStore(t, s)
		conf := storage.LogConfig{Compression: -1, RetentionAge: -1, RetentionBytes: -1, SegmentBytes: 100}
		l, err := s.Create(part, conf)
		if err != nil {
			t.Fatal(err)
		}
		appendOne(t, l, batchOf("a"))
		if err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		appendOne(t, l, batchOf("b"))
		m.FailSettle(1)
		if err := s.Settle(t.Context()); err == nil || len(m.made) != 2 {
			t.Fatalf("%d segments after a round that should fail: %v", len(m.made), err)
		}
		conf.SegmentBytes = 0
		l.SetConfig(conf)
		if err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(m.made) != 1 || len(m.listed) != 1 {
			t.Errorf("%d segments are there, %d in use", len(m.made), len(m.listed))
		}
		if got, _, err := storagetest.ReadAllGaps(l); err != nil || len(got) != 2 {
			t.Errorf("%d records, %v", len(got), err)
		}
	})
}
