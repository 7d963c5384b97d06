package sim

import (
	"slices"
	"time"
)

// weight is how often a kind is chosen, against the others.
type weight struct {
	kind Kind
	n    int
}

var ordinary = []weight{{Take, 30}, {TakeAll, 6}, {Deliver, 30}, {Find, 10}, {Land, 4}, {Pass, 12}, {Act, 10}, {Start, 6}, {Flow, 2}}

var faults = []weight{
	{BreakConnection, 10},
	{LoseConnection, 3},
	{Delay, 10},
	{Late, 8},
	{SendTwice, 8},
	{FailAppend, 2},
	{RefuseAppend, 1},
	{ForeignAppend, 1},
	{Crash, 1},
	{Move, 1},
	{Drain, 1},
	{FindFails, 5},
	{JumpWall, 3},
	{Stall, 2},
	{LateTimer, 4},
	{FillDisk, 1},
	{Die, 3},
	{Freeze, 6},
	{Dawdle, 5},
	{Throw, 3},
	{HoldCallback, 5},
	{GrowTopic, 3},
	{Resize, 1},
}

func draw(r *random, list []weight, total int) Kind {
	n := r.below(total)
	for _, x := range list {
		if n -= x.n; n < 0 {
			return x.kind
		}
	}
	return list[0].kind
}

func total(list []weight) int {
	n := 0
	for _, x := range list {
		n += x.n
	}
	return n
}

var ordinaryTotal, faultTotal = total(ordinary), total(faults)

// advance chooses one Event and plays it.
func (w *World) advance(r *random) Event {
	for {
		var kind Kind
		switch {
		case w.anyFull() && r.oneIn(12):
			kind = FillDisk
		case r.oneIn(w.o.chaos):
			kind = draw(r, faults, faultTotal)
			if w.o.owners && r.oneIn(2) {
				kind = Delay // it is time that ownership rests on
			}
		case r.oneIn(5 - min(w.o.landing, 4)):
			kind = Land
			if w.o.landing > 1 && r.oneIn(2) {
				kind = draw(r, ordinary, ordinaryTotal)
			}
		default:
			kind = draw(r, ordinary, ordinaryTotal)
		}
		if kind == Pass && w.o.flows && !r.oneIn(8) {
			kind = Flow
		}
		e := Event{Kind: kind}
		if draw := amounts[kind]; draw != nil {
			e.N = draw(r)
		}
		first := r.below(256)
		if kind == FillDisk {
			first = max(slices.IndexFunc(w.shards, func(sh *shard) bool { return sh.disk.full }), 0)
		}
		for i := range w.whom(kind) {
			e.Who = uint8((first + i) % w.whom(kind))
			if w.step(e) || w.failure != nil {
				return e
			}
		}
	}
}

// anyFull reports whether a log takes no records: that does not last.
func (w *World) anyFull() bool {
	return slices.ContainsFunc(w.shards, func(sh *shard) bool { return sh.disk.full })
}

// whom is how many there are that an Event of a kind can be about.
func (w *World) whom(k Kind) int {
	switch about[k] {
	case anActor:
		return len(w.actors)
	case aConnection:
		return len(w.actors) * w.lanes()
	case aShard:
		return len(w.shards)
	case theWorld:
	}
	return 1
}

// amounts draw an Event's number. Other kinds have none.
var amounts = [kinds]func(r *random) uint64{
	Pass:      func(r *random) uint64 { return ms(r, 0, 8*time.Second) },
	Flow:      func(r *random) uint64 { return ms(r, 0, 8*time.Second) },
	LateTimer: func(r *random) uint64 { return ms(r, 0, 500*time.Millisecond) },
	Stall: func(r *random) uint64 {
		if r.oneIn(3) {
			return ms(r, 40*time.Second, time.Minute)
		}
		return ms(r, 500*time.Millisecond, 20*time.Second)
	},
	JumpWall: func(r *random) uint64 {
		if r.oneIn(4) {
			return uint64((10 * time.Hour).Milliseconds())
		}
		return ms(r, 0, time.Minute)
	},
	Act: anything, Delay: anything, FailAppend: anything, Crash: anything, Move: anything, Land: anything, GrowTopic: anything, Resize: anything,
}

func anything(r *random) uint64 { return r.next() >> 40 }

func ms(r *random, from, to time.Duration) uint64 {
	return uint64(r.between(from, to).Milliseconds())
}
