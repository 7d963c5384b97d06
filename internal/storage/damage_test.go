package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// damaged is a medium that reports damage of one partition.
type damaged struct {
	*storagetest.Memory
	p      storage.Partition
	err    error
	trim   uint64
	failed chan error
}

// Recover leaves the manifest of the damaged partition out, as a disk does.
func (d *damaged) Recover(ctx context.Context, into storage.Recovery) (storage.Report, error) {
	if d.err == nil {
		return d.Memory.Recover(ctx, into)
	}
	r, err := d.Memory.Recover(ctx, without{into, d.p})
	r.Corrupt = map[storage.Partition]error{d.p: d.err}
	return r, err
}

func (d *damaged) Trim(n uint64) error {
	d.trim = n
	return d.Memory.Trim(n)
}

func (d *damaged) Failed() <-chan error { return d.failed }

type without struct {
	storage.Recovery
	p storage.Partition
}

func (w without) Manifest(m *storage.Manifest) error {
	if m.Partition == w.p {
		return nil
	}
	return w.Recovery.Manifest(m)
}

var other = storage.Partition{Topic: storage.TopicID{2}}

func create(t testing.TB, s *storage.Store, p storage.Partition) *storage.Log {
	t.Helper()
	l, err := s.Create(p, storage.LogConfig{Compression: -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closeStore(t testing.TB, s *storage.Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestDamagedPartitionAnswersWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &damaged{Memory: storagetest.NewMemory(), p: part}
		s := open(t, m, storage.Config{})
		for range 3 {
			appendOne(t, create(t, s, part), batchOf("a"))
			appendOne(t, create(t, s, other), batchOf("b"))
			if err := s.Settle(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		appendOne(t, create(t, s, part), batchOf("in the journal"))
		synctest.Wait()
		after := &damaged{Memory: m.Memory.Clone(), p: part, err: &storage.CorruptError{File: "x", Offset: 7, Reason: "test"}}
		closeStore(t, s)

		s = open(t, after, storage.Config{})
		l, ok := s.Log(part)
		if !ok {
			t.Fatal("a damaged log is not listed")
		}
		heard := make(chan storage.Appended, 1)
		l.Append(batchOf("c"), storage.DurableAck, func(a storage.Appended) { heard <- a })
		_, werr := l.Writer(s.Epoch()).Append(batchOf("c"), func(error) {})
		_, _, rerr := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 100})
		_, aerr := l.Available(0, false)
		_, _, ferr := l.FirstSince(0, false)
		_, _, merr := l.MaxTimestamp()
		var derr error
		l.DeleteRecords(1, func(_ int64, err error) { derr = err })
		for i, err := range []error{(<-heard).Err, werr, rerr, aerr, ferr, merr, derr} {
			if !errors.Is(err, after.err) {
				t.Errorf("call %d got %v", i, err)
			}
		}
		// All others are served, and the journal keeps what may help repair.
		if a := appendOne(t, create(t, s, other), batchOf("d")); a.Base != 3 {
			t.Errorf("appended at %d", a.Base)
		}
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		kept := after.trim
		if last := s.Report().LastFlush; kept >= last {
			t.Errorf("trimmed up to %d of %d", kept, last)
		}
		if err := s.Remove(part); err != nil {
			t.Fatal(err)
		}
		appendOne(t, create(t, s, other), batchOf("e"))
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		if after.trim <= kept {
			t.Errorf("nothing is trimmed after the damaged partition has been removed")
		}
		closeStore(t, s)
	})
}

// gap is a medium that loses the frame with a given offset of part.
type gap struct {
	*storagetest.Memory
	offset int64
}

func (g gap) Recover(ctx context.Context, into storage.Recovery) (storage.Report, error) {
	return g.Memory.Recover(ctx, gapRecovery{into, g.offset})
}

type gapRecovery struct {
	storage.Recovery
	offset int64
}

func (g gapRecovery) Frame(flush uint64, f storage.Frame) error {
	if f.Kind == storage.FrameBatch && f.Partition == part && f.Offset == g.offset {
		return nil
	}
	return g.Recovery.Frame(flush, f)
}

func TestGapInTheJournalIsDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storagetest.NewMemory()
		s := open(t, m, storage.Config{})
		for range 3 {
			appendOne(t, create(t, s, part), batchOf("a"))
			appendOne(t, create(t, s, other), batchOf("b"))
		}
		synctest.Wait()
		after := gap{m.Clone(), 1}
		closeStore(t, s)
		s = open(t, after, storage.Config{})
		l, _ := s.Log(part)
		var corrupt *storage.CorruptError
		if _, _, err := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 100}); !errors.As(err, &corrupt) {
			t.Errorf("read got %v", err)
		}
		if b := create(t, s, other).Bounds(); b.HighWatermark != 3 {
			t.Errorf("the other log: %+v", b)
		}
		closeStore(t, s)
	})
}

func TestLostAcknowledgementsEndTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &damaged{Memory: storagetest.NewMemory(), failed: make(chan error, 1)}
		s := open(t, m, storage.Config{})
		l := create(t, s, part)
		appendOne(t, l, batchOf("a"))
		woken := false
		l.Watch(func() { woken = true })
		cause := errors.New("sync failed")
		m.failed <- cause
		<-s.Failed()
		synctest.Wait()
		if !errors.Is(s.Err(), cause) || !woken {
			t.Errorf("store says %v, watcher woken: %t", s.Err(), woken)
		}
		heard := make(chan storage.Appended, 1)
		l.Append(batchOf("c"), storage.DurableAck, func(a storage.Appended) { heard <- a })
		if a := <-heard; !errors.Is(a.Err, cause) || !errors.Is(a.Err, storage.ErrFlushFailed) {
			t.Errorf("append got %v", a.Err)
		}
		if _, err := s.NextEpoch(); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("next epoch: %v", err)
		}
		if _, err := s.Create(other, storage.LogConfig{}); err == nil {
			t.Error("a log was created")
		}
		closeStore(t, s)
	})
}

func TestCloseDoesNotWaitForADeadDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &storagetest.Gate{Medium: storagetest.NewMemory()}
		s := open(t, g, storage.Config{})
		l := create(t, s, part)
		g.Shut()
		heard := make(chan storage.Appended, 1)
		l.Append(batchOf("a"), storage.DurableAck, func(a storage.Appended) { heard <- a })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if err := s.Close(ctx); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("close again: %v", err)
		}
		g.Open()
		if a := <-heard; a.Err != nil {
			t.Errorf("append: %v", a.Err)
		}
	})
}

func TestCloseWhileTheJournalIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &neverAgain{Memory: storagetest.NewMemory()}
		s := open(t, m, storage.Config{})
		l := create(t, s, part)
		m.FailFlush(1, false)
		m.broken = true
		heard := make(chan storage.Appended, 1)
		l.Append(batchOf("a"), storage.DurableAck, func(a storage.Appended) { heard <- a })
		if a := <-heard; !errors.Is(a.Err, storage.ErrFlushFailed) {
			t.Errorf("append got %v", a.Err)
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := s.NextEpoch()
			waiting <- err
		}()
		time.Sleep(time.Minute)
		l.Append(batchOf("a"), storage.DurableAck, func(a storage.Appended) { heard <- a })
		if a := <-heard; !errors.Is(a.Err, storage.ErrFlushFailed) {
			t.Errorf("append got %v", a.Err)
		}
		closeStore(t, s)
		if err := <-waiting; !errors.Is(err, storage.ErrClosed) {
			t.Errorf("next epoch: %v", err)
		}
	})
}

// neverAgain cannot be reopened once it is broken.
type neverAgain struct {
	*storagetest.Memory
	broken bool
}

func (n *neverAgain) Reopen(next uint64) error {
	if n.broken {
		return storagetest.ErrFault
	}
	return n.Memory.Reopen(next)
}

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
