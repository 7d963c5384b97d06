package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// byHand is a medium whose flushes land when the test says so. What it was
// told to keep it keeps, whatever it says.
type byHand struct {
	*storagetest.Memory
	mu   sync.Mutex
	hold bool
	air  []flying
}

type flying struct {
	storage.Flush
	done func(error)
}

func (h *byHand) InFlight() int { return 3 }

func (h *byHand) Flush(f storage.Flush, written func(), done func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hold {
		h.Memory.Flush(f, written, done)
		return
	}
	h.air = append(h.air, flying{f, done})
}

// land ends the i-th flush that is under way. One that succeeds is kept.
func (h *byHand) land(i int, err error) {
	h.mu.Lock()
	f := h.air[i]
	h.mu.Unlock()
	if err != nil {
		f.done(err)
	} else {
		h.Memory.Flush(f.Flush, func() {}, f.done)
	}
	synctest.Wait()
}

// TestFlushesThatLandOutOfOrder has the second and third of three flushes fail
// while the first one is still under way: that one counts.
func TestFlushesThatLandOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &byHand{Memory: storagetest.NewMemory()}
		s := open(t, h, storage.Config{})
		l := create(t, s, part)
		h.hold = true
		var mu sync.Mutex
		var heard []string
		for i := range 4 {
			l.Append(batchOf(fmt.Sprint(i)), storage.DurableAck, func(a storage.Appended) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, fmt.Sprintf("%d: %v", i, a.Err))
			})
			synctest.Wait()
		}
		check := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(heard, want) {
				t.Errorf("heard %q, want %q", heard, want)
			}
		}
		if n := len(h.air); n != 3 {
			t.Fatalf("%d flushes are under way", n)
		}
		h.land(1, storagetest.ErrFault)
		h.land(2, storagetest.ErrFault)
		check()
		if b := l.Bounds(); b.HighWatermark != 0 || b.End != 4 {
			t.Errorf("before the first one has landed: %+v", b)
		}
		h.hold = false
		h.land(0, nil)
		failed := storage.ErrFlushFailed.Error()
		check("0: <nil>", "1: "+failed, "2: "+failed, "3: "+failed)
		time.Sleep(time.Second)
		if a := appendOne(t, l, batchOf("next")); a.Base != 1 {
			t.Errorf("next append at %d", a.Base)
		}
		closeStore(t, s)
	})
}

// stubborn is a medium that cannot remove partitions, and never trims.
type stubborn struct {
	*storagetest.Memory
	removes, trims bool
}

func (m *stubborn) Remove(p storage.Partition) error {
	if !m.removes {
		return storagetest.ErrFault
	}
	return m.Memory.Remove(p)
}

func (m *stubborn) Trim(n uint64) error {
	if !m.trims {
		return nil
	}
	return m.Memory.Trim(n)
}

func TestRemovalIsFinishedByTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{Memory: storagetest.NewMemory(), trims: true}
		s := open(t, m, storage.Config{})
		appendOne(t, create(t, s, part), batchOf("a"))
		appendOne(t, create(t, s, other), batchOf("a"))
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Remove(part); !errors.Is(err, storagetest.ErrFault) {
				t.Errorf("remove: %v", err)
			}
			if _, err := s.Create(part, storage.LogConfig{}); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("create in the middle of a removal: %v", err)
			}
		}
		appendOne(t, create(t, s, other), batchOf("b"))
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		m.removes = true
		closeStore(t, s)
		s = open(t, m, storage.Config{})
		if got := s.Partitions(); !slices.Equal(got, []storage.Partition{other}) {
			t.Errorf("partitions %v", got)
		}
		closeStore(t, s)
	})
}

func TestOldFramesDoNotTouchANewLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{Memory: storagetest.NewMemory(), removes: true}
		s := open(t, m, storage.Config{})
		l := create(t, s, part)
		appendOne(t, l, batchOf("old", "old", "old"))
		l.DeleteRecords(2, func(int64, error) {})
		synctest.Wait()
		if err := s.Remove(part); err != nil {
			t.Fatal(err)
		}
		appendOne(t, create(t, s, part), batchOf("new"))
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		s = open(t, m, storage.Config{})
		all, b, err := storagetest.ReadAll(create(t, s, part))
		if err != nil || len(all) != 1 || all[0].Value != "new" || b.Start != 0 {
			t.Errorf("read %v, %+v, %v", all, b, err)
		}
		closeStore(t, s)
	})
}
