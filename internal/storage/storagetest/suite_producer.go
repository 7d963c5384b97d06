package storagetest

import (
	"errors"
	"fmt"
	"math"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
)

var producerTests = []suiteTest{
	{"SequencesAreChecked", testSequences},
	{"SequencesWrap", testSequenceWrap},
	{"ProducersSurviveRestart", testProducersRestart},
	{"DuplicateWaitsForTheFirst", testDuplicateWaits},
	{"IdleProducersExpire", testProducerExpiry},
}

// from is a batch of one producer.
func from(id int64, epoch int16, sequence int32, values ...string) []byte {
	return Batch{Values: values, ProducerID: id, Epoch: epoch, Sequence: sequence}.Bytes()
}

// outcome of an append, in a form to compare.
func (b *bed) outcome(l *storage.Log, batch []byte) string {
	b.Helper()
	got := b.wait(b.send(l, batch, storage.DurableAck))
	switch {
	case got.Err != nil:
		return got.Err.Error()
	case got.Duplicate:
		return fmt.Sprintf("duplicate of %d", got.Base)
	}
	return fmt.Sprintf("at %d", got.Base)
}

func (b *bed) wantOutcome(l *storage.Log, batch []byte, want string) {
	b.Helper()
	if got := b.outcome(l, batch); got != want {
		b.Errorf("got %q, want %q", got, want)
	}
}

func testSequences(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.wantOutcome(l, from(7, 0, 3, "a"), "at 0") // an unknown producer begins anywhere
	b.wantOutcome(l, from(7, 0, 4, "b", "c"), "at 1")
	b.wantOutcome(l, from(7, 0, 7, "gap"), storage.ErrOutOfOrderSequence.Error())
	b.wantOutcome(l, from(7, 0, 4, "b", "c"), "duplicate of 1")
	b.wantOutcome(l, from(7, 0, 4, "b"), storage.ErrOutOfOrderSequence.Error())
	for i := range int32(4) {
		b.wantOutcome(l, from(7, 0, 6+i, "d"), fmt.Sprintf("at %d", 3+i))
	}
	b.wantOutcome(l, from(7, 0, 4, "b", "c"), "duplicate of 1")
	b.wantOutcome(l, from(7, 0, 3, "a"), storage.ErrOutOfOrderSequence.Error()) // forgotten: the sixth
	b.wantOutcome(l, from(8, 2, 0, "other"), "at 7")
	b.wantOutcome(l, from(7, 1, 5, "e"), storage.ErrOutOfOrderSequence.Error()) // an epoch begins at 0
	b.wantOutcome(l, from(7, 1, 0, "e"), "at 8")
	b.wantOutcome(l, from(7, 0, 10, "f"), storage.ErrInvalidProducerEpoch.Error())
	b.wantOutcome(l, from(7, 1, 0, "e"), "duplicate of 8")
	want := []storage.ProducerState{
		{ID: 7, Epoch: 1, LastSequence: 0, LastTimestamp: 1000, CoordinatorEpoch: -1, CurrentTxn: -1},
		{ID: 8, Epoch: 2, LastSequence: 0, LastTimestamp: 1000, CoordinatorEpoch: -1, CurrentTxn: -1},
	}
	if diff := cmp.Diff(want, l.Producers()); diff != "" {
		b.Error(diff)
	}
}

func testSequenceWrap(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.wantOutcome(l, from(7, 0, math.MaxInt32-1, "a", "b", "c"), "at 0") // the last one has 0
	b.wantOutcome(l, from(7, 0, 1, "d"), "at 3")
	b.wantOutcome(l, from(7, 0, math.MaxInt32-1, "a", "b", "c"), "duplicate of 0")
	b.wantOutcome(l, from(9, 0, math.MaxInt32, "e"), "at 4")
	b.wantOutcome(l, from(9, 0, 0, "f"), "at 5")
}

func testProducersRestart(b *bed) {
	b.open()
	for round := range int32(4) {
		l := b.log(partA, small())
		for i := range int32(3) {
			n := 3*round + i
			b.wantOutcome(l, from(7, 0, n, "v"), fmt.Sprintf("at %d", n))
			if i == 1 && round%2 == 1 {
				b.settle()
			}
		}
		before := l.Producers()
		b.restart()
		l = b.log(partA, small())
		if diff := cmp.Diff(before, l.Producers()); diff != "" {
			b.Error(diff)
		}
		for i := range min(3*round+3, 5) {
			n := 3*round + 2 - i
			b.wantOutcome(l, from(7, 0, n, "v"), fmt.Sprintf("duplicate of %d", n))
		}
		b.wantOutcome(l, from(7, 0, 3*round+4, "gap"), storage.ErrOutOfOrderSequence.Error())
	}
}

func testDuplicateWaits(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.gate.Shut()
	first := b.send(l, from(7, 0, 0, "a"), storage.DurableAck)
	again := b.send(l, from(7, 0, 0, "a"), storage.DurableAck)
	synctest.Wait()
	if _, ok := again.get(); ok {
		b.Error("a duplicate was answered before its original is durable")
	}
	b.gate.Open()
	if got := b.wait(first); got.Base != 0 || got.Duplicate || got.Err != nil {
		b.Errorf("original: %+v", got)
	}
	if got := b.wait(again); got.Base != 0 || !got.Duplicate || got.Err != nil {
		b.Errorf("duplicate: %+v", got)
	}
	if b.sub.FailFlush == nil {
		return
	}
	b.gate.Shut()
	first = b.send(l, from(7, 0, 1, "b"), storage.DurableAck)
	again = b.send(l, from(7, 0, 1, "b"), storage.DurableAck)
	durable := b.send(l, from(7, 0, 0, "a"), storage.DurableAck)
	b.sub.FailFlush()
	b.gate.Open()
	for i, a := range []*answer{first, again} {
		if got := b.wait(a); !errors.Is(got.Err, storage.ErrFlushFailed) {
			b.Errorf("%d: %+v although the flush failed", i, got)
		}
	}
	if got := b.wait(durable); got.Err != nil || got.Base != 0 {
		b.Errorf("duplicate of what is durable: %+v", got)
	}
	b.untilServing(l)
	b.wantOutcome(l, from(7, 0, 1, "b"), "at 1")
	b.wantOutcome(l, from(7, 0, 0, "a"), "duplicate of 0")
}

// untilServing waits for the end of a failed flush.
func (b *bed) untilServing(l *storage.Log) {
	b.Helper()
	for range 100 {
		synctest.Wait()
		_, err := b.tryDeleteRecords(l, 0)
		if !errors.Is(err, storage.ErrFlushFailed) {
			return
		}
		time.Sleep(time.Second)
	}
	b.Fatal("service does not resume")
}

func testProducerExpiry(b *bed) {
	b.conf.ProducerExpiry = time.Hour
	b.open()
	l := b.log(partA, keepAll)
	b.wantOutcome(l, from(7, 3, 10, "a"), "at 0")
	time.Sleep(30 * time.Minute)
	b.restart()
	l = b.log(partA, keepAll)
	b.wantOutcome(l, from(8, 0, 0, "b"), "at 1")
	b.wantOutcome(l, from(7, 3, 12, "gap"), storage.ErrOutOfOrderSequence.Error())
	time.Sleep(2 * time.Hour)
	if n := len(l.Producers()); n != 0 {
		b.Errorf("%d producers are left", n)
	}
	b.wantOutcome(l, from(7, 0, 99, "c"), "at 2")
	b.restart()
	l = b.log(partA, keepAll)
	if n := len(l.Producers()); n != 1 {
		b.Errorf("%d producers after the restart", n)
	}
	b.wantOutcome(l, from(7, 0, 100, "d"), "at 3")
}
