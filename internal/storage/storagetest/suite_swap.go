package storagetest

import (
	"errors"
	"sync/atomic"
	"testing/synctest"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
)

var swapTests = []suiteTest{
	{"ReadWhileSegmentsAreReplaced", testReadWhileReplaced},
	{"ReadWhileSegmentsAreDeleted", testReadWhileDeleted},
	{"RetentionWhileCompacting", testRetainWhileCompacting},
	{"RemoveBesideALookup", testRemoveBesideLookup},
	{"DeleteRecordsBesideALookup", testDeleteBesideLookup},
	{"DeleteRecordsBesideARead", testDeleteBesideRead},
}

// everyRead reads a log in all the ways there are.
func (b *bed) everyRead(l *storage.Log) {
	b.Helper()
	bounds := l.Bounds()
	if _, _, err := ReadAllGaps(l); err != nil {
		b.Errorf("read: %v", err)
	}
	for _, committed := range []bool{false, true} {
		if _, ok, err := l.FirstSince(0, committed); err != nil || !ok {
			b.Errorf("first record: %v, %v", ok, err)
		}
	}
	if _, ok, err := l.MaxTimestamp(); err != nil || !ok {
		b.Errorf("newest record: %v, %v", ok, err)
	}
	if data, _, err := l.Read(nil, bounds.Start, storage.ReadOptions{MaxBytes: 1 << 20, Committed: true}); err != nil || len(data) == 0 {
		b.Errorf("read of what is committed: %d bytes, %v", len(data), err)
	}
	if err := lend(l); err != nil {
		b.Error(err)
	}
}

// A manifest without the old segments is durable, and the log does not know
// yet; then it knows, and they are about to be deleted.
func testReadWhileReplaced(b *bed) {
	b.open()
	conf := compacted()
	conf.DeleteRetention = 0
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 60, 40)
	b.endTxn(l, 1, 0, true)
	var rounds atomic.Int32
	b.gate.moved.set(func() { rounds.Add(1); b.everyRead(l) })
	b.clean()
	b.churn(k, l, 60, 40)
	time.Sleep(time.Second)
	b.clean()
	b.gate.moved.set(nil)
	if n := rounds.Load(); n < 4 {
		b.Errorf("%d rounds of moves", n)
	}
	b.check(k, l)
}

func testReadWhileDeleted(b *bed) {
	b.open()
	conf := small()
	l := b.log(partA, conf)
	b.fill(l, 20, record.Uncompressed)
	b.settle()
	conf.Delete, conf.RetentionBytes = true, 600
	l.SetConfig(conf)
	start := l.Bounds().Start
	var held atomic.Int64
	b.gate.moved.set(func() {
		b.everyRead(l)
		data, _, _ := l.Read(nil, start, storage.ReadOptions{MaxBytes: 1, Whole: true})
		held.Store(int64(len(data)))
	})
	if err := b.s.Retain(); err != nil {
		b.Error(err)
	}
	b.gate.moved.set(nil)
	synctest.Wait()
	if now := l.Bounds().Start; now == start || held.Load() == 0 {
		b.Errorf("log starts at %d, was %d; read %d bytes meanwhile", now, start, held.Load())
	}
	b.everyRead(l)
}

// Retention deletes what a pass of compaction is reading. That is no damage:
// the log is compacted later on.
func testRetainWhileCompacting(b *bed) {
	b.conf.CleanInterval = time.Minute
	b.open()
	conf := compacted()
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 60, 40)
	b.settle()
	var looked atomic.Bool
	b.gate.reads.set(func() {
		if looked.Swap(true) {
			return
		}
		b.deleteRecords(l, l.Bounds().End-20)
		if err := b.s.Retain(); err != nil {
			b.Error(err)
		}
	})
	time.Sleep(2 * time.Minute)
	b.gate.reads.set(nil)
	b.churn(k, l, 60, 4)
	b.settle()
	before := l.Size()
	time.Sleep(10 * time.Minute)
	if after := l.Size(); !looked.Load() || after > before/2 {
		b.Errorf("%d of %d bytes are left", after, before)
	}
}

// A partition that is removed while somebody asks for a record by its time is
// closed, not damaged.
func testRemoveBesideLookup(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 20, record.Uncompressed)
	b.settle()
	b.gate.seeks.set(func() {
		b.gate.seeks.set(nil)
		if err := b.s.Remove(partA); err != nil {
			b.Error(err)
		}
	})
	if _, ok, err := l.FirstSince(10500, false); ok || !errors.Is(err, storage.ErrClosed) {
		b.Errorf("first record since: %v, %v", ok, err)
	}
}

// Records are deleted while somebody looks for one by its time. It finds the
// first that is left, and never that what it has seen itself is out of range.
func testDeleteBesideLookup(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.append(l, Batch{Values: []string{"a", "b"}, Timestamp: 99000}.Bytes())
	b.fill(l, 20, record.Uncompressed)
	b.deleteRecords(l, 1)
	b.gate.seeks.set(func() {
		b.gate.seeks.set(nil)
		b.deleteRecords(l, 6)
	})
	if got, ok, err := l.FirstSince(11000, false); err != nil || !ok || got.Offset != 6 {
		b.Errorf("first record since: %+v, %v, %v", got, ok, err)
	}

	l = b.log(partB, small())
	b.append(l, Batch{Values: []string{"a", "b"}, Timestamp: 99000}.Bytes())
	b.fill(l, 20, record.Uncompressed)
	b.deleteRecords(l, 1) // the batch with the newest timestamp has one record left
	b.gate.reads.set(func() {
		b.gate.reads.set(nil)
		b.deleteRecords(l, 20)
	})
	if got, ok, err := l.MaxTimestamp(); err != nil || !ok || got.Offset != 41 {
		b.Errorf("newest record: %+v, %v, %v", got, ok, err)
	}
}

// A segment is deleted while a reader is on its way to it. The reader hears
// that, and does not get what follows behind.
func testDeleteBesideRead(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 20, record.Uncompressed)
	b.gate.reads.set(func() {
		b.gate.reads.set(nil)
		b.deleteRecords(l, 20)
		if err := b.s.Retain(); err != nil {
			b.Error(err)
		}
	})
	if got, _, err := l.Read(nil, 2, storage.ReadOptions{MaxBytes: 1 << 20}); !errors.Is(err, storage.ErrOffsetOutOfRange) || len(got) > 0 {
		b.Errorf("read of what is deleted: %d bytes, %v", len(got), err)
	}
}
