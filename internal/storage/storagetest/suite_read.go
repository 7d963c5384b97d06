package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

var readTests = []suiteTest{
	{"ReadsFromAnyOffset", testReadAnywhere},
	{"ReadsWholeBatchesWithinLimits", testReadLimits},
	{"LooksUpTimestamps", testLookup},
	{"RetentionBySize", testRetainBytes},
	{"RetentionByTime", testRetainAge},
	{"DeleteRecords", testDeleteRecords},
}

// fill appends n batches of two records, value i of each being its offset,
// and settles all but the last few. Timestamps rise by 1000 from batch to batch.
func (b *bed) fill(l *storage.Log, n int, compression record.Compression) {
	b.Helper()
	for i := range n {
		batch := Batch{
			Values:    []string{fmt.Sprint(2 * i), fmt.Sprint(2*i + 1)},
			Timestamp: int64(10000 + 1000*i), Compression: compression,
		}
		b.append(l, batch.Bytes())
		if i == n-4 {
			b.settle()
		}
	}
}

// small is keepAll with segments of a few batches.
func small() storage.LogConfig {
	c := keepAll
	c.SegmentBytes = 500
	return c
}

func testReadAnywhere(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 30, record.Uncompressed)
	for range 2 {
		for offset := range int64(60) {
			data, info, err := l.Read([]byte("head"), offset, storage.ReadOptions{MaxBytes: 1 << 20})
			if err != nil || string(data[:4]) != "head" || info.HighWatermark != 60 {
				b.Fatalf("read %d: %+v, %v", offset, info, err)
			}
			got, err := Records(data[4:])
			if err != nil || len(got) == 0 || got[0].Offset != offset&^1 {
				b.Fatalf("read %d: %v, %v", offset, got, err)
			}
			for _, r := range got {
				if r.Value != fmt.Sprint(r.Offset) {
					b.Fatalf("read %d: %+v", offset, r)
				}
			}
			if n, err := l.Available(offset, true); n <= 0 || err != nil {
				b.Errorf("available from %d: %d, %v", offset, n, err)
			}
		}
		for offset, want := range map[int64]error{60: nil, 61: storage.ErrOffsetOutOfRange, -1: storage.ErrOffsetOutOfRange} {
			data, info, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 1 << 20})
			if !errors.Is(err, want) || len(data) != 0 || info.End != 60 {
				b.Errorf("read %d: %d bytes, %+v, %v", offset, len(data), info, err)
			}
			if n, err := l.Available(offset, false); n != 0 || !errors.Is(err, want) {
				b.Errorf("available from %d: %d, %v", offset, n, err)
			}
		}
		b.restart()
		l = b.log(partA, small())
	}
}

func testReadLimits(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	size := len(Values("a", "b"))
	for i := range 10 {
		b.append(l, Values("a", "b"))
		if i == 5 {
			b.settle()
		}
	}
	for _, offset := range []int64{0, 15} { // in a segment, in the tail
		for _, c := range []struct {
			o    storage.ReadOptions
			want int
		}{
			{storage.ReadOptions{MaxBytes: size}, size},
			{storage.ReadOptions{MaxBytes: 2*size + 1}, 2 * size},
			{storage.ReadOptions{MaxBytes: size - 1}, 0},
			{storage.ReadOptions{MaxBytes: 1, Whole: true}, size},
			{storage.ReadOptions{MaxBytes: 0, Whole: true, Committed: true}, size},
			{storage.ReadOptions{MaxBytes: 0}, 0},
		} {
			data, _, err := l.Read(nil, offset, c.o)
			if len(data) != c.want || err != nil {
				b.Errorf("read %d %+v: %d bytes, want %d, %v", offset, c.o, len(data), c.want, err)
			}
		}
	}
}

func testLookup(b *bed) {
	b.open()
	l := b.log(partA, small())
	if _, ok, err := l.FirstSince(0, false); ok || err != nil {
		b.Errorf("found a record in an empty log, %v", err)
	}
	if _, ok, err := l.MaxTimestamp(); ok || err != nil {
		b.Errorf("found a largest timestamp in an empty log, %v", err)
	}
	b.fill(l, 20, record.Snappy)
	epoch := b.s.Epoch()
	check := func(ts int64, committed bool, want storage.Found, found bool) {
		b.Helper()
		got, ok, err := l.FirstSince(ts, committed)
		if diff := cmp.Diff(want, got); diff != "" || ok != found || err != nil {
			b.Errorf("since %d: %v %v %s", ts, ok, err, diff)
		}
	}
	for range 2 {
		for i := range int64(20) {
			check(10000+1000*i, false, storage.Found{Offset: 2 * i, Timestamp: 10000 + 1000*i, Epoch: epoch}, true)
			check(10001+1000*i, true, storage.Found{Offset: 2*i + 1, Timestamp: 10001 + 1000*i, Epoch: epoch}, true)
		}
		check(0, false, storage.Found{Offset: 0, Timestamp: 10000, Epoch: epoch}, true)
		check(29002, false, storage.Found{}, false)
		got, ok, err := l.MaxTimestamp()
		if diff := cmp.Diff(storage.Found{Offset: 39, Timestamp: 29001, Epoch: epoch}, got); diff != "" || !ok || err != nil {
			b.Errorf("largest timestamp: %v %v %s", ok, err, diff)
		}
		b.settle()
	}
	b.append(l, Batch{Values: []string{"x", "y"}, Timestamp: 15000, Compression: record.Gzip}.Bytes())
	if got, _, err := l.MaxTimestamp(); got.Offset != 39 || err != nil {
		b.Errorf("largest timestamp: %+v, %v", got, err)
	}
	b.deleteRecords(l, 21)
	check(20000, false, storage.Found{Offset: 21, Timestamp: 20001, Epoch: epoch}, true)
	b.deleteRecords(l, 40)
	if got, ok, err := l.MaxTimestamp(); got != (storage.Found{Offset: 41, Timestamp: 15001, Epoch: epoch}) || !ok || err != nil {
		b.Errorf("largest timestamp behind the log start: %+v, %t, %v", got, ok, err)
	}
}

func testRetainBytes(b *bed) {
	b.open()
	conf := small()
	l := b.log(partA, conf)
	b.fill(l, 40, record.Uncompressed)
	before := l.Size()
	if err := b.s.Retain(); err != nil || l.Bounds().Start != 0 {
		b.Errorf("start %d, %v", l.Bounds().Start, err)
	}
	conf.Delete, conf.RetentionBytes = true, before/2
	l.SetConfig(conf)
	if err := b.s.Retain(); err != nil {
		b.Error(err)
	}
	size, start := l.Size(), l.Bounds().Start
	if size < before/2 || size > before/2+500 || start == 0 {
		b.Errorf("%d of %d bytes are left, log starts at %d", size, before, start)
	}
	b.checkStart(l, start)
	b.restart()
	b.checkStart(b.log(partA, conf), start)
}

// checkStart wants a log that begins at start and is readable from there.
func (b *bed) checkStart(l *storage.Log, start int64) {
	b.Helper()
	if got := l.Bounds().Start; got != start {
		b.Errorf("log starts at %d, want %d", got, start)
	}
	for i, v := range b.values(l) {
		if v != fmt.Sprint(start+int64(i)) {
			b.Fatalf("record %d is %q", start+int64(i), v)
		}
	}
	if start > 0 {
		_, info, err := l.Read(nil, start-1, storage.ReadOptions{MaxBytes: 1})
		if !errors.Is(err, storage.ErrOffsetOutOfRange) || info.Start != start {
			b.Errorf("read below the start: %+v, %v", info, err)
		}
	}
}

func testRetainAge(b *bed) {
	b.open()
	conf := small()
	conf.Delete, conf.RetentionAge, conf.RetentionBytes = true, time.Hour, -1
	l := b.log(partA, conf)
	conf.RetentionAge = 3 * time.Hour
	l2 := b.log(partB, conf)
	for i := range 30 {
		batch := Batch{Values: []string{fmt.Sprint(i)}, Timestamp: time.Now().UnixMilli()}.Bytes()
		b.append(l, batch)
		b.append(l2, batch)
	}
	time.Sleep(30 * time.Minute)
	if start := l.Bounds().Start; start != 0 {
		b.Errorf("log starts at %d after half an hour", start)
	}
	time.Sleep(time.Hour) // the store's own passes delete
	if got := l.Bounds(); got.Start != 30 || got.HighWatermark != 30 || l.Size() != 0 {
		b.Errorf("after the retention time: %+v, %d bytes", got, l.Size())
	}
	b.checkStart(l2, 0)
	b.append(l, Values("30"))
	b.restart()
	b.checkStart(b.log(partA, conf), 30)
}

// deleteRecords waits for the new log start.
func (b *bed) deleteRecords(l *storage.Log, before int64) int64 {
	b.Helper()
	start, err := b.tryDeleteRecords(l, before)
	if err != nil {
		b.Errorf("delete records before %d: %v", before, err)
	}
	return start
}

func (b *bed) tryDeleteRecords(l *storage.Log, before int64) (int64, error) {
	a := &answer{}
	l.DeleteRecords(before, func(start int64, err error) { a.set(storage.Appended{Start: start, Err: err}) })
	got := b.wait(a)
	return got.Start, got.Err
}

func testDeleteRecords(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 20, record.Uncompressed)
	for _, c := range []struct{ before, want int64 }{{5, 5}, {3, 5}, {21, 21}, {37, 37}} {
		if start := b.deleteRecords(l, c.before); start != c.want {
			b.Errorf("before %d: start %d", c.before, start)
		}
		b.checkStart(l, c.want)
		b.restart()
		l = b.log(partA, small())
		b.checkStart(l, c.want)
	}
	if _, err := b.tryDeleteRecords(l, 41); !errors.Is(err, storage.ErrOffsetOutOfRange) {
		b.Errorf("beyond the end: %v", err)
	}
	if err := b.s.Retain(); err != nil {
		b.Error(err)
	}
	if size := l.Size(); size > 1000 {
		b.Errorf("%d bytes are left", size)
	}
	if start := b.deleteRecords(l, -1); start != 40 {
		b.Errorf("before the high watermark: start %d", start)
	}
	if err := errors.Join(b.s.Settle(context.Background()), b.s.Retain()); err != nil {
		b.Error(err)
	}
	synctest.Wait()
	if size := l.Size(); size != 0 {
		b.Errorf("%d bytes are left of an empty log", size)
	}
	b.restart()
	l = b.log(partA, small())
	b.checkStart(l, 40)
	if got := b.append(l, Values("40")); got.Base != 40 {
		b.Errorf("next offset %d", got.Base)
	}
}
