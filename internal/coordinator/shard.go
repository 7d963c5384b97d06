package coordinator

import (
	"time"

	"rota/internal/group"
	"rota/internal/schema"
)

// lateness is how far a deadline may be overdue before the shard concludes
// that it was the broker that slept, and evicts nobody for it.
const lateness = 500 * time.Millisecond

// catchUp is added to deadlines that are moved by a lateness, so that what
// has piled up in connections is read before the first of them comes.
const catchUp = 100 * time.Millisecond

// Machine is a pure state machine that a Shard runs; *group.Group is one.
type Machine interface {
	Exists() bool
	Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects
	Tick(now group.Now, at group.Offset) group.Effects
	Deadline() (time.Duration, bool)
	Apply(e group.Entry) error
	Loaded(now group.Now, at group.Offset, epoch int32) group.Effects
	Released(now group.Now, t group.Ticket)
	Forgive(now group.Now, late time.Duration)
	Unload(now group.Now) group.Effects
	Summary() group.Summary
	MarshalText() ([]byte, error)
}

// ShardConfig says what a Shard runs on.
type ShardConfig struct {
	Group group.Config
	// Epoch is the shard's leader epoch.
	Epoch int32
	// ExpireInterval is the pause between two passes of Expire over the groups.
	ExpireInterval time.Duration
	// Quarantined groups are not loaded, not ticked, and answered with
	// UNKNOWN_SERVER_ERROR: they have brought the shard down too often.
	Quarantined map[string]bool
	// New makes the machine of a group. Default: group.New.
	New func(id string, c *group.Config) Machine
}

// Shard decides what happens to the groups of one partition of
// __consumer_offsets. It has no goroutine, clock, lock or log: whoever drives
// it tells it what happened and does what it says. In the order of a life:
//
//   - Replay every batch of the log, then Activate.
//   - In turns: Begin, then any number of Submit, ForgetTopic, Completed and
//     SetConfig, then Finish. Append what Finish returns, in order, and tell
//     Appended of each one. Then Take, and do what it says: send the answers
//     in order, publish the events.
//   - Between turns, wake up at Deadline. Begin and Finish alone make a turn
//     that only looks at the clock.
//   - Once Ended says why, the shard is over: every open request has been
//     answered, and all further calls do nothing. Its successor loads anew.
//
// A panic in the middle of a turn is reported to Crashed, which ends the shard.
type Shard struct {
	config      group.Config
	epoch       int32
	interval    time.Duration
	quarantined map[string]bool
	newMachine  func(id string, c *group.Config) Machine

	groups map[string]*entry
	order  []*entry // the same, in an order that chance has no part in
	due    dueHeap
	born   uint64 // entries made so far

	tickets tickets
	flight  flight
	passes  []*pass
	nextRun time.Duration // when the next pass of Expire begins

	now      group.Now // of this turn
	full     bool      // nothing may be appended in this turn
	draining bool
	ended    error
	running  running
	recent   recent
	out      Actions
	// While the log is replayed: the groups that have something pending of a
	// producer, and the records of unknown types.
	transactions map[int64][]*entry
	keys         schema.KeyReader
	key          schema.OffsetKey // the one being replayed
	skipped      map[int16]int
	// sessions are the answers of a step that begin a session and have left.
	sessions []group.Ticket
}

// entry is one group of the shard.
type entry struct {
	id     string
	m      Machine
	number uint64        // rises with each entry made
	index  int           // place in Shard.order, nowhere if not kept
	place  int           // place in Shard.due, nowhere if it has no deadline
	due    time.Duration // its deadline, if it is in Shard.due
	last   uint64        // the last batch that holds records of the group
	// leaving is the batch at whose end the group may be dropped.
	leaving uint64
	broken  bool // its machine has panicked
}

// Actions is what the shell must do after a turn.
type Actions struct {
	// Releases are answers that may leave, in order.
	Releases []Release
	// Events may be published, in order.
	Events []GroupEvents
}

// Release is one answer that may leave.
type Release struct {
	Ticket group.Ticket
	Done   func(group.Response)
	Body   group.Response
}

// GroupEvents are events of one group.
type GroupEvents struct {
	Group  string
	Events []group.Event
}

// running is the call that is being made on a machine, for Crashed.
type running struct {
	entry  *entry
	ticket group.Ticket
	req    group.Request // nil in calls that no request made
	what   string
}

// NewShard makes a shard that waits for Replay.
func NewShard(c ShardConfig) *Shard {
	s := &Shard{
		config: c.Group, epoch: c.Epoch, interval: c.ExpireInterval, quarantined: c.Quarantined, newMachine: c.New,
		groups: make(map[string]*entry), transactions: make(map[int64][]*entry), skipped: make(map[int16]int),
	}
	if s.newMachine == nil {
		s.newMachine = func(id string, c *group.Config) Machine { return group.New(id, c) }
	}
	return s
}

// Begin opens a turn, all of which happens at now. full says that the log
// takes no more records: requests that may write are refused, and nobody is
// evicted.
func (s *Shard) Begin(now group.Now, full bool) { s.now, s.full = now, full }

// Submit runs one request on a group. done comes back in a Release: in this
// turn or a later one.
func (s *Shard) Submit(id string, req group.Request, done func(group.Response)) {
	if s.ended != nil {
		s.out.Releases = append(s.out.Releases, Release{Done: done, Body: group.Refuse(req, codeNotCoordinator)})
		return
	}
	t := s.tickets.take(req, done)
	switch {
	case s.quarantined[id]:
		s.answer(t, group.Refuse(req, codeUnknownServerError))
	case s.full && mayWrite(req):
		s.answer(t, group.Refuse(req, codeCoordinatorNotAvailable))
	default:
		s.recent.note(s.now, id, req)
		s.step(s.find(id), t, req)
	}
}

// SetConfig replaces the group settings and the pause between passes.
func (s *Shard) SetConfig(c group.Config, interval time.Duration) {
	s.config, s.interval = c, interval
	s.nextRun = min(s.nextRun, s.now.Mono+interval)
}

// Finish ends a turn: it runs what is due, goes on with passes over the
// groups, and returns the batches to append.
func (s *Shard) Finish() []Append {
	if s.ended == nil && !s.draining {
		s.tick()
		s.runPasses()
	}
	s.flight.close()
	return s.flight.takeAppends()
}

// Drain says that the shard will be unloaded once nothing is in flight: it
// looks at no deadline any more, and its driver submits nothing.
func (s *Shard) Drain() { s.draining = true }

// Take returns what is to be done. It is valid until the next turn.
func (s *Shard) Take() Actions {
	a := s.out
	s.out = Actions{a.Releases[:0], a.Events[:0]}
	return a
}

// Ended returns why the shard is over, or nil.
func (s *Shard) Ended() error { return s.ended }

// Deadline returns when the shard next has work without being asked, and false
// if it has none. It is in the past while a pass over the groups is under way.
func (s *Shard) Deadline() (time.Duration, bool) {
	at, ok := s.passDeadline()
	if e := s.due.first(); e != nil && (!ok || e.due < at) {
		at, ok = e.due, true
	}
	return at, ok && s.ended == nil && !s.draining
}

// InFlight is the number of batches that are appended and not yet durable.
func (s *Shard) InFlight() int { return s.flight.len() }

// Load is how much a shard holds, for those who watch that it is bounded.
type Load struct {
	Groups   int // kept, whether or not they exist
	Requests int // open, parked ones and passes that somebody asked for among them
	Passes   int // over the groups, under way
	InFlight int // batches
}

// Load returns how much the shard holds.
func (s *Shard) Load() Load {
	return Load{Groups: len(s.order), Requests: s.tickets.taken, Passes: len(s.passes), InFlight: s.flight.len()}
}

// Summaries describes every group, in no particular order.
func (s *Shard) Summaries() []group.Summary {
	list := make([]group.Summary, 0, len(s.order))
	for _, e := range s.order {
		if e.m.Exists() {
			list = append(list, e.m.Summary())
		}
	}
	return list
}

// find returns the group's entry, or a new one that is not kept yet.
func (s *Shard) find(id string) *entry {
	if e, ok := s.groups[id]; ok {
		return e
	}
	s.born++
	return &entry{id: id, m: s.newMachine(id, &s.config), number: s.born, index: nowhere, place: nowhere}
}

// step runs one request and settles its effects. It returns the batch that
// holds the step's last records, or nil.
func (s *Shard) step(e *entry, t group.Ticket, req group.Request) *batch {
	s.running = running{entry: e, ticket: t, req: req, what: "step"}
	return s.settle(e, e.m.Step(s.now, s.flight.next, t, req))
}

// settle takes over the effects of a call: records go into the open batch,
// replies and events wait for the batch they depend on.
func (s *Shard) settle(e *entry, effects group.Effects) *batch {
	var own *batch
	for i := range effects.Batches {
		own = s.flight.add(s.now.Wall, &effects.Batches[i])
	}
	if own != nil {
		e.last = own.seq
	}
	for _, r := range effects.Replies {
		if _, ok := r.Body.(group.Forgotten); ok {
			continue // the pass that asked answers once, for all groups
		}
		on := own
		switch r.After {
		case group.DependsNothing:
			on = nil
		case group.DependsGroup:
			on = s.flight.find(e.last)
		case group.DependsStep:
		}
		if on == nil {
			s.answer(r.Ticket, r.Body)
			if r.Session {
				s.sessions = append(s.sessions, r.Ticket)
			}
		} else {
			on.replies = append(on.replies, held{e, r})
		}
	}
	if len(effects.Events) > 0 {
		s.recent.noteEvents(e.id, effects.Events)
		s.publish(s.flight.find(e.last), GroupEvents{e.id, effects.Events})
	}
	for _, t := range s.sessions {
		s.running.what = "released"
		e.m.Released(s.now, t)
	}
	s.sessions = s.sessions[:0]
	s.running = running{}
	s.keep(e)
	return own
}

// publish lets events leave behind the group's last batch. Those of a step
// without records wait as well, or a reader would hear of a rebalance before
// it hears of the generation that the rebalance ended.
func (s *Shard) publish(on *batch, ev GroupEvents) {
	if on == nil {
		s.out.Events = append(s.out.Events, ev)
	} else {
		on.events = append(on.events, ev)
	}
}

// answer lets the reply to an open request leave.
func (s *Shard) answer(t group.Ticket, body group.Response) {
	p := s.tickets.get(t)
	if p == nil {
		panic("coordinator: a reply for a request that is not open")
	}
	s.out.Releases = append(s.out.Releases, Release{Ticket: t, Done: p.done, Body: body})
	s.tickets.giveBack(t)
}

// keep keeps a group that exists and drops one that does not, and brings its
// deadline up to date. A group whose last records are not durable stays until
// they are: a reader must not be told that it is gone before that is true.
func (s *Shard) keep(e *entry) {
	last := s.flight.find(e.last)
	exists := e.m.Exists()
	if e.index == nowhere && (exists || last != nil) {
		e.index = len(s.order)
		s.order = append(s.order, e)
		s.groups[e.id] = e
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

func (s *Shard) drop(e *entry) {
	delete(s.groups, e.id)
	last := len(s.order) - 1
	s.order[e.index] = s.order[last]
	s.order[e.index].index = e.index
	s.order[last] = nil
	s.order = s.order[:last]
	e.index = nowhere
	s.due.clear(e)
}

// tick runs the groups whose deadline has come.
func (s *Shard) tick() {
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
		s.recent.note(now, e.id, nil)
		s.running = running{entry: e, what: "tick"}
		s.settle(e, e.m.Tick(now, s.flight.next))
		if e.place != nowhere && e.due <= now.Mono {
			panic("coordinator: group is still due after its tick")
		}
	}
}

// postpone gives the groups that are due another second each while the log
// takes no records: an eviction may have to write one.
func (s *Shard) postpone() {
	const wait = time.Second
	var due []*entry
	for _, e := range s.due.entries {
		if e.due <= s.now.Mono {
			due = append(due, e)
		}
	}
	s.forgive(lateness+wait, due)
}

// forgive restarts every session of the groups and moves their other deadlines.
func (s *Shard) forgive(late time.Duration, groups []*entry) {
	for _, e := range append([]*entry(nil), groups...) {
		s.running = running{entry: e, what: "forgive"}
		e.m.Forgive(s.now, late)
		s.running = running{}
		s.keep(e)
	}
}

var _ Machine = (*group.Group)(nil)
