package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
)

// Beside has goroutines read two logs in all the ways there are, while batches
// are appended to both, settled, compacted in one and deleted from the other:
// no reader ever meets an error, but that what it asks for is gone. It needs
// processors of its own for each, so it must not run in a bubble.
func Beside(t *testing.T, sub *Subject, rounds int) {
	m, err := sub.Open()
	if err != nil {
		t.Fatal(err)
	}
	w := &besideWork{T: t, keyed: NewKeyed()}
	if w.s, err = storage.Open(context.Background(), m, storage.Config{Log: testLogger(t)}); err != nil {
		t.Fatal(err)
	}
	tidy, short := compacted(), keepAll
	tidy.DeleteRetention = 0
	short.SegmentBytes = 2 << 10
	w.tidy, w.short = w.create(partA, tidy), w.create(partB, short)
	var readers sync.WaitGroup
	for _, read := range []func() error{
		func() error { return w.keyed.Check(w.tidy, nil) },
		func() error { return w.keyed.Check(w.tidy, nil) },
		func() error { return errors.Join(lookups(w.tidy), lookups(w.short)) },
		func() error { return errors.Join(lend(w.tidy), lend(w.short)) },
		func() error { return readCommittedOnce(w.short) },
	} {
		readers.Go(func() {
			for n := 0; !w.over.Load() && !t.Failed(); n++ {
				if err := read(); err != nil && !errors.Is(err, storage.ErrOffsetOutOfRange) {
					t.Errorf("reader, round %d: %v", n, err)
				}
			}
		})
	}
	for i := range rounds {
		w.round(i)
	}
	w.over.Store(true)
	readers.Wait()
	if err := w.s.Clean(context.Background()); err != nil {
		t.Errorf("clean: %v", err)
	}
	if all, _, err := ReadAllGaps(w.tidy); err != nil || len(all) > 60 {
		t.Errorf("%d records of 50 keys are left, %v", len(all), err)
	}
	if err := w.s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

type besideWork struct {
	*testing.T
	s           *storage.Store
	keyed       *Keyed
	tidy, short *storage.Log
	over        atomic.Bool
}

func (w *besideWork) create(p storage.Partition, c storage.LogConfig) *storage.Log {
	w.Helper()
	l, err := w.s.Create(p, c)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// round appends to both logs, and moves, compacts and deletes what there is.
func (w *besideWork) round(i int) {
	var done sync.WaitGroup
	for j := range 20 {
		n := 20*i + j
		changes := []Change{{Key: fmt.Sprint(n % 50), Padding: n % 90}, {Key: fmt.Sprint(7 * n % 50), Tombstone: n%4 == 0}}
		batch, acked := w.keyed.Batch(record.Compression(n%5), changes...)
		w.append(&done, w.tidy, batch, acked)
		w.append(&done, w.short, Values(fmt.Sprint(n), fmt.Sprint(n+1)), func(int64) {})
	}
	w.transaction(&done, i)
	done.Wait()
	var retained sync.WaitGroup
	retained.Go(func() {
		start := make(chan error, 1)
		w.short.DeleteRecords(max(w.short.Bounds().Start, w.short.Bounds().HighWatermark-30), func(_ int64, err error) { start <- err })
		if err := errors.Join(<-start, w.s.Retain()); err != nil {
			w.Errorf("retain: %v", err)
		}
	})
	_ = w.s.Clean(context.Background()) // it fails if a reader needs the tombstones
	retained.Wait()
}

func (w *besideWork) append(done *sync.WaitGroup, l *storage.Log, batch []byte, acked func(base int64)) {
	done.Add(1)
	l.Append(batch, storage.DurableAck, func(a storage.Appended) {
		if a.Err != nil {
			w.Errorf("append: %v", a.Err)
		}
		acked(a.Base)
		done.Done()
	})
}

// outcomes are the values of transactions that commit, and of those that abort.
var outcomes = [2]string{"commits", "aborts"}

// transaction is one that aborts every second time, so that readers need the
// index of those.
func (w *besideWork) transaction(done *sync.WaitGroup, i int) {
	b := Batch{Values: []string{outcomes[i%2]}, ProducerID: 9, Sequence: int32(i), Transactional: true}.Bytes()
	g, _, err := w.short.Verification(9, 0, int32(i))
	if err != nil {
		w.Errorf("verification: %v", err)
		return
	}
	written := make(chan storage.Appended, 1)
	w.short.AppendVerified(b, g, storage.DurableAck, func(a storage.Appended) { written <- a })
	if a := <-written; a.Err != nil {
		w.Errorf("append in a transaction: %v", a.Err)
	}
	done.Add(1)
	w.short.AppendMarker(storage.Marker{ProducerID: 9, Commit: i%2 == 0}, func(err error) {
		if err != nil {
			w.Errorf("marker: %v", err)
		}
		done.Done()
	})
}

var errLookup = errors.New("a lookup is told of a range that it has not asked for")

// lookups asks for records by time, and for space.
func lookups(l *storage.Log) error {
	_, _, first := l.FirstSince(0, true)
	_, _, newest := l.MaxTimestamp()
	if errors.Is(errors.Join(first, newest), storage.ErrOffsetOutOfRange) {
		return errLookup
	}
	_, available := l.Available(l.Bounds().Start, false)
	return errors.Join(first, newest, available)
}

// lend reads the first stretch of a log, and holds it against its batches.
func lend(l *storage.Log) error {
	start := l.Bounds().Start
	st, _ := l.Lend(start, storage.ReadOptions{MaxBytes: 16 << 10})
	if st == nil {
		_, _, err := l.Read(nil, start, storage.ReadOptions{MaxBytes: 16 << 10})
		return err
	}
	defer st.Close()
	var all bytes.Buffer
	buf := make([]byte, 700)
	for all.Len() < st.Size() {
		n, lent, err := st.Next(buf)
		if err != nil || n+len(lent) == 0 {
			return fmt.Errorf("stretch of %d bytes ends after %d: %w", st.Size(), all.Len(), err)
		}
		all.Write(buf[:n])
		all.Write(lent)
	}
	_, err := Records(all.Bytes())
	return err
}

// readCommittedOnce reads what a read_committed consumer sees, from the start.
func readCommittedOnce(l *storage.Log) error {
	all, _, err := ReadCommitted(l, 1<<10)
	for _, r := range all {
		if r.Value == outcomes[1] {
			return errors.Join(err, fmt.Errorf("offset %d is of an aborted transaction", r.Offset))
		}
	}
	return err
}
