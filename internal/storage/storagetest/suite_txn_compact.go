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

var txnCompactTests = []suiteTest{
	{"CompactionDropsAbortedRecords", testCompactAborted},
	{"MarkersStayAsLongAsTheirRecords", testMarkerRetention},
	{"MarkersStayForAReader", testMarkerHold},
	{"CompactionStopsAtTheStableOffset", testCompactStable},
	{"CommittedReaderGetsToTheStableOffset", testCompactHole},
	{"TransactionalOffsetsStaySmall", testCompactOffsets},
	{"AbortedTransactionsOfASplitSegment", testCompactSplit},
	{"BatchesAndAbortedTransactionsAreOfOneMoment", testCompactBesideRead},
}

// keysOf is a batch of values that are their keys, of a transaction if id is not 0.
func keysOf(id int64, sequence int32, keys ...string) []byte {
	return Batch{Values: keys, ProducerID: id, Sequence: sequence, Transactional: id > 0, Keys: true}.Bytes()
}

// write appends a batch, of a transaction that is verified if it has one.
func (b *bed) write(l *storage.Log, batch []byte) {
	b.Helper()
	if got := b.wait(b.sendVerified(l, batch)); got.Err != nil {
		b.Fatal(got.Err)
	}
}

// markers counts the markers in a log.
func (b *bed) markers(l *storage.Log) (n int) {
	b.Helper()
	for offset := l.Bounds().Start; offset < l.Bounds().HighWatermark; {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 4 << 10, Whole: true})
		if err != nil || len(data) == 0 {
			b.Fatalf("read offset %d: %d bytes, %v", offset, len(data), err)
		}
		for batch := range record.Batches(data) {
			if _, ok, err := record.MarkerOf(batch); ok && err == nil {
				n++
			}
			offset = record.NextOffset(batch)
		}
	}
	return n
}

// everything is what a reader of all records finds.
func (b *bed) everything(l *storage.Log) []string {
	b.Helper()
	all, _, err := ReadAllGaps(l)
	if err != nil {
		b.Fatal(err)
	}
	values := []string{}
	for _, r := range all {
		values = append(values, r.Value)
	}
	return values
}

func (b *bed) wantEverything(l *storage.Log, want ...string) {
	b.Helper()
	if diff := cmp.Diff(append([]string{}, want...), b.everything(l)); diff != "" {
		b.Errorf("records (-want +got):\n%s", diff)
	}
}

func testCompactAborted(b *bed) {
	b.open()
	l := b.log(partA, compacted())
	b.write(l, keysOf(7, 0, "a", "b"))
	b.endTxn(l, 7, 0, true)
	b.write(l, keysOf(7, 2, "a", "c"))
	b.write(l, keysOf(8, 0, "b", "d"))
	b.endTxn(l, 7, 0, false)
	b.endTxn(l, 8, 0, true)
	b.write(l, keysOf(0, 0, "e"))
	b.wantCommitted(l, "a", "b", "b", "d", "e")
	b.clean()
	for range 2 {
		b.wantEverything(l, "a", "b", "d", "e")
		b.wantCommitted(l, "a", "b", "d", "e")
		b.wantStable(l, 10)
		if n := b.markers(l); n != 3 {
			b.Errorf("%d markers are left, want 3", n)
		}
		b.restart()
		l = b.log(partA, compacted())
	}
	// The sequence is not forgotten with the records.
	b.wantOutcome(l, keysOf(7, 2, "a", "c"), "duplicate of 3")
}

func testMarkerRetention(b *bed) {
	b.open()
	l := b.log(partA, compacted())
	later := func(wait time.Duration) {
		b.Helper()
		time.Sleep(wait)
		b.restart()
		l = b.log(partA, compacted())
		b.clean()
	}
	want := func(markers int, when string) {
		b.Helper()
		if n := b.markers(l); n != markers {
			b.Errorf("%s: %d markers, want %d", when, n, markers)
		}
	}
	b.write(l, keysOf(7, 0, "a", "b"))
	b.endTxn(l, 7, 0, true)
	b.write(l, keysOf(8, 0, "c"))
	b.endTxn(l, 8, 0, false)
	b.write(l, keysOf(8, 1, "d")) // the batches before are no longer their producers' last
	b.endTxn(l, 8, 0, true)
	b.write(l, keysOf(7, 2, "e"))
	b.endTxn(l, 7, 0, true)
	b.write(l, keysOf(0, 0, "f"))
	b.clean()
	want(4, "at once")
	b.wantEverything(l, "a", "b", "d", "e", "f")
	later(50 * time.Minute)
	want(4, "before the time of the aborted transaction's marker")
	later(11 * time.Minute)
	want(3, "behind it")
	if got := b.abortedAt(l, 0, 1<<20); got != nil {
		b.Errorf("listed although its marker is gone: %+v", got)
	}
	b.write(l, keysOf(0, 0, "a"))
	b.clean()
	want(3, "one of two records is left")
	b.write(l, keysOf(0, 0, "b"))
	b.clean()
	want(3, "no record is left since just now")
	later(59 * time.Minute)
	want(3, "no record is left for 59 minutes")
	later(2 * time.Minute)
	want(2, "no record is left for an hour")
	later(20 * time.Hour)
	want(2, "records are there")
	b.wantCommitted(l, "d", "e", "f", "a", "b")
}

func testMarkerHold(b *bed) {
	b.open()
	l := b.log(partA, compacted())
	b.write(l, keysOf(7, 0, "a"))
	b.endTxn(l, 7, 0, true)
	b.write(l, keysOf(7, 1, "a"))
	b.endTxn(l, 7, 0, true)
	b.write(l, keysOf(0, 0, "a"))
	b.write(l, keysOf(7, 2, "b"))
	b.endTxn(l, 7, 0, true)
	b.clean()
	release := l.Hold()
	time.Sleep(2 * time.Hour)
	b.clean()
	if n := b.markers(l); n != 3 {
		b.Errorf("%d markers while somebody reads, want 3", n)
	}
	release()
	// Somebody begins to read while the pass that would take them is on its way.
	b.gate.wrote.set(func() {
		b.gate.wrote.set(nil)
		release = l.Hold()
	})
	if err := b.s.Clean(b.Context()); err == nil {
		b.Error("markers were taken from a reader")
	}
	if n := b.markers(l); n != 3 {
		b.Errorf("%d markers while somebody reads, want 3", n)
	}
	release()
	b.clean()
	if n := b.markers(l); n != 1 {
		b.Errorf("%d markers, want 1", n)
	}
	b.wantCommitted(l, "a", "b")
}

func testCompactStable(b *bed) {
	b.open()
	conf := compacted()
	conf.SegmentBytes = 500
	l, k := b.log(partA, conf), NewKeyed()
	b.churn(k, l, 20, 3)
	first := l.Bounds().End
	b.write(l, keysOf(7, 0, "x"))
	b.churn(k, l, 20, 3)
	end := l.Bounds().End
	b.clean()
	below, above := 0, 0
	all, _, err := ReadAllGaps(l)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range all {
		if r.Offset < first {
			below++
		} else {
			above++
		}
	}
	if below >= 30 || above != int(end-first) {
		b.Errorf("%d records below the last stable offset, %d of %d above", below, above, end-first)
	}
	b.endTxn(l, 7, 0, false)
	b.clean()
	if n := len(b.everything(l)); n != 3 {
		b.Errorf("%d records in the end, want 3", n)
	}
	b.check(k, l)
}

func testCompactHole(b *bed) {
	b.open()
	conf := compacted()
	conf.SegmentBytes = 100 // a batch each
	l := b.log(partA, conf)
	for range 4 {
		b.write(l, keysOf(0, 0, "a"))
	}
	b.write(l, keysOf(7, 0, "a"))
	b.endTxn(l, 7, 0, false)
	b.write(l, keysOf(8, 0, "a"))
	b.settle()
	b.clean()
	b.wantStable(l, 6)
	b.wantCommitted(l, "a")
	for offset := range int64(6) {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 1, Whole: true, Committed: true})
		if n, _ := l.Available(offset, true); n == 0 || len(data) == 0 || err != nil {
			b.Errorf("at offset %d: %d bytes available, %d read, %v", offset, n, len(data), err)
		}
	}
	b.endTxn(l, 8, 0, true)
	b.clean()
	b.wantCommitted(l, "a")
}

// Offsets are committed for years to the same keys, in transactions (KAFKA-8335).
func testCompactOffsets(b *bed) {
	b.open()
	conf := compacted()
	conf.Internal, conf.SegmentBytes, conf.DirtyRatio = true, 4<<10, 0
	l := b.log(partA, conf)
	w := l.Writer(b.s.Epoch())
	write := func(batch []byte) {
		b.Helper()
		a := &answer{}
		if _, err := w.Append(batch, func(err error) { a.set(storage.Appended{Err: err}) }); err != nil {
			b.Fatal(err)
		}
		if got := b.wait(a); got.Err != nil {
			b.Fatal(got.Err)
		}
	}
	var largest int64
	for round := range 12 {
		for i := range 100 {
			id := int64(1 + i%3)
			var builder record.Builder
			builder.Reset(nil)
			builder.SetProducer(id, int16(round), record.None)
			builder.SetTransactional()
			builder.Append(time.Now().UnixMilli(), fmt.Appendf(nil, "key %d", i%5), fmt.Appendf(nil, "%d", round))
			write(builder.Finish())
			if i%10 == 9 {
				write(storage.Marker{ProducerID: id, ProducerEpoch: int16(round), Commit: i%20 == 9}.Batch(time.Now().UnixMilli()))
			}
		}
		for id := range int64(3) {
			write(storage.Marker{ProducerID: id + 1, ProducerEpoch: int16(round), Commit: true}.Batch(time.Now().UnixMilli()))
		}
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		b.clean()
		if round > 1 {
			largest = max(largest, l.Size())
		}
	}
	if largest > 6<<10 {
		b.Errorf("the log grows to %d bytes, 5 keys are in it", largest)
	}
	all, _, err := ReadCommitted(l, 1<<20)
	if err != nil || len(all) != 5 {
		b.Errorf("a reader finds %+v, %v", all, err)
	}
}

// The table of keys is full in the middle of a segment, with transactions open
// there. What lies behind is split, and its aborted records stay until the next
// pass.
func testCompactSplit(b *bed) {
	b.conf.CleanMemory = 1 // 921 keys
	b.open()
	conf := compacted()
	conf.SegmentBytes = 1 << 20
	l := b.log(partA, conf)
	sequences := map[int64]int32{}
	var want []string
	for i := range 3600 {
		id := int64(1 + i%3)
		key := fmt.Sprintf("key %d of %d", i, id)
		b.sendVerified(l, Batch{
			Values: []string{key}, ProducerID: id, Sequence: sequences[id], Transactional: true, Keys: true,
		}.Bytes())
		sequences[id]++
		if id == 1 {
			want = append(want, key) // all of producer 1 commit, in the end
		}
		if i%50 == 49 {
			b.sendMarker(l, storage.Marker{ProducerID: 2})
		}
	}
	b.endTxn(l, 3, 0, false)
	b.endTxn(l, 2, 0, false)
	b.endTxn(l, 1, 0, true)
	b.settle()
	b.wantCommittedBy(4<<10, l, want...)
	conf.SegmentBytes = 16 << 10
	for pass := range 4 {
		l.SetConfig(conf)
		all := len(b.everything(l))
		ctx, cancel := context.WithCancel(b.Context())
		b.gate.moved.set(cancel) // no second pass
		if err := b.s.Clean(ctx); err != nil && !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
		cancel()
		b.gate.moved.set(nil)
		left := len(b.everything(l))
		if pass == 0 && (left == all || left <= len(want)) {
			b.Errorf("the first pass leaves %d of %d records, %d are committed", left, all, len(want))
		}
		b.wantCommittedBy(4<<10, l, want...)
		b.restart()
		l = b.log(partA, conf)
		b.wantCommittedBy(4<<10, l, want...)
	}
	if got := b.everything(l); len(got) != len(want) {
		b.Errorf("%d records are left, want %d", len(got), len(want))
	}
}

// Compaction takes an aborted transaction and its marker away while somebody
// reads: before the batches, or between these and the list.
func testCompactBesideRead(b *bed) {
	for i, hook := range []func(f func()){
		func(f func()) { b.gate.reads.set(f) }, // of the gate that there is then
		func(f func()) { b.gate.looks.set(f) },
	} {
		b.open()
		p := partA
		p.Index = int32(i)
		l := b.log(p, compacted())
		b.write(l, keysOf(7, 0, "a"))
		b.endTxn(l, 7, 0, false)
		b.write(l, keysOf(7, 1, "b")) // behind a marker that is about to go
		b.endTxn(l, 7, 0, true)
		b.write(l, keysOf(0, 0, "c"))
		b.settle()
		hook(func() {
			b.gate.reads.set(nil)
			b.gate.looks.set(nil)
			b.clean()
			time.Sleep(2 * time.Hour)
			b.clean()
		})
		b.wantCommittedBy(1<<20, l, "b", "c")
		if n := b.markers(l); n != 1 {
			b.Errorf("%d markers are left, want 1", n)
		}
		b.wantCommitted(l, "b", "c")
		b.end()
	}
}
