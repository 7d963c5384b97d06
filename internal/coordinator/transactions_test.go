package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/txn"
)

// begin takes the id over and adds both partitions.
func (b *bank) begin(version int16) txn.Initialized {
	b.t.Helper()
	who := b.init()
	r := b.ask(txn.AddPartitions{
		ProducerID: who.ProducerID, ProducerEpoch: who.ProducerEpoch, Partitions: []txn.TopicPartition{account0, account1}, ClientVersion: version,
	}).(txn.AddedPartitions)
	if r.Code != 0 {
		b.t.Fatalf("add: %+v", r)
	}
	return who
}

func (b *bank) end(who txn.Initialized, commit bool, version int16) txn.Ended {
	b.t.Helper()
	return b.ask(txn.End{ProducerID: who.ProducerID, ProducerEpoch: who.ProducerEpoch, Commit: commit, ClientVersion: version}).(txn.Ended)
}

func (b *bank) wantState(want string) {
	b.t.Helper()
	synctest.Wait()
	if got := b.ask(txn.Describe{}).(txn.Described).State; got != want {
		b.t.Errorf("%s, want %s", got, want)
	}
}

// The topic is made by the first producer, once, and nothing before that needs
// it.
func TestTransactionsTopicIsMadeOnFirstNeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		b.stop()
		b.exists = false
		b.start()
		<-b.txns.Loaded()
		if list, code, err := b.txns.List(t.Context()); len(list) > 0 || code != 0 || err != nil {
			t.Errorf("list: %v, %d, %v", list, code, err)
		}
		for _, req := range []txn.Request{txn.Describe{}, txn.End{ProducerID: 1}, txn.AddOffsets{ProducerID: 1}} {
			switch r := b.ask(req).(type) {
			case txn.Described:
				if r.Code != 105 { // TRANSACTIONAL_ID_NOT_FOUND
					t.Errorf("describe: %+v", r)
				}
			case txn.Ended:
				if r.Code != 49 { // INVALID_PRODUCER_ID_MAPPING
					t.Errorf("end: %+v", r)
				}
			case txn.AddedOffsets:
				if r.Code != 49 {
					t.Errorf("add offsets: %+v", r)
				}
			}
		}
		if b.makes != 0 {
			t.Errorf("the topic was made %d times", b.makes)
		}
		answers := make(chan txn.Response, 10)
		for i := range 10 {
			b.txns.Submit(fmt.Sprint(i), txn.InitProducerID{TimeoutMillis: 1000, ProducerID: -1, ProducerEpoch: -1}, func(r txn.Response) { answers <- r })
		}
		seen := map[int64]bool{}
		for range 10 {
			r := (<-answers).(txn.Initialized)
			if r.Code != 0 || seen[r.ProducerID] {
				t.Errorf("init: %+v", r)
			}
			seen[r.ProducerID] = true
		}
		if b.makes != 1 {
			t.Errorf("the topic was made %d times", b.makes)
		}
		list, _, _ := b.txns.List(t.Context())
		if len(list) != 10 || list[3].TransactionalID != "3" || list[3].State != "Empty" {
			t.Errorf("list: %+v", list)
		}
	})
}

// While the disk is full it cannot be recorded that all markers are written. It
// is brought again.
func TestEndIsRecordedOnceTheDiskHasRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.begin(txn.Version2)
		b.data[account0].set(func(p *fakePartition) { p.hold = true })
		if r := b.end(who, true, txn.Version2); r.Code != 0 {
			t.Fatalf("end: %+v", r)
		}
		synctest.Wait()
		b.state.set(func(l *fakeLog) { l.full = true })
		b.hold(false)
		b.data[account0].land(1)
		time.Sleep(10 * time.Second)
		b.wantState("PrepareCommit")
		b.state.set(func(l *fakeLog) { l.full = false })
		time.Sleep(2 * time.Second)
		b.wantState("CompleteCommit")
	})
}

// A marker that cannot be written is tried again, and the transaction is not
// complete before.
func TestMarkerIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.begin(txn.Version2)
		b.data[account1].set(func(p *fakePartition) { p.err = storage.ErrFlushFailed })
		if r := b.end(who, true, txn.Version2); r.Code != 0 || r.ProducerEpoch != who.ProducerEpoch+1 {
			t.Fatalf("end: %+v", r)
		}
		time.Sleep(10 * time.Second)
		b.wantState("PrepareCommit")
		b.data[account1].set(func(p *fakePartition) {
			if p.tries < 5 || p.tries > 30 {
				t.Errorf("%d tries in 10 s", p.tries)
			}
			p.err = nil
		})
		time.Sleep(time.Second)
		b.wantState("CompleteCommit")
		if got := fmt.Sprint(b.markers()); got != "map[accounts0:[true] accounts1:[true]]" {
			t.Error(got)
		}
	})
}

// A coordinator that has lost its partition writes no markers any more: its
// successor does, and the next transaction may have begun since.
func TestMarkersOfAFormerCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.begin(txn.Version0)
		b.data[account1].set(func(p *fakePartition) { p.err = errors.New("not now") })
		b.end(who, true, txn.Version0)
		synctest.Wait()
		if err := b.txns.Move(0); err != nil {
			t.Fatal(err)
		}
		b.data[account1].set(func(p *fakePartition) { p.err = nil })
		time.Sleep(time.Minute)
		b.wantState("CompleteCommit")
		for tp, p := range b.data {
			p.set(func(p *fakePartition) {
				last := p.durable[len(p.durable)-1]
				if last.CoordinatorEpoch != b.epoch || !last.Commit {
					t.Errorf("%v: %+v in epoch %d", tp, last, b.epoch)
				}
				if tp == account1 && len(p.durable) != 1 {
					t.Errorf("%v has %+v", tp, p.durable)
				}
			})
		}
	})
}

// A flush that fails takes the decision back with everything else: the client
// is told nothing, and whoever loads the log goes by what it holds.
func TestDecisionWhoseFlushFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.begin(txn.Version2)
		b.state.set(func(l *fakeLog) { l.hold = true })
		answer := make(chan txn.Response, 1)
		b.txns.Submit("transfers", txn.End{ProducerID: who.ProducerID, Commit: true, ClientVersion: txn.Version2}, func(r txn.Response) { answer <- r })
		synctest.Wait()
		b.state.set(func(l *fakeLog) { l.hold = false })
		b.state.fail()
		if r := (<-answer).(txn.Ended); r.Code != codeNotCoordinator {
			t.Errorf("end: %+v", r)
		}
		b.wantState("Ongoing")
		if got := b.markers(); len(got) > 0 {
			t.Errorf("markers %v", got)
		}
		if r := b.end(who, true, txn.Version2); r.Code != 0 {
			t.Errorf("end again: %+v", r)
		}
		b.wantState("CompleteCommit")
	})
}

// The next transaction waits for the markers of the last one, without its
// producer having to come back.
func TestNextTransactionWaitsForMarkers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.begin(txn.Version2)
		b.data[account0].set(func(p *fakePartition) { p.hold = true })
		who.ProducerEpoch = b.end(who, false, txn.Version2).ProducerEpoch
		answer := make(chan txn.Response, 1)
		b.txns.Submit("transfers", txn.AddPartitions{
			ProducerID: who.ProducerID, ProducerEpoch: who.ProducerEpoch, Partitions: []txn.TopicPartition{account0}, ClientVersion: txn.Version2,
		}, func(r txn.Response) { answer <- r })
		synctest.Wait()
		b.data[account0].land(1)
		if r := (<-answer).(txn.AddedPartitions); r.Code != 0 {
			t.Errorf("add: %+v", r)
		}
		b.wantState("Ongoing")
	})
}

// A transaction that is open for too long is aborted, also if that takes a new
// producer id that cannot be had at once, nor recorded at once.
func TestTimeoutInTheLastEpoch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		who := b.init()
		for who.ProducerEpoch < 32766 { // each abort of nothing takes one
			r := b.ask(txn.End{ProducerID: who.ProducerID, ProducerEpoch: who.ProducerEpoch, ClientVersion: txn.Version2}).(txn.Ended)
			if r.Code != 0 || r.ProducerEpoch != who.ProducerEpoch+1 {
				t.Fatalf("abort in epoch %d: %+v", who.ProducerEpoch, r)
			}
			who.ProducerEpoch = r.ProducerEpoch
		}
		b.ask(txn.AddPartitions{ProducerID: who.ProducerID, ProducerEpoch: who.ProducerEpoch, Partitions: []txn.TopicPartition{account0}, ClientVersion: txn.Version2})
		b.mu.Lock()
		b.idErr = errors.New("no ids")
		b.mu.Unlock()
		time.Sleep(2 * time.Minute)
		b.wantState("Ongoing")
		b.state.set(func(l *fakeLog) { l.full = true })
		b.mu.Lock()
		b.idErr = nil
		b.mu.Unlock()
		time.Sleep(10 * time.Second)
		b.wantState("Ongoing")
		b.state.set(func(l *fakeLog) { l.full = false })
		time.Sleep(2 * time.Second)
		b.wantState("CompleteAbort")
		if r := b.ask(txn.Describe{}).(txn.Described); r.ProducerID == who.ProducerID || r.ProducerEpoch != 0 {
			t.Errorf("%+v follows producer %d", r, who.ProducerID)
		}
	})
}

// TestMarkersInAGroupShard: which markers a shard of groups takes, and what
// they do to pending offsets.
func TestMarkersInAGroupShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBank(t)
		<-b.groups.Loaded()
		send := func(m storage.Marker) error {
			done := make(chan error, 1)
			b.groups.EndTransaction(0, m, func(err error) { done <- err })
			return <-done
		}
		mark := func(epoch int16, coordinator int32, commit bool) error {
			return send(storage.Marker{ProducerID: 7, ProducerEpoch: epoch, CoordinatorEpoch: coordinator, Commit: commit})
		}
		pend := func(epoch int16, offset int64) {
			got := make(chan group.Response, 1)
			b.groups.Submit("movers", group.TxnCommit{
				Version: 3, ProducerID: 7, ProducerEpoch: epoch, Generation: -1,
				Offsets: []group.CommitOffset{{TopicPartition: group.TopicPartition{Topic: account0.Topic}, Offset: offset, LeaderEpoch: -1, Timestamp: -1}},
			}, func(r group.Response) { got <- r })
			if r := (<-got).(group.Committed); r.Codes[0] != 0 {
				t.Fatalf("commit: %+v", r)
			}
		}
		want := func(offset int64, stable bool) {
			t.Helper()
			if o, s := b.fetch(); s != stable || s && o != offset {
				t.Errorf("offset %d, stable %t, want %d, %t", o, s, offset, stable)
			}
		}
		pend(0, 10)
		want(0, false)
		if err := mark(0, 5, true); err != nil {
			t.Error(err)
		}
		want(10, true)
		pend(1, 20)
		if err := mark(1, 4, true); !errors.Is(err, storage.ErrCoordinatorFenced) {
			t.Errorf("marker of a former coordinator: %v", err)
		}
		if err := mark(0, 6, true); !errors.Is(err, storage.ErrInvalidProducerEpoch) {
			t.Errorf("marker of a former producer: %v", err)
		}
		if err := send(storage.Marker{ProducerID: 7, ProducerEpoch: 1, CoordinatorEpoch: 5, Raised: true}); !errors.Is(err, storage.ErrInvalidProducerEpoch) {
			t.Errorf("marker of the transaction before: %v", err)
		}
		want(0, false)

		// A new coordinator of the groups knows as much.
		if err := b.groups.Move(0); err != nil {
			t.Fatal(err)
		}
		if err := mark(1, 4, true); !errors.Is(err, storage.ErrCoordinatorFenced) {
			t.Errorf("marker of a former coordinator after a move: %v", err)
		}
		if err := mark(1, 5, false); err != nil {
			t.Error(err)
		}
		want(10, true)
		if err := mark(3, 9, true); err != nil { // without an open transaction
			t.Error(err)
		}
		want(10, true)

		b.offsets.set(func(l *fakeLog) { l.full = true })
		if err := mark(3, 9, true); !errors.Is(err, storage.ErrFull) {
			t.Errorf("marker on a full disk: %v", err)
		}
		b.offsets.set(func(l *fakeLog) { l.full, l.hold = false, true })
		failed := make(chan error, 1)
		b.groups.EndTransaction(0, storage.Marker{ProducerID: 7, ProducerEpoch: 3, CoordinatorEpoch: 9}, func(err error) { failed <- err })
		synctest.Wait()
		b.offsets.set(func(l *fakeLog) { l.hold = false })
		b.offsets.fail()
		var lost *AppendError
		if err := <-failed; !errors.As(err, &lost) {
			t.Errorf("marker whose flush fails: %v", err)
		}
		if err := b.groups.Close(); err != nil {
			t.Error(err)
		}
		if err := mark(3, 9, true); !errors.Is(err, ErrNotServing) {
			t.Errorf("marker after the end: %v", err)
		}
	})
}
