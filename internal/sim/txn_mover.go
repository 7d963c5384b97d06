package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// txnMover is one process with a transactional id. There may be several with
// the same one, of which all but the last to begin are zombies.
type txnMover struct {
	w      *TxnWorld
	id     int
	number int
	newer  bool // it speaks the protocol of KIP-890
	paused bool

	producer int64
	epoch    int16
	next     [dataParts]int32 // sequences
	phase    verb             // verbInit, verbPosition; else it works
	position int
	a        *attempt
	steps    []moverStep
	bump     bool // it needs a new epoch once it has aborted
	call     *txnCall
	sendAt   time.Duration
}

type moverStep struct {
	what   verb
	part   int
	commit bool
}

func (m *txnMover) String() string { return fmt.Sprintf("mover %d (id %d)", m.number, m.id) }

func (m *txnMover) version() int16 {
	if m.newer {
		return 2
	}
	return 0
}

// hire begins a mover.
func (w *TxnWorld) hire(id int) {
	number := 0
	for _, m := range w.movers {
		number = max(number, m.number+1)
	}
	w.movers = append(w.movers, &txnMover{w: w, id: id, number: number, newer: w.r.oneIn(2), producer: -1, epoch: -1})
}

// dismiss ends a mover without a word; another takes its place, if there is
// nobody else.
func (w *TxnWorld) dismiss(m *txnMover, replace bool) {
	if m.call != nil {
		m.call.lost = true
	}
	w.movers = slices.DeleteFunc(w.movers, func(o *txnMover) bool { return o == m })
	if replace && !slices.ContainsFunc(w.movers, func(o *txnMover) bool { return o.id == m.id }) {
		w.hire(m.id)
	}
}

func (m *txnMover) resend(at time.Duration) { m.sendAt = at }

// move is the next thing that happens to a mover: its request is read, its
// answer comes, its txnPatience is over, or it sends.
func (m *txnMover) move() {
	c := m.call
	switch {
	case c == nil && m.sendAt <= m.w.mono:
		m.send()
	case c == nil:
	case !c.taken:
		m.w.serve(c)
	case c.ready && !c.lost:
		m.call = nil
		m.got(c)
	case m.w.mono-time.Duration(c.sent) > txnPatience:
		m.w.count("sent again")
		m.giveUp()
	}
}

// giveUp forgets a request, of which nobody knows what came of it. Most often
// it is sent again; some movers abort. Those need a new epoch then: what they
// have sent may still get into a log, under a sequence that they would use again.
func (m *txnMover) giveUp() {
	c := m.call
	c.lost, m.call = true, nil
	m.resend(m.w.mono)
	if m.a != nil && c.what != verbEnd && m.w.r.oneIn(3) {
		m.w.count("mover gives up")
		m.steps, m.bump = []moverStep{{what: verbEnd}}, true
	}
}

func (m *txnMover) send() {
	c := &txnCall{m: m, what: m.phase, producer: m.producer, epoch: m.epoch, sent: int64(m.w.mono)}
	if m.phase > verbPosition {
		if m.a == nil && !m.begin() {
			return
		}
		s := m.steps[0]
		c.what, c.part, c.sequence, c.commit, c.a = s.what, s.part, m.next[s.part], s.commit, m.a
		if s.what == verbEnd && s.commit {
			m.a.asked = true
		}
	}
	m.call = c
}

// begin begins an attempt, if there is something to move.
func (m *txnMover) begin() bool {
	w := m.w
	if w.closing {
		return false
	}
	a := &attempt{number: len(w.attempts), of: m.id, mover: m.number, from: m.position, to: m.position + 1 + w.r.below(3)}
	if source := sourceOf(m.id); source >= 0 {
		a.reads, a.to = w.partitions[source].read(m.position, 1+w.r.below(3))
		if a.to == a.from {
			return false
		}
	}
	for part := range dataParts {
		if part != sourceOf(m.id) && w.r.oneIn(2) {
			a.parts = append(a.parts, part)
		}
	}
	if len(a.parts) == 0 {
		a.parts = []int{2}
	}
	w.attempts = append(w.attempts, a)
	m.a, m.steps = a, nil
	if !m.newer {
		m.steps = append(m.steps, moverStep{what: verbAdd})
	}
	for _, part := range a.parts {
		for range 1 + w.r.below(2) {
			m.steps = append(m.steps, moverStep{what: verbProduce, part: part})
		}
	}
	if !m.newer {
		m.steps = append(m.steps, moverStep{what: verbAddOffsets})
	}
	m.steps = append(m.steps, moverStep{what: verbCommitOffsets}, moverStep{what: verbEnd, commit: !w.r.oneIn(5)})
	return true
}

// sourceOf is the partition that an id reads, -1 for one that reads what comes
// from elsewhere.
func sourceOf(id int) int {
	if id < 2 {
		return -1
	}
	return id - 2
}

// got takes an answer.
func (m *txnMover) got(c *txnCall) {
	switch {
	case c.code == 0:
		m.granted(c)
	case c.what == verbInit && !kerr.IsRetriable(kerr.ErrorForCode(c.code)):
		m.w.count("mover fenced")
		m.w.dismiss(m, true)
	case kerr.IsRetriable(kerr.ErrorForCode(c.code)) && c.code != codeSequence && c.code != codeInvalidEpoch:
		m.resend(m.w.mono + m.w.r.between(0, 200*time.Millisecond))
	case c.what == verbEnd || !m.w.r.oneIn(3) && c.code != kerr.TransactionAbortable.Code:
		m.reinit()
	default:
		m.steps = []moverStep{{what: verbEnd}}
	}
}

// reinit goes on with the producer id, if nobody else has taken it (KIP-360).
func (m *txnMover) reinit() {
	m.w.count("mover begins anew")
	m.phase, m.a, m.bump = verbInit, nil, false
}

func (m *txnMover) granted(c *txnCall) {
	switch c.what {
	case verbInit:
		m.producer, m.epoch, m.phase = c.newID, c.newEp, verbPosition
		clear(m.next[:])
	case verbPosition:
		m.position, m.phase = int(c.offset), verbEnd
	case verbEnd:
		if m.newer {
			m.producer, m.epoch = c.newID, c.newEp
			clear(m.next[:])
		}
		if c.commit {
			m.a.granted = true
			m.position = m.a.to
			m.w.count("committed")
		} else {
			m.a.renounced = true
			m.w.count("aborted")
		}
		if m.a = nil; m.bump {
			m.reinit()
		}
	case verbProduce:
		m.a.acked++
		m.next[c.part]++
		m.steps = m.steps[1:]
	case verbCommitOffsets:
		m.a.offsetAcked = true
		m.steps = m.steps[1:]
	case verbAdd, verbAddOffsets:
		m.steps = m.steps[1:]
	}
}
