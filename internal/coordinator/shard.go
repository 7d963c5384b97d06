package coordinator

import (
	"time"

	"rota/internal/machine"
	"rota/internal/record"
)

// lateness is how far a deadline may be overdue before the shard concludes
// that it was the broker that slept, and evicts nobody for it.
const lateness = 500 * time.Millisecond

// catchUp is added to deadlines that are moved by a lateness, so that what
// has piled up in connections is read before the first of them comes.
const catchUp = 100 * time.Millisecond

// ShardConfig says what a Shard runs on.
type ShardConfig[Q, R, E any] struct {
	Kind Kind[Q, R, E]
	// Epoch is the shard's leader epoch.
	Epoch int32
	// ExpireInterval is the pause between two passes of Expire over the machines.
	ExpireInterval time.Duration
	// Quarantined machines are not loaded, not ticked, and answered with
	// UNKNOWN_SERVER_ERROR: they have brought the shard down too often.
	Quarantined map[string]bool
}

// Shard decides what happens to the machines of one kind whose records one
// partition of an internal topic holds: the groups of a partition of
// __consumer_offsets, for one. It has no goroutine, clock, lock or log: whoever
// drives it tells it what happened and does what it says. In the order of a life:
//
//   - Replay every batch of the log, then Activate.
//   - In turns: Begin, then any number of Submit, Pass, Completed and
//     SetInterval, then Finish. Append what Finish returns, in order, and tell
//     Appended of each one. Then Take, and do what it says: send the answers
//     in order, publish the events.
//   - Between turns, wake up at Deadline. Begin and Finish alone make a turn
//     that only looks at the clock.
//   - Once Ended says why, the shard is over: every open request has been
//     answered, and all further calls do nothing. Its successor loads anew.
//
// A panic in the middle of a turn is reported to Crashed, which ends the shard.
type Shard[Q, R, E any] struct {
	kind        Kind[Q, R, E]
	epoch       int32
	interval    time.Duration
	quarantined map[string]bool

	machines map[string]*entry[Q, R, E]
	order    []*entry[Q, R, E] // the same, in an order that chance has no part in
	due      dueHeap[Q, R, E]
	born     uint64 // entries made so far

	tickets tickets[Q, R]
	flight  flight[Q, R, E]
	passes  []*pass[Q, R]
	nextRun time.Duration // when the next pass of Expire begins

	now      machine.Now // of this turn
	full     bool        // nothing may be appended in this turn
	draining bool
	ended    error
	running  running[Q, R, E]
	recent   recent[Q, E]
	out      Actions[R, E]
	// transactions are the machines that have something pending of a producer.
	transactions map[int64][]*entry[Q, R, E]
	producers    map[int64]producerEpochs // that have or had transactions
	replaying    machine.Entry
	skipped      map[int16]int // records of unknown types that the load has passed over
	// sessions are the answers of a step that begin a session and have left.
	sessions []machine.Ticket
}

// entry is one machine of the shard.
type entry[Q, R, E any] struct {
	id     string
	m      Machine[Q, R, E]
	number uint64        // rises with each entry made
	index  int           // place in Shard.order, nowhere if not kept
	place  int           // place in Shard.due, nowhere if it has no deadline
	due    time.Duration // its deadline, if it is in Shard.due
	last   uint64        // the last batch that holds records of the machine
	// leaving is the batch at whose end the machine may be dropped.
	leaving uint64
	broken  bool // its machine has panicked
}

// Actions is what the shell must do after a turn.
type Actions[R, E any] struct {
	// Releases are answers that may leave, in order.
	Releases []Release[R]
	// Events may be published, in order.
	Events []Published[E]
}

// Release is one answer that may leave.
type Release[R any] struct {
	Ticket machine.Ticket
	Done   func(R)
	Body   R
}

// Published are events of one machine.
type Published[E any] struct {
	ID     string
	Events []E
}

// running is the call that is being made on a machine, for Crashed.
type running[Q, R, E any] struct {
	entry  *entry[Q, R, E]
	ticket machine.Ticket
	req    Q
	asked  bool // a request made the call
	what   string
}

// NewShard makes a shard that waits for Replay.
func NewShard[Q, R, E any](c ShardConfig[Q, R, E]) *Shard[Q, R, E] {
	return &Shard[Q, R, E]{
		kind: c.Kind, epoch: c.Epoch, interval: c.ExpireInterval, quarantined: c.Quarantined,
		machines: make(map[string]*entry[Q, R, E]), transactions: make(map[int64][]*entry[Q, R, E]), skipped: make(map[int16]int),
	}
}

// Begin opens a turn, all of which happens at now. full says that the log
// takes no more records: requests that may write are refused, and nobody is
// evicted.
func (s *Shard[Q, R, E]) Begin(now machine.Now, full bool) { s.now, s.full = now, full }

// Submit runs one request on a machine. done comes back in a Release: in this
// turn or a later one.
func (s *Shard[Q, R, E]) Submit(id string, req Q, done func(R)) {
	if s.ended != nil {
		s.out.Releases = append(s.out.Releases, Release[R]{Done: done, Body: s.kind.Refuse(req, codeNotCoordinator)})
		return
	}
	t := s.tickets.take(req, done)
	switch {
	case s.quarantined[id]:
		s.answer(t, s.kind.Refuse(req, codeUnknownServerError))
	case s.full && s.kind.MayWrite(req):
		s.answer(t, s.kind.Refuse(req, codeCoordinatorNotAvailable))
	default:
		s.recent.note(s.now, id, req)
		s.step(s.find(id), t, req)
	}
}

// SetInterval replaces the pause between passes of Expire.
func (s *Shard[Q, R, E]) SetInterval(interval time.Duration) {
	s.interval = interval
	s.nextRun = min(s.nextRun, s.now.Mono+interval)
}

// Finish ends a turn: it runs what is due, goes on with passes over the
// machines, and returns the batches to append.
func (s *Shard[Q, R, E]) Finish() []Append {
	if s.ended == nil && !s.draining {
		s.tick()
		s.runPasses()
	}
	s.flight.close()
	return s.flight.takeAppends()
}

// Drain says that the shard will be unloaded once nothing is in flight: it
// looks at no deadline any more, and its driver submits nothing.
func (s *Shard[Q, R, E]) Drain() { s.draining = true }

// Take returns what is to be done. It is valid until the next turn.
func (s *Shard[Q, R, E]) Take() Actions[R, E] {
	a := s.out
	s.out = Actions[R, E]{a.Releases[:0], a.Events[:0]}
	return a
}

// Ended returns why the shard is over, or nil.
func (s *Shard[Q, R, E]) Ended() error { return s.ended }

// Deadline returns when the shard next has work without being asked, and false
// if it has none. It is in the past while a pass over the groups is under way.
func (s *Shard[Q, R, E]) Deadline() (time.Duration, bool) {
	at, ok := s.passDeadline()
	if e := s.due.first(); e != nil && (!ok || e.due < at) {
		at, ok = e.due, true
	}
	return at, ok && s.ended == nil && !s.draining
}

// InFlight is the number of batches that are appended and not yet durable.
func (s *Shard[Q, R, E]) InFlight() int { return s.flight.len() }

// Load is how much a shard holds, for those who watch that it is bounded.
type Load struct {
	Machines int // kept, whether or not they exist
	Requests int // open, parked ones and passes that somebody asked for among them
	Passes   int // over the machines, under way
	InFlight int // batches
}

// Load returns how much the shard holds.
func (s *Shard[Q, R, E]) Load() Load {
	return Load{Machines: len(s.order), Requests: s.tickets.taken, Passes: len(s.passes), InFlight: s.flight.len()}
}

// find returns the machine's entry, or a new one that is not kept yet.
func (s *Shard[Q, R, E]) find(id string) *entry[Q, R, E] {
	if e, ok := s.machines[id]; ok {
		return e
	}
	s.born++
	return &entry[Q, R, E]{id: id, m: s.kind.New(id), number: s.born, index: nowhere, place: nowhere}
}

// step runs one request and settles its effects. It returns the batch that
// holds the step's last records, or nil.
func (s *Shard[Q, R, E]) step(e *entry[Q, R, E], t machine.Ticket, req Q) *batch[Q, R, E] {
	s.running = running[Q, R, E]{entry: e, ticket: t, req: req, asked: true, what: "step"}
	return s.settle(e, e.m.Step(s.now, s.flight.next, t, req))
}

// settle takes over the effects of a call: records go into the open batch,
// replies and events wait for the batch they depend on.
func (s *Shard[Q, R, E]) settle(e *entry[Q, R, E], effects machine.Effects[R, E]) *batch[Q, R, E] {
	var own *batch[Q, R, E]
	for i := range effects.Batches {
		b := &effects.Batches[i]
		own = s.flight.add(s.now.Wall, b)
		if b.ProducerID >= 0 {
			s.inTransaction(b.ProducerID, e)
			s.noteProducer(b.ProducerID, b.ProducerEpoch, record.None)
		}
	}
	if own != nil {
		e.last = own.seq
	}
	for _, r := range effects.Replies {
		if p := s.tickets.get(r.Ticket); p != nil && p.pass {
			continue // the pass that asked answers once, for all machines
		}
		on := own
		switch r.After {
		case machine.DependsNothing:
			on = nil
		case machine.DependsMachine:
			on = s.flight.find(e.last)
		case machine.DependsStep:
		}
		if on == nil {
			s.answer(r.Ticket, r.Body)
			if r.Session {
				s.sessions = append(s.sessions, r.Ticket)
			}
		} else {
			on.replies = append(on.replies, held[Q, R, E]{e, r})
		}
	}
	if len(effects.Events) > 0 {
		s.recent.noteEvents(e.id, effects.Events)
		s.publish(s.flight.find(e.last), Published[E]{e.id, effects.Events})
	}
	for _, t := range s.sessions {
		s.running.what = "released"
		e.m.Released(s.now, t)
	}
	s.sessions = s.sessions[:0]
	s.running = running[Q, R, E]{}
	s.keep(e)
	return own
}

// publish lets events leave behind the machine's last batch. Those of a step
// without records wait as well, or a reader would hear of a rebalance before
// it hears of the generation that the rebalance ended.
func (s *Shard[Q, R, E]) publish(on *batch[Q, R, E], ev Published[E]) {
	if on == nil {
		s.out.Events = append(s.out.Events, ev)
	} else {
		on.events = append(on.events, ev)
	}
}

// answer lets the reply to an open request leave.
func (s *Shard[Q, R, E]) answer(t machine.Ticket, body R) {
	p := s.tickets.get(t)
	if p == nil {
		panic("coordinator: a reply for a request that is not open")
	}
	s.out.Releases = append(s.out.Releases, Release[R]{Ticket: t, Done: p.done, Body: body})
	s.tickets.giveBack(t)
}

// keep keeps a machine that exists and drops one that does not, and brings its
// deadline up to date. A machine whose last records are not durable stays until
// they are: a reader must not be told that it is gone before that is true.
func (s *Shard[Q, R, E]) keep(e *entry[Q, R, E]) {
	last := s.flight.find(e.last)
	exists := e.m.Exists()
	if e.index == nowhere && (exists || last != nil) {
		e.index = len(s.order)
		s.order = append(s.order, e)
		s.machines[e.id] = e
	}
	if !exists && e.index != nowhere {
		if last == nil {
			s.drop(e)
			return
		}
		if e.leaving != last.seq {
			e.leaving = last.seq
			last.leaving = append(last.leaving, e)
		}
	}
	if at, ok := e.m.Deadline(); ok && e.index != nowhere {
		s.due.set(e, at)
	} else {
		s.due.clear(e)
	}
}

func (s *Shard[Q, R, E]) drop(e *entry[Q, R, E]) {
	delete(s.machines, e.id)
	last := len(s.order) - 1
	s.order[e.index] = s.order[last]
	s.order[e.index].index = e.index
	s.order[last] = nil
	s.order = s.order[:last]
	e.index = nowhere
	s.due.clear(e)
}

// tick runs the machines whose deadline has come.
func (s *Shard[Q, R, E]) tick() {
	now := s.now
	first := s.due.first()
	if first == nil || first.due > now.Mono {
		return
	}
	if late := now.Mono - first.due; late > lateness {
		s.forgive(late+catchUp, s.due.entries)
		return
	}
	if s.full {
		s.postpone()
		return
	}
	for e := first; e != nil && e.due <= now.Mono; e = s.due.first() {
		s.recent.noteTick(now, e.id)
		s.running = running[Q, R, E]{entry: e, what: "tick"}
		s.settle(e, e.m.Tick(now, s.flight.next))
		if e.place != nowhere && e.due <= now.Mono {
			panic("coordinator: machine is still due after its tick")
		}
	}
}

// postpone gives the machines that are due another second each while the log
// takes no records: an eviction may have to write one.
func (s *Shard[Q, R, E]) postpone() {
	const wait = time.Second
	var due []*entry[Q, R, E]
	for _, e := range s.due.entries {
		if e.due <= s.now.Mono {
			due = append(due, e)
		}
	}
	s.forgive(lateness+wait, due)
}

// forgive restarts every session of the machines and moves their other deadlines.
func (s *Shard[Q, R, E]) forgive(late time.Duration, machines []*entry[Q, R, E]) {
	for _, e := range append([]*entry[Q, R, E](nil), machines...) {
		s.running = running[Q, R, E]{entry: e, what: "forgive"}
		e.m.Forgive(s.now, late)
		s.running = running[Q, R, E]{}
		s.keep(e)
	}
}
