package storagetest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

// Tests of what may be appended: guards and markers.
var verifyTests = []suiteTest{
	{"TransactionsAreVerified", testVerification},
	{"NothingLandsBehindItsMarker", testGuardAndMarker},
	{"LowestSequenceGoesFirst", testLowestSequence},
	{"MarkersAreChecked", testMarkers},
}

func (b *bed) wantVerification(l *storage.Log, id int64, epoch int16, sequence int32, needed bool, want error) storage.Guard {
	b.Helper()
	g, got, err := l.Verification(id, epoch, sequence)
	if got != needed || !errors.Is(err, want) {
		b.Errorf("verification of producer %d epoch %d sequence %d: needed %t, %v, want %t, %v", id, epoch, sequence, got, err, needed, want)
	}
	return g
}

func (b *bed) wantVerified(l *storage.Log, batch []byte, g storage.Guard, want error) {
	b.Helper()
	a := &answer{}
	l.AppendVerified(batch, g, storage.DurableAck, a.set)
	if got := b.wait(a); !errors.Is(got.Err, want) {
		b.Errorf("append: %+v, want %v", got, want)
	}
}

func testVerification(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.wantOutcome(l, partOf(7, 0, 0, "a"), storage.ErrNotVerified.Error())
	g := b.wantVerification(l, 7, 0, 0, true, nil)
	b.wantOutcome(l, partOf(7, 0, 0, "a"), storage.ErrNotVerified.Error())
	b.wantVerified(l, partOf(7, 0, 0, "a"), g, nil)
	b.wantVerification(l, 7, 0, 1, false, nil) // it is open
	b.wantOutcome(l, partOf(7, 0, 1, "b"), "at 1")
	b.wantOutcome(l, partOf(7, 0, 1, "b"), "duplicate of 1")
	b.wantOutcome(l, from(7, 0, 2, "c"), storage.ErrTransactionOpen.Error())
	b.wantVerification(l, 7, 1, 0, true, nil) // of another epoch
	b.wantOutcome(l, partOf(7, 1, 0, "d"), storage.ErrNotVerified.Error())
	b.endTxn(l, 7, 0, true)
	b.wantVerification(l, 7, 0, 1, false, nil) // a duplicate
	b.wantOutcome(l, partOf(7, 0, 1, "b"), "duplicate of 1")
	b.wantVerification(l, 7, 0, 2, true, nil)
	b.wantOutcome(l, partOf(7, 0, 2, "e"), storage.ErrNotVerified.Error())
	b.wantOutcome(l, from(7, 0, 2, "f"), "at 3") // not of a transaction
	b.endTxn(l, 7, 4, false)                     // of none
	b.wantVerification(l, 7, 3, 0, false, storage.ErrInvalidProducerEpoch)
	g = b.wantVerification(l, 7, 4, 0, true, nil)
	b.wantVerified(l, partOf(7, 4, 1, "gap"), g, storage.ErrOutOfOrderSequence)
	b.wantVerified(l, partOf(7, 4, 0, "g"), g, nil)
	b.wantVerified(l, partOf(7, 3, 0, "h"), g, storage.ErrInvalidProducerEpoch)
	b.wantVerification(l, 8, 0, 0, true, nil)
	b.restart()
	l = b.log(partA, keepAll)
	b.wantVerification(l, 7, 4, 1, false, nil)
	b.wantOutcome(l, partOf(7, 4, 1, "i"), "at 6")
}

func testGuardAndMarker(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	// The coordinator says yes, then the transaction ends, then the batch comes.
	late := b.wantVerification(l, 7, 0, 0, true, nil)
	b.endTxn(l, 7, 0, false)
	b.wantVerified(l, partOf(7, 0, 0, "late"), late, storage.ErrNotVerified)
	// The same while the marker is on its way.
	late = b.wantVerification(l, 7, 0, 0, true, nil)
	b.gate.Shut()
	marker := b.sendMarker(l, storage.Marker{ProducerID: 7})
	a := &answer{}
	l.AppendVerified(partOf(7, 0, 0, "late"), late, storage.DurableAck, a.set)
	b.gate.Open()
	if got := b.wait(a); !errors.Is(got.Err, storage.ErrNotVerified) {
		b.Errorf("behind a marker on its way: %+v", got)
	}
	if got := b.wait(marker); got.Err != nil {
		b.Error(got.Err)
	}
	// A guard of the transaction before is none of the next, which has its own.
	next := b.wantVerification(l, 7, 0, 0, true, nil)
	b.wantVerified(l, partOf(7, 0, 0, "late"), late, storage.ErrNotVerified)
	b.wantVerified(l, partOf(7, 0, 0, "in time"), next, nil)
	b.wantVerified(l, partOf(7, 0, 1, "too"), storage.Guard{}, nil)
	b.endTxn(l, 7, 0, true)
	b.wantVerified(l, partOf(7, 0, 2, "late"), next, storage.ErrNotVerified)
	b.wantCommitted(l, "in time", "too")
}

func testLowestSequence(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	// Two batches ask, the second one gets its answer first.
	first := b.wantVerification(l, 7, 0, 0, true, nil)
	second := b.wantVerification(l, 7, 0, 1, true, nil)
	b.wantVerified(l, partOf(7, 0, 1, "b"), second, storage.ErrOutOfOrderSequence)
	b.wantVerified(l, partOf(7, 0, 0, "a"), first, nil)
	b.wantVerified(l, partOf(7, 0, 1, "b"), second, nil)
	// Sequences wrap.
	first = b.wantVerification(l, 8, 0, 1<<31-1, true, nil)
	second = b.wantVerification(l, 8, 0, 0, true, nil)
	b.wantVerified(l, partOf(8, 0, 0, "d"), second, storage.ErrOutOfOrderSequence)
	b.wantVerified(l, partOf(8, 0, 1<<31-1, "c"), first, nil)
	b.wantVerified(l, partOf(8, 0, 0, "d"), second, nil)
}

func testMarkers(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	m := storage.Marker{ProducerID: 7, ProducerEpoch: 2, CoordinatorEpoch: 5}
	if err := b.mark(l, m); err != nil { // of a producer that is not known
		b.Error(err)
	}
	b.wantStable(l, 1)
	b.txn(l, 7, 2, 0, "a")
	for _, c := range []struct {
		m    storage.Marker
		want error
	}{
		{storage.Marker{ProducerID: 7, ProducerEpoch: 1, CoordinatorEpoch: 6}, storage.ErrInvalidProducerEpoch},
		{storage.Marker{ProducerID: 7, ProducerEpoch: 2, CoordinatorEpoch: 4}, storage.ErrCoordinatorFenced},
		{storage.Marker{ProducerID: 7, ProducerEpoch: 3, CoordinatorEpoch: 4}, storage.ErrCoordinatorFenced},
	} {
		if err := b.mark(l, c.m); !errors.Is(err, c.want) {
			b.Errorf("%+v: %v, want %v", c.m, err, c.want)
		}
	}
	// One that ends what came before this transaction (KIP-1228).
	if err := b.mark(l, storage.Marker{ProducerID: 7, ProducerEpoch: 2, CoordinatorEpoch: 5, Raised: true}); !errors.Is(err, storage.ErrInvalidProducerEpoch) {
		b.Errorf("a marker of the transaction before: %v", err)
	}
	b.wantStable(l, 1)
	want := []storage.ProducerState{{ID: 7, Epoch: 2, LastSequence: 0, LastTimestamp: 1000, CoordinatorEpoch: 5, CurrentTxn: 1}}
	if diff := cmp.Diff(want, l.Producers()); diff != "" {
		b.Error(diff)
	}
	// One of the next epoch ends it and begins the sequence anew (KIP-890).
	time.Sleep(time.Second)
	now := time.Now().UnixMilli()
	if err := b.mark(l, storage.Marker{ProducerID: 7, ProducerEpoch: 3, CoordinatorEpoch: 6, Commit: true}); err != nil {
		b.Error(err)
	}
	want = []storage.ProducerState{{ID: 7, Epoch: 3, LastSequence: -1, LastTimestamp: now, CoordinatorEpoch: 6, CurrentTxn: -1}}
	for range 2 {
		if diff := cmp.Diff(want, l.Producers()); diff != "" {
			b.Error(diff)
		}
		b.restart()
		l = b.log(partA, keepAll)
	}
	b.wantStable(l, 3)
	b.wantVerification(l, 7, 2, 1, false, storage.ErrInvalidProducerEpoch)
	b.wantOutcome(l, from(7, 3, 1, "gap"), storage.ErrOutOfOrderSequence.Error())
	b.txn(l, 7, 3, 0, "b")
	if err := b.mark(l, storage.Marker{ProducerID: 7, ProducerEpoch: 3, CoordinatorEpoch: 6}); err != nil {
		b.Error(err)
	}
	b.wantCommitted(l, "a")
	data, _, err := l.Read(nil, 4, storage.ReadOptions{MaxBytes: 1, Whole: true})
	if err != nil {
		b.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil || !h.Attributes.Control() || !h.Attributes.Transactional() || h.ProducerID != 7 || h.ProducerEpoch != 3 || h.BaseSequence != -1 || h.Count != 1 {
		b.Errorf("a marker's batch is %+v, %v", h, err)
	}
	if m, ok, err := record.MarkerOf(data); m != (record.Marker{Type: record.ControlAbort, CoordinatorEpoch: 6}) || !ok || err != nil {
		b.Errorf("marker %+v, %t, %v", m, ok, err)
	}
}
