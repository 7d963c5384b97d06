package sim

import "time"

// txnFault is something that goes wrong. do reports whether there was
// something for it to go wrong with.
type txnFault struct {
	name string
	do   func(*TxnWorld) bool
}

// txnFaults are all of them.
var txnFaults = []txnFault{
	{"request lost", func(w *TxnWorld) bool {
		return w.withCall(func(c *txnCall) bool { return !c.taken }, func(m *txnMover) { m.call = nil; m.resend(w.mono + txnPatience) })
	}},
	{"answer lost", func(w *TxnWorld) bool {
		return w.withCall(func(c *txnCall) bool { return c.taken }, func(m *txnMover) { m.call.lost = true })
	}},
	{"request late and sent again", func(w *TxnWorld) bool {
		// Only the protocol of KIP-890 tells a request of an earlier transaction.
		return w.withCall(func(c *txnCall) bool { return !c.taken && c.m.newer }, func(m *txnMover) {
			w.strays = append(w.strays, m.call)
			m.call = nil
			m.resend(w.mono)
		})
	}},
	{"connection closed", func(w *TxnWorld) bool {
		return w.withCall(func(*txnCall) bool { return true }, (*txnMover).giveUp)
	}},
	{"mover crashes", func(w *TxnWorld) bool { w.dismiss(w.movers[w.r.below(len(w.movers))], true); return true }},
	{"mover has an heir", func(w *TxnWorld) bool {
		m := w.movers[w.r.below(len(w.movers))]
		if len(w.movers) > 3*txnIDs {
			return false
		}
		w.hire(m.id)
		return true
	}},
	{"mover pauses", func(w *TxnWorld) bool { w.movers[w.r.below(len(w.movers))].paused = true; return true }},
	{"mover goes on", func(w *TxnWorld) bool {
		for _, m := range w.movers {
			if m.paused {
				m.paused = false
				return true
			}
		}
		return false
	}},
	{"append refused by __transaction_state", func(w *TxnWorld) bool { w.states[w.r.below(len(w.states))].refuse = true; return true }},
	{"append refused by __consumer_offsets", func(w *TxnWorld) bool { w.offsets[w.r.below(len(w.offsets))].refuse = true; return true }},
	{"flush of __transaction_state fails", func(w *TxnWorld) bool { return loseOne(w, w.states) }},
	{"flush of __consumer_offsets fails", func(w *TxnWorld) bool { return loseOne(w, w.offsets) }},
	{"flush of data fails", func(w *TxnWorld) bool {
		p := w.partitions[w.r.below(len(w.partitions))]
		if p.durable == len(p.batches) {
			return false
		}
		p.lose()
		return true
	}},
	{"__transaction_state moves", func(w *TxnWorld) bool { return moveOne(w, w.states) }},
	{"__consumer_offsets moves", func(w *TxnWorld) bool { return moveOne(w, w.offsets) }},
	{"broker crashes", (*TxnWorld).crash},
	{"clock jumps", func(w *TxnWorld) bool {
		w.wall += pick(&w.r, int64(-60_000), -1_000, 1_000, 60_000, 3_600_000)
		return true
	}},
	{"long silence", func(w *TxnWorld) bool { // transactions time out
		for range 5 + w.r.below(50) {
			w.elapse(time.Second)
			w.drain()
		}
		return true
	}},
	{"broker stalls", func(w *TxnWorld) bool { w.pass(w.r.between(time.Second, time.Minute)); return true }},
	{"disk is full", func(w *TxnWorld) bool { w.full = true; return true }},
	{"disk has room again", func(w *TxnWorld) bool {
		was := w.full
		w.full = false
		return was
	}},
}

// withCall does something to a mover with a request of a kind.
func (w *TxnWorld) withCall(kind func(*txnCall) bool, do func(*txnMover)) bool {
	start := w.r.below(len(w.movers))
	for i := range w.movers {
		m := w.movers[(start+i)%len(w.movers)]
		if m.call != nil && kind(m.call) {
			do(m)
			return true
		}
	}
	return false
}

func loseOne[Q, R, E any](w *TxnWorld, hosts []*host[Q, R, E]) bool {
	h := hosts[w.r.below(len(hosts))]
	if h.durable == len(h.batches) || h.serving == nil {
		return false
	}
	h.lose()
	return true
}

// moveOne ends a shard, in an orderly way or at once.
func moveOne[Q, R, E any](w *TxnWorld, hosts []*host[Q, R, E]) bool {
	h := hosts[w.r.below(len(hosts))]
	if h.serving == nil || h.drains {
		return false
	}
	h.away = true
	if w.r.oneIn(2) {
		h.drains = true
		h.turn(h.serving.Drain)
		return true
	}
	h.turn(h.serving.Unload)
	return true
}

// crash ends the broker: nobody is told, and of what was in flight a part is
// durable.
func (w *TxnWorld) crash() bool {
	w.drain()
	for _, m := range w.movers {
		if m.call != nil {
			m.call.lost = true
			m.call = nil
			m.resend(w.mono + w.r.between(0, time.Second))
		}
	}
	w.strays, w.markers, w.again, w.hops, w.slow, w.permits, w.full = nil, nil, nil, nil, nil, nil, false
	for _, h := range w.states {
		h.crash(w.r.next())
	}
	for _, h := range w.offsets {
		h.crash(w.r.next())
	}
	for _, p := range w.partitions {
		p.crash(w.r.next())
	}
	return true
}
