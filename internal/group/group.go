package group

import "rota/internal/schema"

// Group is one consumer group, whether or not it exists yet: a Group without
// any state answers every request as Kafka answers for an unknown group, and
// Exists says whether there is anything to keep.
//
// Requests are kept as they are given: the caller must not change the bytes of
// a Join's protocols or a Sync's assignments afterwards. What a Group returns
// must not be changed either. The slice Effects.Replies is valid until the next
// call; all else that is returned stays as it is.
type Group struct {
	id  string
	cfg *Config

	// What the log remembers. Only apply.go writes it.
	log logged

	// The classic protocol. Only the transitions write state.
	state      State
	since      int64 // of state, Unix time in milliseconds
	generation int32
	skipTo     int32 // the next generation after a load; 0: one more
	// forgotten are the generations between these two: they may have been handed
	// out before the load, and were not recorded.
	forgotten    [2]int32
	protocolType string
	protocolName string
	told         *protocolNames // what answers point to; see names
	leader       *member

	members  map[string]*member
	statics  map[string]*member // by instance id
	order    []*member          // in the order in which they joined
	pending  map[string]*pendingJoin
	supports supports
	// subscribed are the topics that the generation's members subscribe to;
	// nil while that is not known.
	subscribed topicSet
	// installed is the group record of the last assignment, nil if members have
	// none: what they had, for the next AssignmentInstalled.
	installed *schema.GroupValue

	joining joinPhase
	syncing syncPhase

	leases leases
	// unreleased are the answers that start a session once they are released.
	unreleased unreleased
	seq        uint64

	// What the present call was given and is about to return.
	now Now
	at  Offset
	out Effects
	one [1]Reply // room for the answer of most calls
}

// New returns the group of that id with no state. The Config is read at every
// call; the caller may change it between calls.
func New(id string, c *Config) *Group {
	return &Group{id: id, cfg: c, joining: joinPhase{by: never}, syncing: syncPhase{by: never}}
}

// Exists reports whether the group holds any state. The caller may drop a
// Group that does not exist.
func (g *Group) Exists() bool {
	if g.state != Empty {
		return g.state != Dead
	}
	return g.log.holdsAny() || len(g.pending) > 0
}

// Step runs one request that arrived at now and returns its effects. at is the
// log offset that the next record will get. A request that must wait, such as a
// join during a rebalance, has no reply yet: its Ticket comes back in the
// effects of a later call.
//
// Calls must not run now.Mono backwards.
func (g *Group) Step(now Now, at Offset, t Ticket, req Request) Effects {
	g.begin(now, at)
	if g.state == Dead && !isRead(req) {
		g.reply(t, DependsNothing, Refuse(req, codeCoordinatorNotAvailable))
		return g.finish()
	}
	switch r := req.(type) {
	case Heartbeat:
		g.heartbeat(t, &r)
	case Commit:
		g.commit(t, &r)
	case TxnCommit:
		g.commitInTransaction(t, &r)
	case Join:
		g.join(t, &r)
	case Sync:
		g.sync(t, &r)
	case Leave:
		g.leave(t, &r)
	case FetchOffsets:
		g.fetchOffsets(t, &r)
	case DeleteOffsets:
		g.deleteOffsets(t, &r)
	case Delete:
		g.delete(t)
	case Describe:
		g.describe(t, &r)
	case ForgetTopic:
		g.forgetTopic(t, &r)
	case Expire:
		g.expire()
	default:
		panic("group: unknown request")
	}
	return g.finish()
}

// isRead reports whether a request of an unloaded group is answered as one of
// an unknown group.
func isRead(req Request) bool {
	switch req.(type) {
	case FetchOffsets, DeleteOffsets, Delete, Describe, ForgetTopic, Expire:
		return true
	}
	return false
}

// Parked lists the tickets of parked requests, in the order of arrival.
func (g *Group) Parked() []Ticket {
	requests := g.parked()
	tickets := make([]Ticket, len(requests))
	for i, p := range requests {
		tickets[i] = p.ticket
	}
	return tickets
}

// Summary is a group's line in ListGroups.
type Summary struct {
	ID           string
	ProtocolType string
	State        string
	GroupType    string // "classic"
}

// Summary describes the group for ListGroups.
func (g *Group) Summary() Summary {
	return Summary{ID: g.id, ProtocolType: g.protocolType, State: g.state.String(), GroupType: "classic"}
}

// protocolNames are never changed, only replaced.
type protocolNames struct{ protocolType, name string }

// names are the group's protocol type and protocol, for answers to point to: all
// members of a generation get the same.
func (g *Group) names() (protocolType, name *string) {
	if g.told == nil || g.told.protocolType != g.protocolType || g.told.name != g.protocolName {
		g.told = &protocolNames{g.protocolType, g.protocolName}
	}
	return &g.told.protocolType, &g.told.name
}

func (g *Group) begin(now Now, at Offset) {
	g.now, g.at = now, at
	g.out = Effects{}
	g.one[0] = Reply{}
}

func (g *Group) finish() Effects {
	if alwaysCheck || g.cfg.CheckInvariants {
		if err := g.check(); err != nil {
			panic("group: " + err.Error())
		}
	}
	out := g.out
	g.out = Effects{}
	return out
}

func (g *Group) nextSeq() uint64 {
	g.seq++
	return g.seq
}

// replies is Effects.Replies, on its first use with room for one.
func (g *Group) replies() []Reply {
	if g.out.Replies == nil {
		return g.one[:0]
	}
	return g.out.Replies
}

func (g *Group) reply(t Ticket, after Dependency, body Response) {
	g.out.Replies = append(g.replies(), Reply{Ticket: t, After: after, Body: body})
}

// emit adds an event for the caller to fill in, before the next one. It is made
// where it stays: events are large, and copies on the stacks of connections,
// which the collector shrinks again, would have those grow at each join.
func (g *Group) emit(kind EventKind) *Event {
	g.out.Events = append(g.out.Events, Event{})
	e := &g.out.Events[len(g.out.Events)-1]
	e.Kind, e.At, e.Generation = kind, g.now.Wall, g.generation
	return e
}
