package client

import (
	"math"
	"slices"
	"time"

	"rota/internal/client/assignor"
)

// Config says who a member is and how patient. Zero durations are Kafka's
// defaults.
type Config struct {
	// InstanceID makes the member a static one (KIP-345): group.instance.id.
	InstanceID *string
	// Assignors are those that the member can use, best first:
	// partition.assignment.strategy. Default: range, cooperative-sticky.
	Assignors []assignor.Assignor
	// SessionTimeout is session.timeout.ms, 45 s.
	SessionTimeout time.Duration
	// PollInterval is max.poll.interval.ms, 5 min.
	PollInterval time.Duration
	// HeartbeatInterval is heartbeat.interval.ms, 3 s.
	HeartbeatInterval time.Duration
	// RequestTimeout is request.timeout.ms, 30 s.
	RequestTimeout time.Duration
	// RetryBackoff is retry.backoff.ms, 100 ms; it doubles up to MaxBackoff,
	// 1 s.
	RetryBackoff, MaxBackoff time.Duration
	// AutoCommit commits what Consumed says: enable.auto.commit.
	AutoCommit bool
	// AutoCommitInterval is auto.commit.interval.ms, 5 s.
	AutoCommitInterval time.Duration
	// Rack is client.rack, "" for none.
	Rack string
	// Dialect replaces Assignors and what consumers say to each other. The
	// member then wants to be in the group without having subscribed.
	Dialect Dialect
	// RebalanceTimeout is the time that the others wait for this member in a
	// rebalance. Default PollInterval.
	RebalanceTimeout time.Duration
	// EveryCall has a rebalance begin with a callback even if there is nothing
	// to give up: Revoked, with no partitions.
	EveryCall bool
	// LeaveReason is told when the member closes (KIP-800).
	LeaveReason string
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.SessionTimeout, 45 * time.Second},
		{&c.PollInterval, 5 * time.Minute},
		{&c.HeartbeatInterval, 3 * time.Second},
		{&c.RequestTimeout, 30 * time.Second},
		{&c.RetryBackoff, 100 * time.Millisecond},
		{&c.MaxBackoff, time.Second},
		{&c.AutoCommitInterval, 5 * time.Second},
	} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if c.RebalanceTimeout == 0 {
		c.RebalanceTimeout = c.PollInterval
	}
	if c.LeaveReason == "" {
		c.LeaveReason = "consumer is closed or unsubscribed"
	}
	if len(c.Assignors) == 0 {
		c.Assignors = []assignor.Assignor{assignor.Range{}, assignor.CooperativeSticky{}}
	}
	return c
}

// State is where a member stands.
type State uint8

const (
	// Unjoined: no generation, or none any more.
	Unjoined State = iota
	// Preparing: a JoinGroup is on its way. No heartbeats are sent.
	Preparing
	// Completing: the generation is known, the assignment is not.
	Completing
	// Stable: the member has its assignment.
	Stable
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"Unjoined", "Preparing", "Completing", "Stable"}[s]
}

// Generation is the triple that identifies what a member says: -1, "" and ""
// for none.
type Generation struct {
	ID       int32
	MemberID string
	Protocol string
}

// noGeneration is the triple of a member that has never joined.
var noGeneration = Generation{ID: -1}

// never is the deadline of what has none.
const never = time.Duration(math.MaxInt64)

// Machine is one member. The zero value is not ready; New makes one.
type Machine struct {
	c           Config
	cooperative bool
	now         time.Duration
	out         Outputs

	topics     []string // subscribed to, sorted
	partitions map[string]int32
	closing    *farewell
	closed     bool
	thrown     error // to be thrown by the next poll

	state         State
	gen           Generation
	rejoinNeeded  bool
	prepareNeeded bool
	reason        string
	round         round
	plan          []byte        // what SyncGroup gave
	retryAt       time.Duration // of the next round
	failures      int           // rounds in a row that called for a backoff

	// What the leader has planned for, to see when it changes.
	leads   bool
	planned []assignor.Topic
	joined  []string // the subscription of the last JoinGroup

	owned     []Partition // sorted
	positions []Offset    // consumed and not committed, sorted
	call      *pendingCall
	callErr   error // of the revocation in the round that ends
	// prepareCommit is the commit that the rebalance waits for.
	prepareCommit prepareCommit
	autoCommitAt  time.Duration

	coordinator bool // is known
	address     string
	findAt      time.Duration // when it may be looked up
	findFails   int
	finding     bool
	requests    []inFlight
	nextRequest RequestID

	started  bool // heartbeats may be sent
	lastPoll time.Duration
	heardAt  time.Duration // the session's start, as far as this side knows
	beatAt   time.Duration // of the next heartbeat
	commits  []*commitOp
	fetches  []*fetchOp
	nextOp   OpID
}

// New makes a member that has joined nothing. Time begins at now.
func New(c Config, now time.Duration) *Machine {
	m := &Machine{c: c.withDefaults(), now: now, gen: noGeneration, rejoinNeeded: true, prepareNeeded: true, lastPoll: now}
	m.cooperative = !slices.ContainsFunc(m.c.Assignors, func(a assignor.Assignor) bool { return !a.Cooperative() })
	if m.c.Dialect != nil {
		m.cooperative = m.c.Dialect.Cooperative()
	}
	m.autoCommitAt = now + m.c.AutoCommitInterval
	return m
}

// Subscribe replaces the topics that the member wants. The group learns of it
// when the application polls.
func (m *Machine) Subscribe(now time.Duration, topics []string) {
	m.now = now
	m.topics = slices.Compact(slices.Sorted(slices.Values(topics)))
}

// Metadata says how many partitions topics have: a topic that is not listed
// does not exist. It must be told before the first poll, and whenever it changes.
func (m *Machine) Metadata(now time.Duration, partitions map[string]int32) {
	m.now = now
	m.partitions = partitions
}

// Poll is the application's poll: it moves the member on as far as it can go
// without waiting.
func (m *Machine) Poll(now time.Duration) {
	m.now = now
	if m.closed || m.closing != nil {
		return
	}
	m.lastPoll = now
	if m.thrown != nil {
		m.throw(m.thrown)
		m.thrown = nil
		return
	}
	if m.wants() {
		m.progress()
	}
}

// Tick is the passing of time: timeouts, heartbeats and retries. Calling it
// early or twice does nothing.
func (m *Machine) Tick(now time.Duration) {
	m.now = now
	m.expireRequests()
	m.beat()
	m.retryOps()
	m.goOnLeaving()
}

// Deadline returns when Tick, or a Poll of an application that waits in it,
// next has work; false if there is none.
func (m *Machine) Deadline() (time.Duration, bool) {
	at := min(m.beatDeadline(), m.opDeadline())
	for i := range m.requests {
		at = min(at, m.requests[i].by)
	}
	if m.round == noRound && m.rejoinNeeded && m.retryAt > m.now {
		at = min(at, m.retryAt)
	}
	if !m.coordinator && !m.finding && m.findAt > m.now {
		at = min(at, m.findAt)
	}
	if m.closing != nil && m.call == nil {
		at = min(at, m.closing.by)
	}
	return at, at != never
}

// State returns where the member stands.
func (m *Machine) State() State { return m.state }

// Generation returns the triple that the member's requests carry.
func (m *Machine) Generation() Generation { return m.gen }

// Owned returns what the member may consume, sorted. It must not be changed.
func (m *Machine) Owned() []Partition { return m.owned }

// Settled reports whether the member is Stable, has told the application so,
// and knows of no reason to join again.
func (m *Machine) Settled() bool {
	return m.state == Stable && m.round == noRound && !m.rejoinNeeded && m.call == nil && !m.mustRejoin()
}

// Address returns the coordinator, false if it is not known.
func (m *Machine) Address() (string, bool) { return m.address, m.coordinator }

// reset forgets the generation, and the id unless it is kept: the partitions
// may belong to others from now on.
func (m *Machine) reset(keepID bool, why string) {
	id := ""
	if keepID {
		id = m.gen.MemberID
	}
	m.gen = Generation{ID: -1, MemberID: id}
	m.state = Unjoined
	m.prepareNeeded = true
	m.leads = false
	m.requestRejoin(why)
	m.note(NoticeReset)
}

// requestRejoin makes the next poll join again.
func (m *Machine) requestRejoin(why string) {
	const longest = 255
	m.rejoinNeeded = true
	m.reason = why[:min(len(why), longest)]
}
