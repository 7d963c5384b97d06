package sim

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"rota/internal/client"
	"rota/internal/client/assignor"
	"rota/internal/group"
)

// role is what an actor is.
type role uint8

const (
	// member: a consumer, with the machine that a client library runs.
	member role = iota
	// rude: a client that knows the requests and no rules.
	rude
	// loner: a consumer without a group: it commits and fetches.
	loner
	// admin: an operator.
	admin
)

var errCallback = errors.New("callback has failed")

// actor is somebody who talks to the broker.
type actor struct {
	number int
	name   string // of the client: A, B, ...
	role   role
	group  int
	conns  [lanes]*conn
	delays [lanes]delay
	late   []*call // sent over connections that have ended, and not read
	ids    int     // member ids that it was given

	m           *client.Machine
	config      client.Config
	topics      []string
	joinVersion int16
	finding     client.RequestID
	dead        bool          // it has been fenced, or died and does not come back
	gone        bool          // its process is not running
	again       time.Duration // when it starts again, once everybody behaves
	frozen      bool
	dawdles     bool
	throws      bool
	holds       bool
	calling     bool // a callback runs
	lastError   error
	ownership   ownership

	// What a rude client knows.
	id         string
	instance   *string
	generation int32
	lead       bool
	others     []string
	session    time.Duration
	rebalance  time.Duration
	forgetting bool
}

// newMachine starts the actor's process.
func (a *actor) newMachine(w *World) {
	a.m = client.New(a.config, w.mono)
	a.ownership = newOwnership(&a.config, w.o.trusting)
	a.m.Metadata(w.mono, w.topics)
	a.m.Subscribe(w.mono, a.topics)
	a.gone, a.frozen, a.dawdles, a.calling, a.holds, a.throws, a.finding = false, false, false, false, false, false, 0
}

// restart starts the process again.
func (a *actor) restart(w *World) {
	w.count("member restarts")
	a.newMachine(w)
	a.poll(w)
}

// mayReturn reports whether the actor's process is down and not for good.
func (a *actor) mayReturn() bool { return a.role == member && a.gone && !a.dead }

// runs reports whether the actor does anything at all.
func (a *actor) runs() bool { return a.role == member && !a.dead && !a.gone && !a.frozen }

// do takes the outputs of the machine, until there are none.
func (a *actor) do(w *World) {
	for !a.m.Idle() {
		out := a.m.Take()
		if out.Drop {
			w.cutOf(a)
		}
		if w.o.owners {
			a.noticed(out.Notices)
		}
		for _, s := range out.Sends {
			if s.Anywhere {
				a.finding = s.ID
			} else {
				w.push(a, a.toGroup(w, s.Request), s.ID)
			}
		}
		for i := range out.Commits {
			if out.Commits[i].Err == nil {
				w.count("commit done")
			} else {
				w.count("commit given up")
			}
		}
		if out.Call != nil {
			w.hash(uint64(out.Call.Kind)<<16 | uint64(len(out.Call.Partitions)))
			w.callbacks[out.Call.Kind]++
			a.calling = true
			if w.o.owners {
				a.own(w, out.Call)
			}
			if !a.holds {
				a.returns(w)
			}
			a.holds = false
		}
		if out.Throw != nil {
			a.thrown(w, out.Throw)
			return
		}
	}
	if a.m.Closed() && !a.gone {
		a.gone, a.again = true, w.mono+time.Second
		w.cutOf(a)
	}
}

// returns ends the callback that runs.
func (a *actor) returns(w *World) {
	if !a.calling {
		return
	}
	a.calling = false
	var err error
	if a.throws && !w.o.owners { // the callbacks of rota/member return nothing
		err, a.throws = errCallback, false
		w.count("callback failed")
	}
	a.m.Done(w.mono, err)
	a.do(w)
}

// thrown is an error that the application's poll has returned. One that its
// own callback made it shrugs off; fenced it is over; else it starts again.
func (a *actor) thrown(w *World, err error) {
	a.lastError = err
	var code *client.CodeError
	switch {
	case errors.Is(err, errCallback):
		a.do(w)
		return
	case errors.As(err, &code) && code.Code == int16(codeFenced):
		w.count("member fenced")
		a.dead = true
		w.cutOf(a)
		return
	}
	w.count("member gives up")
	w.cutOf(a)
	a.gone, a.again = true, w.mono+time.Second
}

// cutOf ends the actor's connections.
func (w *World) cutOf(a *actor) {
	for _, c := range a.conns {
		if c != nil {
			w.cut(c)
		}
	}
}

// receive is an answer.
func (a *actor) receive(w *World, c *call) {
	if a.role != member {
		a.learn(c)
		return
	}
	if a.dead || a.gone {
		return
	}
	a.checkLease(w)
	resp := fromGroup(c.body)
	a.ownership.lease.Answered(c.sent, resp)
	if b, ok := resp.(client.Beat); ok && b.Code == 0 && w.o.hasty {
		a.ownership.lease.Answered(c.sent, client.Synced{})
	}
	a.m.Answer(w.mono, c.rid, resp)
	a.do(w)
	a.poll(w)
}

// disconnected is the end of a connection.
func (a *actor) disconnected(w *World) {
	if a.role == member && !a.dead && !a.gone {
		a.m.Disconnected(w.mono, false)
		a.do(w)
	}
}

// poll is the application's poll, if it polls.
func (a *actor) poll(w *World) {
	if a.runs() && !a.dawdles {
		a.checkLease(w)
		a.m.Poll(w.mono)
		a.do(w)
	}
}

// tick lets the machine see the time.
func (a *actor) tick(w *World) {
	a.checkLease(w)
	a.m.Tick(w.mono)
	a.do(w)
	a.poll(w)
}

// act is something that the actor does of its own; n says what.
func (a *actor) act(w *World, n uint64) bool {
	r := random(n)
	switch a.role {
	case member:
		return a.actMember(w, &r)
	case rude:
		a.actRude(w, &r)
	case loner:
		a.actLoner(w, &r)
	case admin:
		a.actAdmin(w, &r)
	}
	return true
}

func (a *actor) actMember(w *World, r *random) bool {
	if a.dead || a.frozen {
		return false
	}
	if a.gone {
		a.restart(w)
		return true
	}
	if a.calling && r.oneIn(2) {
		a.returns(w)
		return true
	}
	switch r.below(40) {
	case 0:
		w.count("member closes")
		a.m.Close(w.mono, pick(r, client.LeaveDefault, client.LeaveDefault, client.LeaveGroup, client.RemainInGroup), 5*time.Second)
	case 1:
		w.count("member unsubscribes")
		a.m.Unsubscribe(w.mono)
	case 2, 3:
		w.count("subscription changes")
		a.topics = slices.Clone(topicNames[:1+r.below(2)])
		a.m.Subscribe(w.mono, a.topics)
	case 4, 5, 6, 7:
		a.m.Fetch(w.mono, []client.Partition{w.anyPartition(r), w.anyPartition(r)})
	default:
		owned := a.m.Owned()
		if len(owned) == 0 {
			a.poll(w)
			return true
		}
		w.offset++
		o := client.Offset{Partition: owned[r.below(len(owned))], Offset: w.offset}
		if a.config.AutoCommit && r.oneIn(2) {
			a.m.Consumed(w.mono, o)
		} else {
			a.m.Commit(w.mono, []client.Offset{o}, pick(r, 0, 0, 10*time.Second))
		}
	}
	a.do(w)
	a.poll(w)
	if len(a.topics) > 0 && a.m.State() == client.Unjoined && r.oneIn(3) {
		a.m.Subscribe(w.mono, a.topics)
	}
	return true
}

func (w *World) anyPartition(r *random) client.Partition {
	return client.Partition{Topic: topicNames[r.below(len(topicNames))], Partition: int32(r.below(4))}
}

// actLoner commits and fetches like a consumer that picks its partitions.
func (a *actor) actLoner(w *World, r *random) {
	tp := group.TopicPartition(w.anyPartition(r))
	if r.oneIn(2) {
		f := group.FetchOffsets{RequireStable: r.oneIn(2), All: r.oneIn(8)}
		if !f.All {
			f.Partitions = []group.TopicPartition{tp}
		}
		w.push(a, f, 0)
		return
	}
	w.offset++
	c := group.Commit{Version: 8, Generation: -1, Retention: -1, Offsets: []group.CommitOffset{{TopicPartition: tp, Offset: w.offset, LeaderEpoch: -1, Timestamp: -1}}}
	switch {
	case w.o.history:
	case r.oneIn(10):
		c.Version, c.Retention = 4, time.Duration(r.below(100))*time.Second
	case r.oneIn(10):
		c.Offsets = append(c.Offsets, c.Offsets[0])
		c.Offsets[1].Metadata = string(make([]byte, 5000))
	}
	w.push(a, c, 0)
}

// actAdmin presses a button.
func (a *actor) actAdmin(w *World, r *random) {
	tp := group.TopicPartition(w.anyPartition(r))
	n := r.below(10)
	if w.o.history {
		n %= 4
	}
	switch n {
	case 0, 1, 2:
		w.push(a, group.Describe{Version: int16(r.below(7))}, 0)
	case 3:
		w.push(a, group.FetchOffsets{All: true, RequireStable: true}, 0)
	case 4, 5:
		w.push(a, group.Delete{}, 0)
	case 6:
		w.push(a, group.DeleteOffsets{Partitions: []group.TopicPartition{tp, group.TopicPartition(w.anyPartition(r))}}, 0)
	case 7, 8:
		instance := instanceName(r.below(3))
		w.push(a, group.Leave{Version: 3, Members: []group.LeavingMember{{InstanceID: &instance, Reason: "operator"}}}, 0)
	case 9:
		sh := w.shardOf(a.group)
		if a.forgetting || sh.life == nil {
			return
		}
		a.forgetting = true
		c := &call{w: w, actor: a, group: a.group, req: group.ForgetTopic{Topic: topicNames[1]}, passOf: true, op: -1}
		sh.forgets = append(sh.forgets, c)
		l := sh.life
		w.turn(l, func() { w.forget(l, c) })
	}
}

// passEnded is the end of a topic's deletion.
func (a *actor) passEnded(w *World) {
	a.forgetting = false
	w.count("topic forgotten")
	sh := w.shardOf(a.group)
	sh.forgets = slices.DeleteFunc(sh.forgets, func(c *call) bool { return c.actor == a })
	if l := sh.life; l != nil {
		l.pending = slices.DeleteFunc(l.pending, func(c *call) bool { return c.actor == a })
	}
}

func instanceName(n int) string { return "i" + itoa(n) }

func itoa(n int) string { return strconv.Itoa(n) }

// assignorSets are those that can live in one group, also after a move, which
// leaves members in the record with the protocol of their generation only.
var assignorSets = [][][]assignor.Assignor{
	{{assignor.Range{}}, {assignor.Range{}, assignor.CooperativeSticky{}}},
	{{assignor.CooperativeSticky{}}},
	{{assignor.CooperativeSticky{}}},
	{{assignor.RoundRobin{}, assignor.Range{}}, {assignor.Range{}, assignor.RoundRobin{}}},
}
