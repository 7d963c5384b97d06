package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func txnCommitOf(producer, offset int64) TxnCommit {
	return TxnCommit{
		Version: 3, ProducerID: producer, ProducerEpoch: 4, Generation: -1,
		Offsets: []CommitOffset{{TopicPartition: TopicPartition{"t", 0}, Offset: offset, LeaderEpoch: -1, Timestamp: -1}},
	}
}

// TestTxnCommitIsABatchOfItsProducer looks at what is to be appended.
func TestTxnCommitIsABatchOfItsProducer(t *testing.T) {
	d := newDriver(t, nil)
	e := d.g.Step(d.now, Offset(len(d.log)), 1, txnCommitOf(7, 10))
	if len(e.Batches) != 1 || len(e.Batches[0].Records) != 1 || e.Batches[0].ProducerID != 7 || e.Batches[0].ProducerEpoch != 4 {
		t.Errorf("%+v", e.Batches)
	}
	if len(e.Replies) != 1 || e.Replies[0].After != DependsStep || e.Replies[0].Session {
		t.Errorf("%+v", e.Replies)
	}
	want := []Event{{Kind: GroupCreated, At: wallOrigin}}
	if diff := cmp.Diff(want, e.Events); diff != "" {
		t.Error(diff)
	}
}

// TestTxnCommitOfAGenerationWithoutAGroup checks what each version is told.
func TestTxnCommitOfAGenerationWithoutAGroup(t *testing.T) {
	d := newDriver(t, nil)
	for version, want := range map[int16]Code{2: codeIllegalGeneration, 5: codeIllegalGeneration, 6: codeGroupIDNotFound} {
		c := txnCommitOf(7, 10)
		c.Version, c.MemberID, c.Generation = version, "x", 1
		if diff := cmp.Diff(Committed{[]Code{want}}, d.ask(c)); diff != "" {
			t.Errorf("version %d:\n%s", version, diff)
		}
	}
	if d.g.Exists() {
		t.Error("a refused commit has made a group")
	}
}

// TestTxnCommitToAnUnloadedGroup checks that a group that has moved takes none.
func TestTxnCommitToAnUnloadedGroup(t *testing.T) {
	d := newDriver(t, nil)
	d.g.Unload(d.now)
	if diff := cmp.Diff(Committed{[]Code{codeCoordinatorNotAvailable}}, d.ask(txnCommitOf(7, 10))); diff != "" {
		t.Error(diff)
	}
}

// TestMarkersEndWhatTheyAreFor checks, on a group that serves, that a marker
// acts on the offsets of its producer and on nothing else.
func TestMarkersEndWhatTheyAreFor(t *testing.T) {
	d := newDriver(t, nil)
	d.ask(txnCommitOf(7, 10))
	d.ask(txnCommitOf(8, 20))
	end := func(producer int64, control Control) {
		t.Helper()
		if err := d.g.Apply(Entry{Offset: Offset(len(d.log)), ProducerID: producer, ProducerEpoch: 4, Control: control}); err != nil {
			t.Fatal(err)
		}
	}
	fetched := func(stable bool) FetchedOffset {
		t.Helper()
		return d.ask(FetchOffsets{Partitions: []TopicPartition{{"t", 0}}, RequireStable: stable}).(FetchedOffsets).Offsets[0]
	}
	if got := fetched(false); got.Offset != -1 {
		t.Errorf("while all is open: %+v", got)
	}
	end(9, ControlCommit)
	end(8, ControlAbort)
	if got := fetched(true); got.Code != codeUnstableOffsetCommit {
		t.Errorf("while one is open: %+v", got)
	}
	end(7, ControlCommit)
	if got := fetched(true); got.Code != codeNone || got.Offset != 10 {
		t.Errorf("at the end: %+v", got)
	}
}
