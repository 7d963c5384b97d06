package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

var compactTests = []suiteTest{
	{"CompactionKeepsTheLastOfEachKey", testCompaction},
	{"CompactionLeavesOffsetsAndTimes", testCompactedLookups},
	{"TombstonesGoAfterTheirTime", testTombstones},
	{"CompactionIsDueByItself", testCompactionDue},
	{"RecordsAreYoungForAWhile", testMinimumLag},
	{"CompactionKeepsSequences", testCompactedProducer},
	{"SmallTableOfKeys", testSmallTable},
	{"ReadWhileCompacting", testReadWhileCompacting},
	{"TombstonesStayForAReader", testHold},
	{"RetentionOfACompactedLog", testCompactDelete},
	{"RecordsFromBeforeCompaction", testKeylessRecords},
	{"CompactionFails", testCompactionFails},
	{"InternalLogsAreCompactedEarly", testInternalCompaction},
}

// compacted is the configuration of a compacted log with small segments.
func compacted() storage.LogConfig {
	c := keepAll
	c.Compact, c.SegmentBytes, c.DirtyRatio, c.DeleteRetention = true, 4<<10, 0.5, time.Hour
	return c
}

// change appends changes, all in one batch.
func (b *bed) change(k *Keyed, l *storage.Log, codec record.Compression, changes ...Change) storage.Appended {
	b.Helper()
	batch, acked := k.Batch(codec, changes...)
	got := b.append(l, batch)
	acked(got.Base)
	return got
}

// churn appends n batches of three changes to some of many keys.
func (b *bed) churn(k *Keyed, l *storage.Log, n, keys int) {
	b.Helper()
	for i := range n {
		var changes []Change
		for j := range 3 {
			changes = append(changes, Change{Key: fmt.Sprint((7*i + 3*j) % keys), Padding: i % 50})
		}
		b.change(k, l, record.Compression(i%5), changes...)
	}
}

func (b *bed) clean() {
	b.Helper()
	if err := b.s.Clean(context.Background()); err != nil {
		b.Fatalf("clean: %v", err)
	}
}

func (b *bed) check(k *Keyed, l *storage.Log) {
	b.Helper()
	if err := k.Check(l, nil); err != nil {
		b.Error(err)
	}
}

// records counts what is in the log.
func (b *bed) records(l *storage.Log) int {
	b.Helper()
	all, _, err := ReadAllGaps(l)
	if err != nil {
		b.Fatal(err)
	}
	return len(all)
}

// ReadAllGaps is ReadAll of a log that may have been compacted.
func ReadAllGaps(l *storage.Log) (all []Record, bounds storage.Bounds, err error) {
	bounds = l.Bounds()
	for offset := bounds.Start; offset < bounds.HighWatermark; {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 4 << 10, Whole: true})
		if err != nil || len(data) == 0 {
			return all, bounds, fmt.Errorf("read offset %d: %d bytes, %w", offset, len(data), err)
		}
		got, err := Records(data)
		if err != nil {
			return all, bounds, err
		}
		all = append(all, got...)
		for batch := range record.Batches(data) {
			offset = record.NextOffset(batch)
		}
	}
	return all, bounds, nil
}

func testCompaction(b *bed) {
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	for round := range 4 {
		b.churn(k, l, 60, 40)
		if round == 2 {
			b.churn(k, l, 60, 400)
		}
		before := l.Bounds()
		b.clean()
		b.check(k, l)
		if diff := cmp.Diff(before, l.Bounds()); diff != "" {
			b.Error(diff)
		}
		want := 40
		if round >= 2 {
			want = 400
		}
		if n := b.records(l); n > want {
			b.Errorf("round %d: %d records of at most %d keys", round, n, want)
		}
		if segments := b.gate.segments(partA); segments > 1+int(l.Size()/(2<<10)) {
			b.Errorf("%d bytes in %d segments", l.Size(), segments)
		}
		if round%2 == 1 {
			b.restart()
			l = b.log(partA, compacted())
			b.check(k, l)
		}
	}
	size := l.Size()
	b.clean()
	if l.Size() != size {
		b.Errorf("compacting again left %d of %d bytes", l.Size(), size)
	}
}

func testCompactedLookups(b *bed) {
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	b.change(k, l, record.Uncompressed, Change{Key: "keep"}) // offset 0, time 1001
	first := b.s.Epoch()
	b.churn(k, l, 30, 5)
	b.restart()
	l = b.log(partA, compacted())
	boundary := l.Bounds().End
	b.churn(k, l, 30, 5)
	end := l.Bounds().End
	b.clean()
	all, _, err := ReadAllGaps(l)
	if err != nil || len(all) != 6 {
		b.Fatalf("%d records, %v", len(all), err)
	}
	if e, at := l.EndOfEpoch(first); e != first || at != boundary {
		b.Errorf("epoch %d ends at %d, want %d at %d", e, at, first, boundary)
	}
	for offset := range end {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 1, Whole: true})
		if err != nil || len(data) == 0 || record.NextOffset(data) <= offset {
			b.Fatalf("read in a hole at %d: %d bytes, %v", offset, len(data), err)
		}
		if n, err := l.Available(offset, false); n <= 0 || err != nil {
			b.Errorf("nothing available at %d: %v", offset, err)
		}
		i := slices.IndexFunc(all, func(r Record) bool { return r.Offset >= offset })
		h, err := record.ParseHeader(data)
		if err != nil || i < 0 || h.BaseOffset > all[i].Offset || h.LastOffset() < all[i].Offset {
			b.Errorf("read at %d gives %+v, the next record is %d of %+v", offset, h, i, all)
		}
	}
	for ts := int64(1000); ts < int64(1000+k.n+2); ts++ {
		got, ok, err := l.FirstSince(ts, false)
		if err != nil {
			b.Fatal(err)
		}
		i := slices.IndexFunc(all, func(r Record) bool { return stampOf(r) >= ts })
		if ok != (i >= 0) || ok && got.Offset != all[i].Offset {
			b.Errorf("time %d is at %+v (%t), want number %d of %+v", ts, got, ok, i, all)
		}
	}
	if got, ok, err := l.MaxTimestamp(); !ok || err != nil || got.Offset != end-1 {
		b.Errorf("largest timestamp at %+v, %t, %v", got, ok, err)
	}
}

// stampOf is the timestamp that a Keyed record has.
func stampOf(r Record) int64 {
	var n int64
	if _, err := fmt.Sscanf(r.Value, "%d:", &n); err != nil {
		return -1
	}
	return 1000 + n
}

func testTombstones(b *bed) {
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	b.churn(k, l, 20, 10)
	b.change(k, l, record.LZ4, Change{Key: "1", Tombstone: true}, Change{Key: "2"}, Change{Key: "3", Tombstone: true})
	b.change(k, l, record.Uncompressed, Change{Key: "4", Tombstone: true})
	b.clean()
	b.check(k, l)
	if n := b.records(l); n != 10 {
		b.Errorf("%d records while tombstones stay, want 10", n)
	}
	time.Sleep(59 * time.Minute)
	b.restart()
	l = b.log(partA, compacted())
	b.clean()
	if n := b.records(l); n != 10 {
		b.Errorf("%d records before the tombstones' time, want 10", n)
	}
	time.Sleep(2 * time.Minute)
	b.clean()
	b.check(k, l)
	if n := b.records(l); n != 7 {
		b.Errorf("%d records after the tombstones' time, want 7", n)
	}
	bounds := l.Bounds()
	b.restart()
	if got := b.log(partA, compacted()).Bounds(); got.End != bounds.End {
		b.Errorf("the log ends at %d after a restart, at %d before", got.End, bounds.End)
	}
}

func testCompactionDue(b *bed) {
	conf := compacted()
	conf.SegmentAge, conf.MaxCompactionLag = 24*time.Hour, 2*time.Hour
	b.open()
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 200, 10)
	b.settle()
	all := b.records(l)
	time.Sleep(time.Minute)
	left := b.records(l)
	if left >= all || left <= 10 {
		b.Errorf("%d of %d records are left: want all closed segments compacted, the last one not", left, all)
	}
	b.check(k, l)
	time.Sleep(2 * time.Hour)
	if n := b.records(l); n != 10 {
		b.Errorf("%d records after the largest lag", n)
	}
	// A little that is new is not worth a pass.
	conf.MaxCompactionLag = 0
	l.SetConfig(conf)
	b.change(k, l, record.Uncompressed, Change{Key: "0"})
	time.Sleep(25 * time.Hour)
	if n := b.records(l); n != 11 {
		b.Errorf("%d records, want 11: the new one is a small share", n)
	}
	// Tombstones go without anything new.
	conf.DirtyRatio = 0
	l.SetConfig(conf)
	b.change(k, l, record.Uncompressed, Change{Key: "0", Tombstone: true})
	time.Sleep(28 * time.Hour)
	if n := b.records(l); n != 9 {
		b.Errorf("%d records, want 9", n)
	}
	b.check(k, l)
}

func testMinimumLag(b *bed) {
	conf := compacted()
	conf.MinCompactionLag = time.Hour
	b.conf.Now = func() time.Time { return time.UnixMilli(2000).Add(time.Since(b.began)) }
	b.open()
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 200, 10)
	all := b.records(l)
	b.clean()
	if n := b.records(l); n != all {
		b.Errorf("%d of %d young records are left", n, all)
	}
	time.Sleep(2 * time.Hour)
	b.clean()
	if n := b.records(l); n != 10 {
		b.Errorf("%d records are left after their time", n)
	}
	b.check(k, l)
}

func testCompactedProducer(b *bed) {
	b.open()
	l := b.log(partA, compacted())
	send := func(sequence int32, key string) storage.Appended {
		var builder record.Builder
		builder.Reset(nil)
		builder.SetProducer(9, 0, sequence)
		builder.Append(1000, []byte(key), fmt.Appendf(nil, "%d", sequence))
		return b.wait(b.send(l, builder.Finish(), storage.DurableAck))
	}
	for i := range int32(20) {
		send(i, "a")
	}
	last := send(20, "b")
	var builder record.Builder
	builder.Reset(nil)
	builder.Append(1000, []byte("b"), []byte("somebody else"))
	b.append(l, builder.Finish())
	for range 2 {
		b.clean()
		all, bounds, err := ReadAllGaps(l)
		if err != nil || len(all) != 2 || bounds.End != 22 {
			b.Errorf("records %+v, log %+v, %v", all, bounds, err)
		}
		data, _, err := l.Read(nil, last.Base, storage.ReadOptions{MaxBytes: 1, Whole: true})
		h, _ := record.ParseHeader(data)
		if err != nil || h.BaseOffset != last.Base || h.Count != 0 || h.ProducerID != 9 || h.LastSequence() != 20 {
			b.Errorf("the producer's last batch is %+v, %v", h, err)
		}
		if again := send(20, "b"); again.Err != nil || again.Base != last.Base {
			b.Errorf("a duplicate is answered with %+v, want %+v", again, last)
		}
		if gap := send(25, "b"); !errors.Is(gap.Err, storage.ErrOutOfOrderSequence) {
			b.Errorf("a gap is answered with %+v", gap)
		}
		b.restart()
		l = b.log(partA, compacted())
	}
}

func testSmallTable(b *bed) {
	b.conf.CleanMemory = 1 // the smallest: 921 keys
	b.open()
	conf := compacted()
	conf.SegmentBytes = 64 << 10
	l, k := b.log(partA, conf), NewKeyed()
	for range 2 {
		for i := range 100 {
			var changes []Change
			for j := range 50 {
				changes = append(changes, Change{Key: fmt.Sprint(i*50 + j)})
			}
			b.change(k, l, record.Compression(i%5), changes...)
		}
	}
	b.clean()
	if n := b.records(l); n != 5000 {
		b.Errorf("%d records of 5000 keys", n)
	}
	b.check(k, l)
}

func testReadWhileCompacting(b *bed) {
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	b.churn(k, l, 60, 20)
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		err := k.Check(l, func() {
			switch rnd.IntN(10) {
			case 0:
				b.clean()
			case 1:
				b.churn(k, l, 2, 20)
			case 2:
				b.change(k, l, record.Zstd, Change{Key: fmt.Sprint(rnd.IntN(20)), Tombstone: true})
			}
		})
		if err != nil {
			b.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func testHold(b *bed) {
	conf := compacted()
	conf.DeleteRetention = 0
	b.open()
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 20, 10)
	b.change(k, l, record.Uncompressed, Change{Key: "1", Tombstone: true})
	release := l.Hold()
	for range 3 {
		b.clean()
		time.Sleep(time.Minute)
	}
	if n := b.records(l); n != 10 {
		b.Errorf("%d records while somebody reads, want 10", n)
	}
	release()
	b.clean()
	b.clean()
	if n := b.records(l); n != 9 {
		b.Errorf("%d records when nobody reads, want 9", n)
	}
	b.check(k, l)
}

func testCompactDelete(b *bed) {
	conf := compacted()
	conf.Delete, conf.RetentionBytes = true, 6<<10
	b.open()
	l, k := b.log(partA, conf), NewKeyed()
	for range 5 {
		b.churn(k, l, 200, 600)
		b.clean()
		if err := b.s.Retain(); err != nil {
			b.Fatal(err)
		}
		if size := l.Size(); size > 6<<10+4<<10 {
			b.Errorf("%d bytes are left", size)
		}
		bounds := l.Bounds()
		if bounds.Start == 0 {
			b.Error("nothing was deleted")
		}
		b.restart()
		l = b.log(partA, conf)
		if got := l.Bounds().Start; got != bounds.Start {
			b.Errorf("log starts at %d after a restart, at %d before", got, bounds.Start)
		}
		if _, _, err := ReadAllGaps(l); err != nil {
			b.Error(err)
		}
	}
}

func testKeylessRecords(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 10, record.Uncompressed)
	l.SetConfig(compacted())
	k := NewKeyed()
	b.churn(k, l, 10, 5)
	b.clean()
	b.check(k, l)
	if n := b.records(l); n != 5 {
		b.Errorf("%d records, want 5: those without a key cannot stay", n)
	}
}

func testInternalCompaction(b *bed) {
	conf := compacted()
	conf.Internal, conf.SegmentBytes = true, 100<<20
	b.open()
	l, k := b.log(partA, conf), NewKeyed()
	for i := range 100 {
		b.change(k, l, record.Uncompressed, Change{Key: fmt.Sprint(i % 3), Padding: 100 << 10})
		if i == 50 {
			b.settle()
			time.Sleep(time.Minute)
			if n := b.records(l); n != 51 {
				b.Errorf("%d of 51 records in the middle", n)
			}
		}
	}
	b.settle()
	time.Sleep(time.Minute)
	if n := b.records(l); n != 3 {
		b.Errorf("%d records, want 3", n)
	}
	b.check(k, l)
}

func testCompactionFails(b *bed) {
	if b.sub.FailSettle == nil {
		b.Skip("rounds cannot be made to fail")
	}
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	b.churn(k, l, 60, 20)
	b.settle()
	b.sub.FailSettle()
	if err := b.s.Clean(context.Background()); err == nil {
		b.Error("a pass succeeds although its swap fails")
	}
	b.check(k, l)
	b.churn(k, l, 5, 20)
	b.clean()
	b.check(k, l)
	if n := b.records(l); n != 20 {
		b.Errorf("%d records, want 20", n)
	}
	synctest.Wait()
	b.restart()
	b.check(k, b.log(partA, compacted()))
}
