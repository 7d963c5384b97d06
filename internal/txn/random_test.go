package txn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rota/internal/schema"
)

// walk is a random life of a transactional id: clients that take it over,
// repeat themselves and come back from the dead, a clock, a coordinator that
// moves, markers that are late and come twice. What it checks is what readers
// rely on.
type walk struct {
	*driver
	rng      *rand.Rand
	holders  []identity // every id and epoch that was ever given, oldest first
	requests map[Ticket]Request
	outcomes map[Offset]Event // of each decision, what was asked for
	done     []Offset         // decisions whose markers are written
	promised map[identity]bool
	last     schema.TransactionValue
	// decisions are whether transactions were committed; before of them are
	// older than the present step, which may bring several answers.
	decisions []bool
	before    int
}

func newWalk(tb testing.TB, seed uint64) *walk {
	c := DefaultConfig()
	rng := rand.New(rand.NewPCG(seed, 6))
	c.Version = int16(rng.IntN(3))
	c.Wait = []time.Duration{0, 100 * time.Millisecond, 10 * time.Second}[rng.IntN(3)]
	w := &walk{
		driver: newDriver(tb, &c), rng: rng, requests: map[Ticket]Request{},
		outcomes: map[Offset]Event{}, promised: map[identity]bool{},
	}
	w.onRecord, w.onReply, w.onEvent = w.recorded, w.replied, w.happened
	return w
}

// recorded checks that states follow each other as the package comment draws.
func (w *walk) recorded(e Entry) {
	v, before := schema.TransactionValue{State: -1}, w.last
	if e.Value != nil {
		var err error
		if v, err = schema.ParseTransactionValue(e.Value); err != nil {
			w.tb.Fatal(err)
		}
	}
	w.last = v
	if ending(v.State) {
		w.decisions = append(w.decisions, v.State == PrepareCommit)
	}
	follows := map[State][]State{
		-1: {Empty}, Empty: {Empty, Ongoing, PrepareAbort, -1}, Ongoing: {Ongoing, PrepareCommit, PrepareAbort},
		PrepareCommit: {CompleteCommit}, PrepareAbort: {CompleteAbort},
		CompleteCommit: {Empty, Ongoing, PrepareAbort, -1}, CompleteAbort: {Empty, Ongoing, PrepareAbort, -1},
	}
	if e.Offset == 0 {
		before.State = -1
	}
	if !slices.Contains(follows[before.State], v.State) {
		w.tb.Fatalf("%s follows %s", v.State, before.State)
	}
	if v.State >= 0 && before.State >= 0 {
		if v.ProducerID == before.ProducerID && v.ProducerEpoch < before.ProducerEpoch {
			w.tb.Fatalf("epoch %d follows %d", v.ProducerEpoch, before.ProducerEpoch)
		}
		if ending(v.State) && w.cfg.Version == Version2 && v.ClientVersion == Version2 && v.ProducerEpoch == before.ProducerEpoch && before.ProducerEpoch < math.MaxInt16 {
			w.tb.Fatalf("%s leaves epoch %d as it is", v.State, v.ProducerEpoch)
		}
	}
}

func (w *walk) replied(t Ticket, r Response) {
	req := w.requests[t]
	delete(w.requests, t)
	switch r := r.(type) {
	case Initialized:
		if r.Code != codeNone {
			return
		}
		given := identity{r.ProducerID, r.ProducerEpoch}
		asked, _ := req.(InitProducerID)
		if w.promised[given] && !asked.continues() {
			w.tb.Fatalf("%+v is given twice", given)
		}
		w.promised[given] = true
		w.holders = append(w.holders, given)
	case AddedPartitions:
		asked, _ := req.(AddPartitions)
		if r.Code == codeNone && !asked.VerifyOnly && w.p.log.State == Ongoing && w.p.log.ProducerEpoch == asked.ProducerEpoch {
			for _, tp := range asked.Partitions {
				if !w.p.holds(tp) {
					w.tb.Fatalf("%v was added and is not there", tp)
				}
			}
		}
	case Ended:
		asked, _ := req.(End)
		if r.Code == codeNone && !slices.Contains(w.decisions[max(w.before-1, 0):], asked.Commit) {
			w.tb.Fatalf("an end with commit %t was granted, the decisions are %t", asked.Commit, w.decisions)
		}
		if r.Code == codeNone && r.ProducerID != none {
			w.holders = append(w.holders, identity{r.ProducerID, r.ProducerEpoch})
		}
	}
}

// happened checks that a decision never changes.
func (w *walk) happened(e Event) {
	if e.Kind != WriteMarkers {
		return
	}
	if before, again := w.outcomes[e.Decision]; again && fmt.Sprint(before) != fmt.Sprint(e) {
		w.tb.Fatalf("the decision at %d was %+v and is %+v", e.Decision, before, e)
	}
	if slices.Contains(w.done, e.Decision) && w.p.log.at != e.Decision {
		w.tb.Fatalf("markers of %d are asked for after its end", e.Decision)
	}
	w.outcomes[e.Decision] = e
}

func (w *walk) send(req Request) {
	w.requests[w.ticket+1], w.before = req, len(w.decisions)
	w.step(req)
}

// someone picks an identity, mostly the one that holds the id now.
func (w *walk) someone() identity {
	switch n := len(w.holders); {
	case n == 0:
		return identity{7, 3}
	case w.rng.IntN(4) > 0:
		return w.holders[n-1]
	default:
		return w.holders[w.rng.IntN(n)]
	}
}

func (w *walk) turn() {
	who := w.someone()
	version := []int16{Version0, Version2}[w.rng.IntN(2)]
	switch w.rng.IntN(14) {
	case 0, 1:
		r := InitProducerID{TimeoutMillis: int32(1 + w.rng.IntN(20_000)), ProducerID: none, ProducerEpoch: none, NewProducerID: w.newID()}
		if w.rng.IntN(2) == 0 {
			r.ProducerID, r.ProducerEpoch = who.producer, who.epoch
		}
		w.send(r)
	case 2, 3, 4:
		r := AddPartitions{ProducerID: who.producer, ProducerEpoch: who.epoch, VerifyOnly: w.rng.IntN(3) == 0, ClientVersion: version}
		for range w.rng.IntN(3) {
			r.Partitions = append(r.Partitions, TopicPartition{string(rune('t' + w.rng.IntN(3))), int32(w.rng.IntN(4))})
		}
		w.send(r)
	case 5:
		w.send(AddOffsets{ProducerID: who.producer, ProducerEpoch: who.epoch, Partition: int32(w.rng.IntN(5)), ClientVersion: version})
	case 6, 7, 8:
		w.send(End{ProducerID: who.producer, ProducerEpoch: who.epoch, Commit: w.rng.IntN(3) > 0, ClientVersion: version, NewProducerID: w.newID()})
	case 9, 10:
		w.markers()
	case 11:
		w.pass(time.Duration(w.rng.IntN(15_000)) * time.Millisecond)
	case 12:
		w.anything()
	case 13:
		if w.rng.IntN(10) == 0 {
			w.reload()
			clear(w.requests)
		}
	}
	if w.rng.IntN(16) == 0 {
		w.compareReplay()
	}
}

// markers writes those that were asked for last, or some that were before.
func (w *walk) markers() {
	if len(w.outcomes) == 0 {
		return
	}
	decision := w.p.log.at
	if w.rng.IntN(4) == 0 {
		decision = Offset(w.rng.IntN(len(w.log)))
	}
	w.send(MarkersWritten{Decision: decision})
	w.done = append(w.done, decision)
}

// anything is what happens seldom.
func (w *walk) anything() {
	switch w.rng.IntN(6) {
	case 0:
		w.send(Expire{})
	case 1:
		w.pass(8 * 24 * time.Hour)
		w.step(Expire{})
	case 2:
		w.send(SupplyProducerID{ProducerID: w.newID()})
	case 3:
		w.send(Describe{})
	case 4:
		w.p.Forgive(w.now, time.Second)
	case 5: // only a long life gets there by itself
		if w.p.log.exists && idle(w.p.log.State) && len(w.p.waiting) == 0 {
			w.p.begin(w.now, Offset(len(w.log)))
			v := w.p.log.TransactionValue
			v.State, v.StartedAt, v.ProducerEpoch = Empty, none, max(v.ProducerEpoch, math.MaxInt16-3)
			w.p.record(v)
			w.settle(w.p.finish())
			w.holders = append(w.holders, identity{v.ProducerID, v.ProducerEpoch})
			w.promised[identity{v.ProducerID, v.ProducerEpoch}] = true
		}
	}
}

func TestRandomLives(t *testing.T) {
	for seed := range uint64(120) {
		w := newWalk(t, seed)
		for range 300 {
			w.turn()
		}
		w.compareReplay()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestSameLifeTwice: the same calls have the same outcome, byte for byte.
func TestSameLifeTwice(t *testing.T) {
	for seed := range uint64(20) {
		var lives [2]string
		for i := range lives {
			w := newWalk(t, seed)
			for range 200 {
				w.turn()
			}
			text, err := w.p.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			lives[i] = fmt.Sprintf("%s\n%+v", text, w.log)
		}
		if lives[0] != lives[1] {
			t.Fatalf("seed %d:\n%s\n%s", seed, lives[0], lives[1])
		}
	}
}

// FuzzTransactionLog: whatever the log holds, loading it ends with an error or
// with an id that can be served.
func FuzzTransactionLog(f *testing.F) {
	for _, version := range []int16{0, 1} {
		for state := range State(6) {
			v := schema.TransactionValue{
				ProducerID: 7, PreviousProducerID: 7, NextProducerID: none, ProducerEpoch: 3, TimeoutMillis: 1000, State: state,
				UpdatedAt: 5, StartedAt: 4, ClientVersion: Version2,
			}
			if state != Empty {
				v.Partitions = []schema.TransactionPartitions{{Topic: "t", Partitions: []int32{0, 1}}}
			}
			f.Add(schema.AppendTransactionValue(nil, &v, version))
		}
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		conf := DefaultConfig()
		p := New("transfers", &conf)
		if err := p.Apply(Entry{Offset: 0, ProducerID: none, ProducerEpoch: none, Value: value}); err != nil {
			return
		}
		d := newDriver(t, &conf)
		d.p, d.log, conf.CheckInvariants = p, []Entry{{Value: value}}, false
		d.settle(p.Loaded(d.now, 1, 1))
		d.step(Describe{})
		d.step(InitProducerID{TimeoutMillis: 1000, ProducerID: none, ProducerEpoch: none, NewProducerID: 8})
		d.step(MarkersWritten{Decision: p.log.at})
		d.pass(time.Hour)
		d.step(SupplyProducerID{ProducerID: 9})
		d.step(MarkersWritten{Decision: p.log.at})
		if _, ok := p.Summary(); ok {
			d.compareReplay()
		}
	})
}
