package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// attempt is one transaction as its mover means it.
type attempt struct {
	number   int
	of       int // transactional id
	mover    int
	from, to int        // of its input
	reads    []*attempt // whose records it has read
	parts    []int      // that it writes to

	acked       int  // records that were acknowledged
	offsetAcked bool // so was its offset
	asked       bool // its mover has asked for its commit
	granted     bool // and was told that it is committed
	renounced   bool // was told that it is aborted
	fenced      bool // somebody has taken the id over while it was undecided

	outcome         ending
	ended           []string // logs that have a marker for it
	landed, visible int      // records that are durable, and committed
	committedOffset bool
}

type ending uint8

const (
	undecided ending = iota
	committed
	aborted
)

func (a *attempt) name() string { return fmt.Sprint("a", a.number) }

func (a *attempt) String() string {
	return fmt.Sprintf("attempt %d of id %d by mover %d", a.number, a.of, a.mover)
}

func (w *TxnWorld) attemptOf(name string) *attempt {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "a"))
	if err != nil || n >= len(w.attempts) {
		w.fail("log", "an offset of nobody: %q", name)
		return &attempt{}
	}
	return w.attempts[n]
}

// lands is called when something of an attempt becomes durable in a log.
func (w *TxnWorld) lands(a *attempt, log string) {
	switch {
	case a.fenced:
		w.fail("zombie", "%s gets something of %s after it was fenced", log, a)
	case slices.Contains(a.ended, log):
		w.fail("behind its marker", "%s gets something of %s after it was ended there", log, a)
	}
}

// decided is called when a marker for an attempt becomes durable somewhere.
func (w *TxnWorld) decided(a *attempt, commit bool, log string) {
	a.ended = append(a.ended, log)
	now := aborted
	if commit {
		now = committed
	}
	switch {
	case a.outcome != undecided && a.outcome != now:
		w.fail("atomicity", "%s has another outcome in %s than elsewhere", a, log)
	case commit && a.fenced:
		w.fail("fencing", "%s is committed after it was fenced", a)
	case commit && !a.asked:
		w.fail("outcome", "%s is committed, which nobody has asked for", a)
	case !commit && a.granted:
		w.fail("outcome", "%s is aborted, its mover was told of a commit", a)
	case commit && a.renounced:
		w.fail("outcome", "%s is committed, its mover was told of an abort", a)
	}
	a.outcome = now
}

// sawEpoch is called with a producer id and epoch in the log, or in an answer.
// Answers may leave after later records: the two are followed each by itself.
func (w *TxnWorld) sawEpoch(seen map[int64]holder, id string, producer int64, epoch int16) {
	was, known := seen[producer]
	switch {
	case known && was.id != id:
		w.fail("producer id", "%d serves %s and %s", producer, was.id, id)
	case known && epoch < was.epoch:
		w.fail("epoch", "producer %d of %s goes back from epoch %d to %d", producer, id, was.epoch, epoch)
	}
	seen[producer] = holder{id, max(epoch, was.epoch)}
}

// settle ends the faults. Whoever is the last to have an id goes on alone, for a
// while; then everything must come to rest.
func (w *TxnWorld) settle() {
	const working, atMost = 1000, 40_000
	w.calm, w.full = true, false
	for id := range txnIDs {
		var last *txnMover
		for _, m := range append([]*txnMover(nil), w.movers...) {
			if m.id != id {
				continue
			}
			if last != nil {
				w.dismiss(last, false)
			}
			last = m
			m.paused = false
		}
	}
	before := append([]int(nil), w.positions...)
	progress := func() bool {
		for id, n := range before {
			if w.positions[id] == n && sourceOf(id) < 0 {
				return false
			}
		}
		return true
	}
	for i := 0; (i < working || !progress()) && w.failure == nil; i++ {
		if i == atMost {
			w.fail("stuck", "somebody has moved nothing since the faults have ended: %d, then %d", before, w.positions)
		}
		w.step()
	}
	for i := 0; ; i++ {
		w.closing = true
		if w.failure != nil {
			return
		}
		if w.resting() {
			break
		}
		if i == atMost {
			w.fail("stuck", "%s", w.unrest())
			return
		}
		w.step()
	}
	w.checkOutcomes()
	w.checkInputs()
	if w.failure == nil {
		if err := w.history().check(); err != nil {
			w.fail("anomaly", "%v", err)
		}
	}
	w.count("settled")
}

// resting reports whether nothing is under way.
func (w *TxnWorld) resting() bool { return w.unrest() == "" }

// unrest names something that is under way.
func (w *TxnWorld) unrest() string {
	for _, m := range w.movers {
		if m.call != nil || m.a != nil || m.phase <= verbPosition {
			return fmt.Sprintf("%s is at %s", m, verbNames[m.phase])
		}
	}
	for _, p := range w.partitions {
		if p.durable < len(p.batches) || p.stable() < len(p.batches) {
			return fmt.Sprintf("partition %d: last stable offset %d, end %d", p.number, p.stable(), len(p.batches))
		}
	}
	for _, h := range w.states {
		if h.durable < len(h.batches) || h.serving == nil || h.serving.Load().Requests > 0 {
			return fmt.Sprintf("%s-%d", h.topic, h.number)
		}
	}
	for _, h := range w.offsets {
		if h.durable < len(h.batches) || h.serving == nil || h.serving.Load().Requests > 0 || w.pending[h.number] > 0 {
			return fmt.Sprintf("%s-%d, with offsets of %d producers pending", h.topic, h.number, w.pending[h.number])
		}
	}
	if len(w.markers) > 0 || len(w.strays) > 0 || len(w.again) > 0 || len(w.hops)+len(w.slow) > 0 {
		return fmt.Sprintf("%d markers, %d late requests", len(w.markers), len(w.strays))
	}
	return ""
}

// checkOutcomes: an attempt is there wholly or not at all.
func (w *TxnWorld) checkOutcomes() {
	for _, a := range w.attempts {
		switch {
		case a.outcome == undecided && a.landed > 0:
			w.fail("stuck", "%s has no outcome", a)
		case a.granted && a.outcome != committed:
			w.fail("lost", "%s was committed and is not there", a)
		case a.outcome == committed && (a.visible != a.acked || a.landed != a.acked || !a.committedOffset):
			w.fail("atomicity", "%s is committed: %d records acknowledged, %d in logs, %d visible, its offset: %t", a, a.acked, a.landed, a.visible, a.committedOffset)
		case a.outcome != committed && (a.visible > 0 || a.committedOffset):
			w.fail("atomicity", "%s is not committed: %d records are visible, its offset: %t", a, a.visible, a.committedOffset)
		}
	}
}

// checkInputs: all inputs are moved once, up to the committed offset.
func (w *TxnWorld) checkInputs() {
	at := make([]int, txnIDs)
	for _, a := range w.attempts { // those of one id are committed in the order of their number
		if a.outcome != committed {
			continue
		}
		if a.from != at[a.of] {
			w.fail("exactly once", "%s moves %d to %d, those before it ended at %d", a, a.from, a.to, at[a.of])
		}
		at[a.of] = a.to
	}
	for id, n := range at {
		if w.positions[id] != n {
			w.fail("exactly once", "id %d has moved %d, its offset is %d", id, n, w.positions[id])
		}
	}
}
