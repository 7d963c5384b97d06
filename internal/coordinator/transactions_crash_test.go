package coordinator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
	"rota/internal/txn"
)

// transfer is a whole transaction as a client sends it: it takes the id over,
// adds two partitions and the offsets of a group, commits an offset and ends.
// It stops at the first answer that is an error, as a client does whose broker
// has gone.
type transfer struct {
	b       *bank
	version int16
	commit  bool
	next    int // step
	who     txn.Initialized
	ended   bool // the end was granted
	over    bool
}

func (f *transfer) answer(r txn.Response) {
	code := txn.Code(0)
	switch r := r.(type) {
	case txn.Initialized:
		f.who, code = r, r.Code
	case txn.AddedPartitions:
		code = r.Code
	case txn.AddedOffsets:
		code = r.Code
	case txn.Ended:
		code = r.Code
		f.ended = code == 0
	}
	if code != 0 {
		f.over = true
		return
	}
	f.send()
}

// send sends the next request.
func (f *transfer) send() {
	step := f.next
	f.next++
	submit := func(req txn.Request) { f.b.txns.Submit("transfers", req, f.answer) }
	id, epoch := f.who.ProducerID, f.who.ProducerEpoch
	switch step {
	case 0:
		submit(txn.InitProducerID{TimeoutMillis: 60_000, ProducerID: -1, ProducerEpoch: -1})
	case 1:
		submit(txn.AddPartitions{ProducerID: id, ProducerEpoch: epoch, Partitions: []txn.TopicPartition{account0, account1}, ClientVersion: f.version})
	case 2:
		submit(txn.AddOffsets{ProducerID: id, ProducerEpoch: epoch, ClientVersion: f.version})
	case 3:
		commit := group.TxnCommit{
			Version: 3, TransactionalID: "transfers", ProducerID: id, ProducerEpoch: epoch, Generation: -1,
			Offsets: []group.CommitOffset{{TopicPartition: group.TopicPartition{Topic: account0.Topic}, Offset: 42, LeaderEpoch: -1, Timestamp: -1}},
		}
		f.b.groups.Submit("movers", commit, func(r group.Response) {
			if c := r.(group.Committed); c.Codes[0] != 0 {
				f.over = true
				return
			}
			f.send()
		})
	case 4:
		submit(txn.End{ProducerID: id, ProducerEpoch: epoch, Commit: f.commit, ClientVersion: f.version})
	default:
		f.over = true
	}
}

// TestCrashBetweenAnyTwoSteps ends the broker after each single append that
// becomes durable, in any order of the logs among each other, and looks at what
// is left: the transaction happened everywhere or nowhere, as its client was
// told if it was told anything.
func TestCrashBetweenAnyTwoSteps(t *testing.T) {
	for _, version := range []int16{txn.Version0, txn.Version2} {
		for _, commit := range []bool{true, false} {
			for seed := range uint64(6) {
				for crash, more := 0, true; more && !t.Failed(); crash++ {
					name := fmt.Sprintf("version=%d commit=%t seed=%d crash=%d", version, commit, seed, crash)
					t.Run(name, func(t *testing.T) {
						bubble(t, func(t *testing.T) { more = crashAfter(t, version, commit, seed, crash) })
					})
				}
			}
		}
	}
}

// crashAfter lets n appends become durable, crashes, starts again and checks.
// It reports whether there were that many.
func crashAfter(t *testing.T, version int16, commit bool, seed uint64, n int) bool {
	b := newBank(t)
	<-b.txns.Loaded()
	<-b.groups.Loaded()
	rng := rand.New(rand.NewPCG(seed, 1))
	b.hold(true)
	f := &transfer{b: b, version: version, commit: commit}
	f.send()
	landed := 0
	for ; landed < n; landed++ {
		synctest.Wait()
		ready := b.landings()
		if len(ready) == 0 {
			break
		}
		ready[rng.IntN(len(ready))]()
		checkOrder(t, b)
	}
	synctest.Wait()
	granted := f.ended
	b.crash()
	checkOrder(t, b)
	decided := decisionOf(b.records())
	b.hold(false)
	b.start()
	<-b.txns.Loaded()
	<-b.groups.Loaded()
	b.settle()
	checkOutcome(t, b, decided, granted, commit)
	return landed == n
}

// decisionOf is the outcome that the log holds: "", "commit" or "abort".
func decisionOf(records []schema.TransactionValue) string {
	decided := ""
	for _, v := range records {
		switch v.State {
		case txn.PrepareCommit:
			decided = "commit"
		case txn.PrepareAbort:
			decided = "abort"
		case txn.Empty, txn.Ongoing, txn.CompleteCommit, txn.CompleteAbort:
		}
	}
	return decided
}

// checkOrder: no marker is durable before the decision is, and no completion
// before every marker is.
func checkOrder(t *testing.T, b *bank) {
	t.Helper()
	records, markers := b.records(), b.markers()
	decided := decisionOf(records)
	for partition, outcomes := range markers {
		for _, commit := range outcomes {
			if decided == "" || commit != (decided == "commit") {
				t.Fatalf("%s has a marker with commit %t, the log says %q", partition, commit, decided)
			}
		}
	}
	partitions := 0
	for _, v := range records {
		switch v.State {
		case txn.PrepareCommit, txn.PrepareAbort:
			partitions = 0
			for _, p := range v.Partitions {
				partitions += len(p.Partitions)
			}
		case txn.CompleteCommit, txn.CompleteAbort:
			if len(markers) != partitions {
				t.Fatalf("%s of %d partitions with the markers %v", v.State, partitions, markers)
			}
		case txn.Empty, txn.Ongoing:
		}
	}
}

// checkOutcome: a decided transaction is complete everywhere; one that was not
// decided is, once its time is over.
func checkOutcome(t *testing.T, b *bank, decided string, granted, commit bool) {
	t.Helper()
	if granted && decided != map[bool]string{true: "commit", false: "abort"}[commit] {
		t.Fatalf("the client was told of commit %t, the log says %q", commit, decided)
	}
	described := b.ask(txn.Describe{}).(txn.Described)
	switch {
	case decided == "" && described.State == "Ongoing":
		b.txns.Advance(61 * time.Second)
		b.settle()
		decided = "abort"
	case decided == "":
		if len(b.markers()) > 0 || described.Code == 0 && described.State != "Empty" {
			t.Fatalf("%+v with markers %v, and no decision", described, b.markers())
		}
		return
	}
	want := map[string]string{"commit": "CompleteCommit", "abort": "CompleteAbort"}[decided]
	if got := b.ask(txn.Describe{}).(txn.Described); got.State != want {
		t.Fatalf("%s after a restart, want %s", got.State, want)
	}
	checkOrder(t, b)
	partitions := b.ask(txn.Describe{}).(txn.Described).Partitions
	if len(partitions) > 0 {
		t.Fatalf("%v are left", partitions)
	}
	offset, stable := b.fetch()
	if !stable || offset != map[string]int64{"commit": 42, "abort": -1}[decided] {
		t.Fatalf("offset %d, stable %t after a %s", offset, stable, decided)
	}
}
