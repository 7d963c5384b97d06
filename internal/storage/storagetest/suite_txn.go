package storagetest

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

var txnTests = []suiteTest{
	{"OpenTransactionHoldsBackTheStableOffset", testOpenTransaction},
	{"AbortedTransactionsAreListed", testAborted},
	{"AbortedTransactionsSurvive", testAbortedSurvive},
	{"ManyAbortedTransactions", testManyAborted},
	{"MarkerCountsWhenDurable", testMarkerDurable},
	{"FailedFlushTakesBackTransactions", testFailedTransaction},
	{"OpenTransactionsSurvive", testOpenSurvives},
	{"OpenTransactionsDoNotExpire", testOpenNeverExpires},
	{"LogStartMovesIntoATransaction", testStartInTransaction},
	{"RetentionOfTransactions", testRetainTransactions},
	{"WriterKeepsTransactions", testWriterTransactions},
}

// partOf is a batch of a producer's transaction.
func partOf(id int64, epoch int16, sequence int32, values ...string) []byte {
	return Batch{Values: values, ProducerID: id, Epoch: epoch, Sequence: sequence, Transactional: true}.Bytes()
}

// sendVerified appends a transactional batch of which the coordinator says yes.
func (b *bed) sendVerified(l *storage.Log, batch []byte) *answer {
	b.Helper()
	a := &answer{}
	h, err := record.ParseHeader(batch)
	if err != nil {
		b.Fatal(err)
	}
	g, _, err := l.Verification(h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	if err != nil {
		a.set(storage.Appended{Base: -1, Err: err})
		return a
	}
	l.AppendVerified(batch, g, storage.DurableAck, a.set)
	return a
}

// txn appends a transactional batch, which must work.
func (b *bed) txn(l *storage.Log, id int64, epoch int16, sequence int32, values ...string) int64 {
	b.Helper()
	got := b.wait(b.sendVerified(l, partOf(id, epoch, sequence, values...)))
	if got.Err != nil {
		b.Fatalf("append: %v", got.Err)
	}
	return got.Base
}

// mark appends a marker and waits for it.
func (b *bed) mark(l *storage.Log, m storage.Marker) error {
	b.Helper()
	a := b.sendMarker(l, m)
	return b.wait(a).Err
}

func (b *bed) sendMarker(l *storage.Log, m storage.Marker) *answer {
	a := &answer{}
	l.AppendMarker(m, func(err error) { a.set(storage.Appended{Err: err}) })
	return a
}

// endTxn ends a transaction, which must work.
func (b *bed) endTxn(l *storage.Log, id int64, epoch int16, commit bool) {
	b.Helper()
	if err := b.mark(l, storage.Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit}); err != nil {
		b.Fatalf("marker: %v", err)
	}
}

func (b *bed) wantStable(l *storage.Log, want int64) {
	b.Helper()
	if got := l.Bounds(); got.LastStable != want {
		b.Errorf("last stable offset %d of %+v, want %d", got.LastStable, got, want)
	}
}

// wantCommitted holds what a read_committed reader sees against values.
func (b *bed) wantCommitted(l *storage.Log, want ...string) {
	b.Helper()
	for _, size := range []int{1, 200, 1 << 20} {
		b.wantCommittedBy(size, l, want...)
	}
}

func (b *bed) wantCommittedBy(size int, l *storage.Log, want ...string) {
	b.Helper()
	all, _, err := ReadCommitted(l, size)
	if err != nil {
		b.Fatal(err)
	}
	got := []string{}
	for _, r := range all {
		got = append(got, r.Value)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		b.Errorf("%d bytes at a time (-want +got):\n%s", size, diff)
	}
}

func testOpenTransaction(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.append(l, Values("before"))
	woken := 0
	defer l.Watch(func() { woken++ })()
	b.txn(l, 7, 0, 0, "a", "b")
	b.append(l, Values("beside"))
	b.wantStable(l, 1)
	b.wantCommitted(l, "before")
	if n, err := l.Available(1, true); n != 0 || err != nil {
		b.Errorf("%d bytes available at the last stable offset, %v", n, err)
	}
	if n, err := l.Available(1, false); n == 0 || err != nil {
		b.Errorf("%d bytes available to others, %v", n, err)
	}
	if got, _, err := l.Read(nil, 1, storage.ReadOptions{MaxBytes: 1 << 20, Committed: true}); len(got) > 0 || err != nil {
		b.Errorf("read %d bytes beyond the last stable offset, %v", len(got), err)
	}
	if _, ok, err := l.FirstSince(1000, true); !ok || err != nil {
		b.Errorf("first by time: %t, %v", ok, err)
	}
	if found, ok, err := l.FirstSince(1001, true); ok || err != nil {
		b.Errorf("first by time beyond the last stable offset: %+v, %v", found, err)
	}
	b.txn(l, 8, 0, 0, "c")
	synctest.Wait()
	woken = 0
	b.endTxn(l, 7, 0, true)
	if woken == 0 {
		b.Error("nobody is told that the last stable offset has moved")
	}
	b.wantStable(l, 4)
	b.wantCommitted(l, "before", "a", "b", "beside")
	b.endTxn(l, 8, 0, true)
	b.wantStable(l, 7)
	b.wantCommitted(l, "before", "a", "b", "beside", "c")
	b.txn(l, 7, 0, 2, "again")
	b.endTxn(l, 7, 0, true)
	b.wantStable(l, 9)
	if diff := cmp.Diff([]string{"before", "a", "b", "beside", "c", "again"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
}

// abortedAt are the aborted transactions that one read from offset lists.
func (b *bed) abortedAt(l *storage.Log, offset int64, size int) []storage.Aborted {
	b.Helper()
	_, info, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: size, Whole: true, Committed: true})
	if err != nil {
		b.Fatal(err)
	}
	return info.Aborted
}

func testAborted(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.append(l, Values("0"))
	b.txn(l, 7, 0, 0, "1")
	b.txn(l, 8, 3, 0, "2")
	b.append(l, Values("3"))
	b.endTxn(l, 7, 0, false) // 4
	b.append(l, Values("5"))
	b.endTxn(l, 8, 3, true) // 6
	b.append(l, Values("7"))
	b.txn(l, 7, 0, 1, "8")
	b.txn(l, 7, 0, 2, "9")
	b.endTxn(l, 7, 0, false) // 10
	b.append(l, Values("11"))
	first, second := storage.Aborted{ProducerID: 7, FirstOffset: 1}, storage.Aborted{ProducerID: 7, FirstOffset: 8}
	for round := range 3 {
		for _, c := range []struct {
			offset int64
			size   int
			want   []storage.Aborted
		}{
			{0, 1, nil},
			{0, 1 << 20, []storage.Aborted{first, second}},
			{1, 1, []storage.Aborted{first}},
			{2, 1, []storage.Aborted{first}},
			{4, 1, []storage.Aborted{first}},
			{5, 1, nil},
			{5, 1 << 20, []storage.Aborted{second}},
			{9, 1, []storage.Aborted{second}},
			{10, 1, []storage.Aborted{second}},
			{11, 1 << 20, nil},
			{12, 1 << 20, nil},
		} {
			if diff := cmp.Diff(c.want, b.abortedAt(l, c.offset, c.size)); diff != "" {
				b.Errorf("round %d: read %d bytes from %d (-want +got):\n%s", round, c.size, c.offset, diff)
			}
		}
		if _, info, err := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 1 << 20}); err != nil || info.Aborted != nil {
			b.Errorf("a reader that did not ask gets %v, %v", info.Aborted, err)
		}
		b.wantCommitted(l, "0", "2", "3", "5", "7", "11")
		if round == 0 {
			b.settle()
		} else {
			b.restart()
			l = b.log(partA, keepAll)
		}
	}
}

// Segments end anywhere in transactions, rounds of settling too.
func testAbortedSurvive(b *bed) {
	b.open()
	conf := keepAll
	conf.SegmentBytes = 400
	l := b.log(partA, conf)
	sequences := map[int64]int32{}
	for i := range 60 {
		id := int64(1 + i%4)
		v := fmt.Sprintf("%d of %d", i, id)
		b.txn(l, id, 0, sequences[id], v, v+" too")
		sequences[id] += 2
		if i%3 == 2 { // others stay open for a while
			ends := int64(1 + (i/3)%4)
			commit := i%2 == 0
			b.endTxn(l, ends, 0, commit)
		}
		if i%7 == 0 {
			b.settle()
		}
		if i%20 == 19 {
			b.restart()
			l = b.log(partA, conf)
		}
	}
	for id := range int64(4) {
		b.endTxn(l, id+1, 0, id == 2)
	}
	// What is committed is what the markers say, in the order of the log.
	want, err := committedByMarkers(l)
	if err != nil {
		b.Fatal(err)
	}
	for range 2 {
		b.wantStable(l, l.Bounds().HighWatermark)
		b.wantCommitted(l, want...)
		b.settle()
		b.wantCommitted(l, want...)
		b.restart()
		l = b.log(partA, conf)
	}
}

func testManyAborted(b *bed) {
	b.open()
	conf := keepAll
	conf.SegmentBytes = 1 << 20
	l := b.log(partA, conf)
	b.txn(l, 1, 0, 0, "long") // begins before all others, ends behind them
	for i := range int32(700) {
		b.sendVerified(l, partOf(2, 0, i, fmt.Sprint(i)))
		if i == 400 {
			b.endTxn(l, 2, 0, true)
			b.settle()
			continue
		}
		b.sendMarker(l, storage.Marker{ProducerID: 2})
	}
	b.endTxn(l, 1, 0, false)
	b.settle()
	b.wantCommittedBy(1<<20, l, "400")
	if n := len(b.abortedAt(l, 0, 1<<20)); n != 700 {
		b.Errorf("%d transactions are listed, want 700", n)
	}
	if got := b.abortedAt(l, 1301, 1); len(got) != 2 || got[0].ProducerID != 2 || got[1] != (storage.Aborted{ProducerID: 1, FirstOffset: 0}) {
		b.Errorf("in the middle: %+v", got)
	}
	b.restart()
	l = b.log(partA, conf)
	b.wantCommittedBy(1<<20, l, "400")
}

func testMarkerDurable(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.txn(l, 7, 0, 0, "a")
	b.gate.ShutBehind()
	marker := b.sendMarker(l, storage.Marker{ProducerID: 7, Commit: true})
	synctest.Wait()
	if _, ok := marker.get(); ok {
		b.Error("a marker was answered before it is durable")
	}
	b.wantStable(l, 0)
	next := b.sendVerified(l, partOf(7, 0, 1, "b"))
	if open := l.OpenTransactions(); len(open) != 1 || open[0].FirstOffset != 2 {
		b.Errorf("open: %+v", open)
	}
	b.gate.Open()
	b.wait(marker)
	b.wait(next)
	b.wantStable(l, 2)
	b.endTxn(l, 7, 0, true)
	b.wantCommitted(l, "a", "b")
}

func testFailedTransaction(b *bed) {
	if b.sub.FailFlush == nil {
		b.Skip("the medium cannot fail")
	}
	b.open()
	l := b.log(partA, keepAll)
	b.txn(l, 7, 0, 0, "a")
	b.txn(l, 8, 0, 0, "b")
	b.endTxn(l, 8, 0, false)
	before := l.Producers()
	b.gate.Shut()
	lost := []*answer{
		b.sendMarker(l, storage.Marker{ProducerID: 7, CoordinatorEpoch: 9}), b.sendVerified(l, partOf(7, 0, 1, "c")),
		b.sendVerified(l, partOf(8, 0, 1, "d")), b.sendMarker(l, storage.Marker{ProducerID: 8, CoordinatorEpoch: 9}),
		b.sendVerified(l, partOf(9, 0, 0, "e")), b.send(l, Values("f"), storage.DurableAck),
	}
	b.sub.FailFlush()
	b.gate.Open()
	for i, a := range lost {
		if got := b.wait(a); !errors.Is(got.Err, storage.ErrFlushFailed) {
			b.Errorf("append %d: %+v", i, got)
		}
	}
	b.untilServing(l)
	if diff := cmp.Diff(before, l.Producers()); diff != "" {
		b.Error(diff)
	}
	if open := l.OpenTransactions(); len(open) != 1 || open[0].ProducerID != 7 || open[0].FirstOffset != 0 {
		b.Errorf("open: %+v", open)
	}
	b.wantStable(l, 0)
	b.wantOutcome(l, partOf(9, 0, 0, "e"), storage.ErrNotVerified.Error())
	b.wantOutcome(l, partOf(7, 0, 1, "c"), "at 3")
	b.endTxn(l, 7, 0, true)
	b.txn(l, 8, 0, 1, "d")
	b.endTxn(l, 8, 0, true)
	for range 3 {
		b.wantCommitted(l, "a", "c", "d")
		b.settle()
		b.restart()
		l = b.log(partA, keepAll)
	}
}

func testOpenSurvives(b *bed) {
	b.open()
	l := b.log(partA, small())
	began := time.Now().UnixMilli()
	b.txn(l, 7, 1, 0, "a")
	b.settle()
	time.Sleep(time.Minute)
	b.txn(l, 9, 0, 5, "b")
	b.txn(l, 7, 1, 1, "c")
	want := []storage.OpenTransaction{{ProducerID: 7, Epoch: 1, FirstOffset: 0}, {ProducerID: 9, Epoch: 0, FirstOffset: 1}}
	for i := range 3 {
		got := l.OpenTransactions()
		for j := range got {
			if at := got[j].StartedAt; at < began || at > time.Now().UnixMilli() {
				b.Errorf("%d: began at %d, the test at %d", i, at, began)
			}
			got[j].StartedAt = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Errorf("%d: %s", i, diff)
		}
		b.wantStable(l, 0)
		b.restart()
		l = b.log(partA, small())
	}
	b.endTxn(l, 7, 1, false)
	b.wantStable(l, 1)
	b.endTxn(l, 9, 0, true)
	for range 2 {
		b.wantStable(l, 5)
		b.wantCommitted(l, "b")
		b.restart()
		l = b.log(partA, small())
	}
}

func testOpenNeverExpires(b *bed) {
	b.conf.ProducerExpiry = time.Hour
	b.open()
	l := b.log(partA, keepAll)
	b.txn(l, 7, 3, 0, "a")
	b.txn(l, 8, 0, 0, "b")
	b.endTxn(l, 8, 0, true)
	g := b.wantVerification(l, 9, 0, 0, true, nil)
	time.Sleep(30 * time.Minute)
	b.restart()
	l = b.log(partA, keepAll)
	time.Sleep(30 * time.Hour)
	if all := l.Producers(); len(all) != 1 || all[0].ID != 7 {
		b.Errorf("left: %+v", all)
	}
	b.wantVerified(l, partOf(9, 0, 0, "late"), g, storage.ErrNotVerified)
	b.wantOutcome(l, partOf(7, 3, 0, "a"), "duplicate of 0")
	b.endTxn(l, 7, 3, true)
	time.Sleep(2 * time.Hour)
	if all := l.Producers(); len(all) != 0 {
		b.Errorf("left after its end: %+v", all)
	}
	b.wantCommitted(l, "a", "b")
}

func testStartInTransaction(b *bed) {
	b.open()
	l := b.log(partA, small())
	for i := range int32(6) {
		b.txn(l, 7, 0, i, fmt.Sprint(i))
	}
	b.settle()
	if start, err := b.tryDeleteRecords(l, 3); start != 3 || err != nil {
		b.Fatalf("start %d, %v", start, err)
	}
	b.wantStable(l, 3)
	b.wantCommitted(l)
	b.restart()
	l = b.log(partA, small())
	b.wantStable(l, 3)
	b.endTxn(l, 7, 0, false)
	b.wantStable(l, 7)
	b.append(l, Values("after"))
	b.wantCommitted(l, "after")
	if diff := cmp.Diff([]storage.Aborted{{ProducerID: 7, FirstOffset: 0}}, b.abortedAt(l, 4, 1)); diff != "" {
		b.Error(diff)
	}
	b.txn(l, 7, 0, 6, "b")
	if start, err := b.tryDeleteRecords(l, -1); start != 9 || err != nil {
		b.Fatalf("start %d, %v", start, err)
	}
	b.wantStable(l, 9)
	b.endTxn(l, 7, 0, true)
	b.wantStable(l, 10)
}

func testRetainTransactions(b *bed) {
	b.open()
	conf := small()
	l := b.log(partA, conf)
	for i := range int32(40) {
		b.txn(l, 7, 0, i, fmt.Sprintf("%d %s", i, make([]byte, 100)))
		if i%4 != 3 {
			b.txn(l, 8, 0, i-i/4, "other")
		}
		b.endTxn(l, 7, 0, i%2 == 0)
		if i%4 == 1 {
			b.endTxn(l, 8, 0, false)
		}
		if i == 20 {
			b.settle()
		}
	}
	b.settle()
	conf.Delete, conf.RetentionBytes = true, 2000
	l.SetConfig(conf)
	for range 2 {
		if err := b.s.Retain(); err != nil {
			b.Fatal(err)
		}
		if l.Bounds().Start == 0 {
			b.Fatal("nothing was deleted")
		}
		all, _, err := ReadCommitted(l, 300)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range all {
			var i int
			if _, err := fmt.Sscan(r.Value, &i); err != nil || i%2 != 0 {
				b.Errorf("%q is seen", r.Value)
			}
		}
		if stable := l.OpenTransactions()[0].FirstOffset; stable != l.Bounds().LastStable || len(all) == 0 {
			b.Errorf("%d records up to %+v, open since %d", len(all), l.Bounds(), stable)
		}
		b.restart()
		l = b.log(partA, conf)
	}
}

func testWriterTransactions(b *bed) {
	b.open()
	conf := keepAll
	conf.Internal = true
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
	offsets := func(id int64, value string) []byte { // as coordinators write them: without a sequence
		var builder record.Builder
		builder.Reset(nil)
		builder.SetProducer(id, 0, record.None)
		builder.SetTransactional()
		builder.Append(time.Now().UnixMilli(), []byte("k"), []byte(value))
		return builder.Finish()
	}
	marker := func(id int64, commit bool) []byte {
		return storage.Marker{ProducerID: id, CoordinatorEpoch: 4, Commit: commit}.Batch(time.Now().UnixMilli())
	}
	write(Values("before"))
	write(offsets(7, "a"))
	write(offsets(7, "b"))
	write(offsets(8, "c"))
	write(Values("beside"))
	b.wantStable(l, 1)
	write(marker(7, true))
	b.wantStable(l, 3)
	for range 2 {
		want := []storage.ProducerState{
			{ID: 7, LastSequence: -1, LastTimestamp: l.Producers()[0].LastTimestamp, CoordinatorEpoch: 4, CurrentTxn: -1},
			{ID: 8, LastSequence: -1, LastTimestamp: l.Producers()[1].LastTimestamp, CoordinatorEpoch: -1, CurrentTxn: 3},
		}
		if diff := cmp.Diff(want, l.Producers()); diff != "" {
			b.Error(diff)
		}
		b.restart()
		l = b.log(partA, conf)
		w = l.Writer(b.s.Epoch())
	}
	write(marker(8, false))
	b.wantStable(l, 7)
	b.wantCommitted(l, "before", "a", "b", "beside")
	if err := b.mark(l, storage.Marker{ProducerID: 8, CoordinatorEpoch: 3}); !errors.Is(err, storage.ErrCoordinatorFenced) {
		b.Errorf("a marker of an older coordinator: %v", err)
	}
	broken := marker(7, true)
	broken[record.HeaderSize+1] ^= 0xff
	broken[record.HeaderSize] = 1
	if _, err := w.Append(broken, func(error) {}); !errors.Is(err, record.ErrInvalid) || l.Bounds().End != 7 {
		b.Errorf("a marker that cannot be read: %v, log %+v", err, l.Bounds())
	}
}
