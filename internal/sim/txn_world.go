package sim

import (
	"fmt"
	"time"

	"rota/internal/machine"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/txn"
)

// TxnWorld is a broker with transactions, and those who use it: movers that
// read a partition, write to others and commit how far they have read, all in
// one transaction each.
//
// What is real: coordinator.Shard over txn.Producer and over group.Group, and
// the bytes of their logs. What is played: the partitions of data, the network,
// the way of a request through package api, time, and the movers. Unlike a World
// it is not made of events that are kept: a seed is played again, and tells
// what it does (Trace).
//
// What is checked after every step:
//
//   - All of an attempt's records and its offset have one outcome, in every
//     partition, whatever the order in which markers become durable.
//   - An attempt is committed only if its mover has asked for that, and then
//     nothing that was acknowledged is missing.
//   - What a mover has begun that was fenced is never committed, and nothing
//     more of it gets into a log.
//   - The epochs of a producer id never go back, in the log and in answers, and
//     no id serves two transactional ids.
//   - A request is answered once.
//
// At the end all faults stop. Then every transaction must be over, no offset
// pending, every last stable offset at its end, every mover's input moved
// exactly once as far as its committed offset says; and the histories of what
// readers have read are free of anomalies (txn_history.go).
type TxnWorld struct {
	r      random
	config txn.Config
	mono   time.Duration
	wall   int64
	leader int32
	full   bool
	calm   bool // the faults have ended
	chaos  int
	// closing: movers begin nothing any more.
	closing bool

	states     []*txnHost
	offsets    []*groupHost
	partitions []*partition
	markers    []*marking
	again      []func() // what the shell tries again
	hops, slow []func() // requests between the coordinator and a log
	permits    []*permit
	movers     []*txnMover
	strays     []*txnCall // requests that their senders have given up
	queue      []func()
	guards     int
	producers  int64 // the last producer id

	attempts  []*attempt
	positions []int            // of each transactional id, by the offsets log
	pending   map[int]int      // producers with pending offsets, of each host
	logged    map[int64]holder // producer ids in the log
	told      map[int64]holder // and in answers
	codec     record.Codec

	spoil   txnSpoil
	steps   int
	h       uint64
	stats   *Stats
	failure *RuleError
	// Trace receives what happens, if it is set.
	Trace func(string)
}

// holder is the newest epoch of a producer id, and whose it is.
type holder struct {
	id    string
	epoch int16
}

// txnSpoil breaks the broker on purpose, one thing at a time, to see that it is
// noticed.
type txnSpoil struct {
	guards  bool // a marker leaves guards good
	permits bool // the same for permits
	leads   bool // a coordinator that has moved goes on with its markers, and nobody minds
	outcome bool // some markers say the opposite
	verify  bool // partitions take whatever comes
	reports bool // what could not be recorded while the disk was full is not brought again
	flush   bool // a failed flush of data is taken for a good one
	loads   bool // a load does not ask for the markers that are missing
	offset  bool // a consumer is told to begin at 0
}

const (
	txnIDs        = 4
	dataParts     = 3
	txnGroups     = 2
	offsetsExpire = time.Hour // between two looks for offsets to expire
	idsExpire     = time.Hour // the same for transactional ids
	txnTimeout    = 20 * time.Second
	txnPatience   = 5 * time.Second // of a mover with a request
)

func newTxnWorld(seed uint64, spoil txnSpoil, stats *Stats) *TxnWorld {
	w := &TxnWorld{
		spoil: spoil, r: random(seed*0x9e3779b97f4a7c15 + 77), stats: stats, wall: 1_700_000_000_000,
		positions: make([]int, txnIDs), pending: map[int]int{}, logged: map[int64]holder{}, told: map[int64]holder{}, producers: 1000, h: fnvStart,
	}
	w.config = txn.DefaultConfig()
	w.config.CheckInvariants = true
	w.config.Wait = pick(&w.r, 0, 100*time.Millisecond, time.Second)
	w.chaos = pick(&w.r, 10, 25, 60, 400)
	for n := range 1 + w.r.below(2) {
		w.states = append(w.states, w.newTxnHost(n))
	}
	for n := range 1 + w.r.below(2) {
		w.offsets = append(w.offsets, w.newGroupHost(n))
	}
	for n := range dataParts {
		w.partitions = append(w.partitions, w.newPartition(n))
	}
	if w.r.oneIn(3) {
		w.exhaust(w.r.below(txnIDs))
	}
	for _, h := range w.states {
		h.start()
	}
	for _, h := range w.offsets {
		h.start()
	}
	for id := range txnIDs {
		w.hire(id)
	}
	return w
}

// exhaust leaves a transactional id with few epochs, as years of work would.
func (w *TxnWorld) exhaust(id int) {
	w.producers++
	v := schema.TransactionValue{
		ProducerID: w.producers, PreviousProducerID: w.producers, NextProducerID: -1, ProducerEpoch: int16(32767 - 1 - w.r.below(12)),
		TimeoutMillis: int32(txnTimeout.Milliseconds()), State: txn.CompleteCommit, UpdatedAt: w.wall, StartedAt: w.wall, ClientVersion: txn.Version2,
	}
	var b record.Builder
	b.Reset(nil)
	b.Append(w.wall, schema.AppendTransactionKey(nil, schema.TransactionKey{TransactionalID: idName(id)}), schema.AppendTransactionValue(nil, &v, 1))
	h := w.stateOf(id)
	h.batches = append(h.batches, hosted{bytes: b.Finish()})
	h.land(1)
}

func idName(id int) string { return fmt.Sprint("mover-", id) }

func groupName(id int) string { return fmt.Sprint("group-", id%txnGroups) }

func (w *TxnWorld) stateOf(id int) *txnHost { return w.states[id%len(w.states)] }

func (w *TxnWorld) offsetsOf(id int) *groupHost { return w.offsets[id%txnGroups%len(w.offsets)] }

func (w *TxnWorld) now() machine.Now { return machine.Now{Mono: w.mono, Wall: w.wall} }

func (w *TxnWorld) pass(d time.Duration) {
	w.mono += d
	w.wall += d.Milliseconds()
}

// later runs f when the present turn is over.
func (w *TxnWorld) later(f func()) { w.queue = append(w.queue, f) }

func (w *TxnWorld) drain() {
	for len(w.queue) > 0 {
		f := w.queue[0]
		w.queue = w.queue[1:]
		f()
	}
}

func (w *TxnWorld) mix(values ...uint64) {
	for _, v := range values {
		w.h = (w.h ^ v) * fnvPrime
	}
}

func (w *TxnWorld) mixBytes(list []byte) {
	for _, b := range list {
		w.h = (w.h ^ uint64(b)) * fnvPrime
	}
}

func (w *TxnWorld) count(what string) { w.stats.Other[what]++ }

func (w *TxnWorld) trace(format string, args ...any) {
	if w.Trace != nil {
		w.Trace(fmt.Sprintf("%d %s: ", w.steps, w.mono) + fmt.Sprintf(format, args...))
	}
}

func (w *TxnWorld) fail(rule, format string, args ...any) {
	if w.failure == nil {
		w.failure = &RuleError{Rule: rule, Step: w.steps, Reason: fmt.Sprintf(format, args...)}
		w.trace("%v", w.failure)
	}
}

// step does one thing.
func (w *TxnWorld) step() {
	w.steps++
	if !w.calm && w.r.oneIn(w.chaos) {
		w.fault()
	} else {
		w.ordinary()
	}
	w.drain()
	w.mix(uint64(w.steps), uint64(w.mono))
}

// ordinary is a step in which nothing goes wrong.
func (w *TxnWorld) ordinary() {
	if len(w.strays) > 0 && w.r.oneIn(8) {
		i := w.r.below(len(w.strays))
		c := w.strays[i]
		w.strays = append(w.strays[:i:i], w.strays[i+1:]...)
		w.count("late request")
		w.serve(c)
		return
	}
	if len(w.hops) > 0 && w.r.oneIn(3) {
		w.hops = w.takeOne(w.hops)
		return
	}
	if len(w.slow) > 0 && (w.calm || w.r.oneIn(100)) {
		w.slow = w.takeOne(w.slow)
		return
	}
	switch n := w.r.below(20); {
	case n < 7:
		w.landSomething()
	case n < 10:
		w.markSomething()
	case n < 18:
		m := w.movers[w.r.below(len(w.movers))]
		if !m.paused {
			m.move()
		}
	default:
		w.elapse(w.r.between(time.Millisecond, 300*time.Millisecond))
	}
}

// takeOne runs one of the functions and returns the others.
func (w *TxnWorld) takeOne(list []func()) []func() {
	i := w.r.below(len(list))
	f := list[i]
	list = append(list[:i:i], list[i+1:]...)
	w.later(f)
	return list
}

// elapse lets time pass, and looks at what is due then.
func (w *TxnWorld) elapse(d time.Duration) {
	w.pass(d)
	w.wake()
}

// wake runs the deadlines of the shards, and starts those that nobody serves.
func (w *TxnWorld) wake() {
	wakeHosts(w, w.states)
	wakeHosts(w, w.offsets)
}

func wakeHosts[Q, R, E any](w *TxnWorld, hosts []*host[Q, R, E]) {
	for _, h := range hosts {
		if h.serving == nil && (w.calm || w.r.oneIn(3)) {
			h.start()
		}
		if h.serving == nil {
			continue
		}
		if at, ok := h.serving.Deadline(); ok && at <= w.mono {
			h.turn(nil)
		}
	}
}

// landSomething makes the oldest append of one log durable.
func (w *TxnWorld) landSomething() {
	var ready []func()
	for _, h := range w.states {
		if h.durable < len(h.batches) {
			ready = append(ready, h.complete)
		}
	}
	for _, h := range w.offsets {
		if h.durable < len(h.batches) {
			ready = append(ready, h.complete)
		}
	}
	for _, p := range w.partitions {
		if p.durable < len(p.batches) {
			ready = append(ready, p.complete)
		}
	}
	if len(ready) > 0 {
		ready[w.r.below(len(ready))]()
	}
}

// fault is a step in which something goes wrong.
func (w *TxnWorld) fault() {
	faults := txnFaults
	f := faults[w.r.below(len(faults))]
	if f.do(w) {
		w.count("fault: " + f.name)
		w.trace("fault: %s", f.name)
	}
}
