package txn

import (
	"fmt"
	"math"
	"testing"
)

// at leaves the driver's id in a state, under producer 1000 and the epoch.
func (d *driver) at(s State, epoch int16, version int16) {
	d.tb.Helper()
	for range epoch + 1 {
		d.ask(InitProducerID{TimeoutMillis: 60_000, ProducerID: none, ProducerEpoch: none, NewProducerID: 1000})
	}
	if s == Empty {
		return
	}
	d.ask(AddPartitions{ProducerID: 1000, ProducerEpoch: epoch, Partitions: []TopicPartition{{"t", 0}}, ClientVersion: version})
	if s == Ongoing {
		return
	}
	commit := s == PrepareCommit || s == CompleteCommit
	if r := d.ask(End{ProducerID: 1000, ProducerEpoch: epoch, Commit: commit, ClientVersion: version, NewProducerID: none}).(Ended); r.Code != codeNone {
		d.tb.Fatalf("end: %+v", r)
	}
	if !ending(s) {
		d.ask(MarkersWritten{Decision: d.p.log.at})
	}
	if d.p.log.State != s {
		d.tb.Fatalf("%s instead of %s", d.p.log.State, s)
	}
}

// TestEndInEveryState is the table of what an EndTxn is answered, by state and
// by the epoch that the producer has, as Apache Kafka 4.4 answers it; but the end
// of the next transaction waits for the markers of this one.
func TestEndInEveryState(t *testing.T) {
	const (
		ok         = codeNone
		fenced     = codeProducerFenced
		invalid    = codeInvalidTxnState
		concurrent = codeConcurrentTransactions
	)
	states := []State{Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort}
	for _, c := range []struct {
		version int16
		behind  int16 // how far the producer's epoch is behind
		commit  bool
		want    [6]Code
	}{
		{Version0, 0, true, [6]Code{invalid, ok, concurrent, invalid, ok, invalid}},
		{Version0, 0, false, [6]Code{invalid, ok, invalid, concurrent, invalid, ok}},
		{Version0, 1, true, [6]Code{fenced, fenced, fenced, fenced, fenced, fenced}},
		{Version0, -1, true, [6]Code{fenced, fenced, fenced, fenced, fenced, fenced}},
		{Version2, 0, true, [6]Code{invalid, ok, concurrent, concurrent, invalid, invalid}},
		{Version2, 0, false, [6]Code{ok, ok, concurrent, concurrent, ok, ok}},
		{Version2, 1, true, [6]Code{fenced, fenced, concurrent, invalid, ok, invalid}},
		{Version2, 1, false, [6]Code{fenced, fenced, invalid, concurrent, invalid, ok}},
		{Version2, 2, false, [6]Code{fenced, fenced, fenced, fenced, fenced, fenced}},
		{Version2, -1, false, [6]Code{fenced, fenced, fenced, fenced, fenced, fenced}},
	} {
		for i, s := range states {
			t.Run(fmt.Sprintf("version %d, %s, %d behind, commit %t", c.version, s, c.behind, c.commit), func(t *testing.T) {
				conf := DefaultConfig()
				conf.Wait = 0
				d := newDriver(t, &conf)
				d.at(s, 3, c.version)
				got := d.ask(End{
					ProducerID: 1000, ProducerEpoch: d.p.log.ProducerEpoch - c.behind, Commit: c.commit,
					ClientVersion: c.version, NewProducerID: none,
				}).(Ended)
				if got.Code != c.want[i] {
					t.Errorf("answered with %d, want %d", got.Code, c.want[i])
				}
				if told := got.ProducerID != none; told != (got.Code == codeNone && c.version >= Version2) {
					t.Errorf("the answer is %+v", got)
				}
				d.compareReplay()
			})
		}
	}
}

// TestInitInEveryState is the same for InitProducerId.
func TestInitInEveryState(t *testing.T) {
	states := []State{Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort}
	for _, version := range []int16{Version0, Version2} {
		for _, s := range states {
			t.Run(fmt.Sprintf("version %d, %s", version, s), func(t *testing.T) {
				conf := DefaultConfig()
				conf.Wait, conf.Version = 0, version
				d := newDriver(t, &conf)
				d.at(s, 3, version)
				before := d.p.log.ProducerEpoch
				got := d.ask(InitProducerID{TimeoutMillis: 1000, ProducerID: none, ProducerEpoch: none, NewProducerID: 1001}).(Initialized)
				if s == Ongoing || ending(s) {
					if got.Code != codeConcurrentTransactions || !ending(d.p.log.State) {
						t.Fatalf("%+v in %s", got, d.p.log.State)
					}
					before = d.p.log.ProducerEpoch
					d.ask(MarkersWritten{Decision: d.p.log.at})
					got = d.ask(InitProducerID{TimeoutMillis: 1000, ProducerID: none, ProducerEpoch: none, NewProducerID: 1001}).(Initialized)
				}
				if want := (Initialized{ProducerID: 1000, ProducerEpoch: before + 1}); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}

// TestRecordThatIsTooLarge: it is refused, and nothing has happened.
func TestRecordThatIsTooLarge(t *testing.T) {
	conf := DefaultConfig()
	d := newDriver(t, &conf)
	d.at(Ongoing, 0, Version2)
	conf.MaxRecordBytes = 600
	before, records := remembered(t, d.p), len(d.log)
	var many []TopicPartition
	for i := range int32(200) {
		many = append(many, TopicPartition{"t", i})
	}
	got := d.ask(AddPartitions{ProducerID: 1000, Partitions: many, ClientVersion: Version2}).(AddedPartitions)
	if got.Code != codeUnknownServerError || len(got.Codes) != len(many) || remembered(t, d.p) != before || len(d.log) != records {
		t.Errorf("%d with %d codes, then:\n%s", got.Code, len(got.Codes), remembered(t, d.p))
	}
}

// TestMarkersOfAnotherTransaction: only the decision that is being carried out
// is completed, even if another transaction had the same producer and epoch.
func TestMarkersOfAnotherTransaction(t *testing.T) {
	conf := DefaultConfig()
	d := newDriver(t, &conf)
	d.at(PrepareCommit, 0, Version0)
	first := d.p.log.at
	d.ask(MarkersWritten{Decision: first})
	d.ask(AddPartitions{ProducerID: 1000, Partitions: []TopicPartition{{"t", 0}}})
	d.ask(End{ProducerID: 1000, NewProducerID: none})
	d.ask(MarkersWritten{Decision: first})
	if d.p.log.State != PrepareAbort {
		t.Fatalf("%s after the markers of the transaction before", d.p.log.State)
	}
	d.ask(MarkersWritten{Decision: d.p.log.at})
	if d.p.log.State != CompleteAbort {
		t.Errorf("%s after its markers", d.p.log.State)
	}
}

// TestHighestEpochIsNeverGiven: a producer that could not be fenced would be
// one that nobody can replace.
func TestHighestEpochIsNeverGiven(t *testing.T) {
	for _, version := range []int16{Version0, Version2} {
		conf := DefaultConfig()
		conf.Wait, conf.Version = 0, version
		d := newDriver(t, &conf)
		d.at(Empty, 0, version)
		v := d.p.log.TransactionValue
		v.ProducerEpoch = math.MaxInt16 - 3
		d.p.record(v)
		d.settle(d.p.finish())
		id, epoch := int64(1000), int16(math.MaxInt16-3)
		for range 10 {
			d.ask(AddPartitions{ProducerID: id, ProducerEpoch: epoch, Partitions: []TopicPartition{{"t", 0}}, ClientVersion: version})
			d.ask(InitProducerID{TimeoutMillis: 1000, ProducerID: none, ProducerEpoch: none, NewProducerID: d.newID()})
			d.ask(MarkersWritten{Decision: d.p.log.at})
			got := d.ask(InitProducerID{TimeoutMillis: 1000, ProducerID: none, ProducerEpoch: none, NewProducerID: d.newID()}).(Initialized)
			if got.Code != codeNone || got.ProducerEpoch == math.MaxInt16 || got.ProducerID == id && got.ProducerEpoch <= epoch {
				t.Fatalf("version %d: %+v after %d with epoch %d", version, got, id, epoch)
			}
			id, epoch = got.ProducerID, got.ProducerEpoch
		}
		if id == 1000 {
			t.Errorf("version %d: the producer id is still the first", version)
		}
	}
}
