package explore

import (
	"fmt"
	"slices"

	"rota/internal/group"
	"rota/internal/schema"
)

// kind is one thing that a client or the world can do.
type kind uint8

const (
	// What clients do. A client whose request is open can only abandon it.

	joinNew       kind = iota // join without an id
	joinNewLost               // the same, and the answer is lost
	restart                   // forget the id, and join without one
	joinOwn                   // join with the id it has
	joinLost                  // the same, and the answer is lost
	joinOther                 // join with other metadata than before
	joinStale                 // join with the id before the present one
	syncOwn                   // sync, with a plan if it leads
	syncAgain                 // sync as leader with another plan
	syncStale                 // sync of the generation before
	beatOwn                   // heartbeat
	beatStale                 // heartbeat with the id before the present one
	leaveOwn                  // leave
	leaveInstance             // leave by instance id
	commitOwn                 // commit as a member
	commitStale               // commit of the generation before
	commitNobody              // commit without a generation or id
	fetch                     // read what is committed
	abandon                   // reconnect: nobody waits for the open request
	clientKinds

	// What happens to everybody.

	tick    kind = iota // time passes until the next deadline
	wait                // time passes, but less than that
	durable             // what is appended is durable
	fail                // what is appended is lost, and the log is read
	reload              // the coordinator moves
	late                // the broker stands still beyond the next deadline
	remove              // an operator deletes the group
	expire              // a retention pass
)

// action is a kind and the client that does it.
type action struct {
	kind   kind
	client int8
}

func (a action) pack() byte { return byte(a.kind) | byte(a.client+1)<<6 }

func unpack(b byte) action { return action{kind(b & 0x3f), int8(b>>6) - 1} }

// actions lists everything that may happen in a world, possible or not at one
// moment.
func (s *Spec) actions() []action {
	var list []action
	for _, k := range s.Actions {
		if k >= clientKinds {
			list = append(list, action{k, nobody})
			continue
		}
		for c := range s.Clients {
			list = append(list, action{k, int8(c)})
		}
	}
	return list
}

// do does one thing, and reports whether it was possible.
func (w *world) do(a action) bool {
	if a.client != nobody {
		return w.doClient(int(a.client), a.kind)
	}
	due, ok := w.g.Deadline()
	switch a.kind {
	case tick:
		if !ok {
			return false
		}
		w.advance(due - w.mono)
	case wait:
		if !ok || due-w.mono <= quantum {
			return false
		}
		w.advance(quantum)
	case durable:
		if len(w.flight) == 0 {
			return false
		}
		w.durable()
	case fail:
		if len(w.flight) == 0 || w.loads >= w.spec.Loads {
			return false
		}
		w.reload()
	case reload:
		if w.loads >= w.spec.Loads {
			return false
		}
		w.reload()
	case late:
		if !ok {
			return false
		}
		still := due - w.mono + quantum
		w.mono += still
		w.g.Forgive(w.now(), still)
		w.model.rest(w.mono, still)
		w.settle()
	case remove:
		w.step(request{client: nobody, kind: remove}, group.Delete{})
	case expire:
		w.step(request{client: nobody, kind: expire}, group.Expire{})
	default:
		return false
	}
	return true
}

// waiting returns the request that a client waits for.
func (w *world) waiting(c int) *request {
	for i := range w.open {
		if q := &w.open[i]; int(q.client) == c && !q.lost {
			return q
		}
	}
	return nil
}

func (w *world) lost() int {
	n := 0
	for i := range w.open {
		if w.open[i].lost {
			n++
		}
	}
	return n
}

// possible reports whether a client may do that now.
func (w *world) possible(c int, k kind) bool {
	cl, static := &w.clients[c], w.spec.Clients[c].Static
	if q := w.waiting(c); q != nil {
		return k == abandon && w.lost() < w.spec.Lost
	}
	switch k {
	case abandon:
		return false
	case joinNewLost, joinLost:
		if w.lost() >= w.spec.Lost {
			return false
		}
	default:
	}
	switch k {
	case joinNew, joinNewLost:
		return cl.id == ""
	case joinStale, beatStale:
		return cl.old != ""
	case syncOwn, commitOwn:
		return cl.id != "" && cl.gen >= 0
	case syncStale, commitStale:
		return cl.id != "" && cl.gen >= 1
	case syncAgain:
		return cl.id != "" && cl.gen >= 0 && cl.leads
	case leaveInstance:
		return static
	case commitNobody, fetch:
		return true
	default:
		return cl.id != ""
	}
}

func (w *world) doClient(c int, k kind) bool {
	if !w.possible(c, k) {
		return false
	}
	cl := &w.clients[c]
	switch k {
	case abandon:
		w.waiting(c).lost = true
	case joinNew, joinNewLost:
		w.join(c, k, "")
	case restart:
		cl.old, cl.id, cl.gen, cl.leads, cl.stage = cl.id, "", -1, false, mustJoin
		w.join(c, k, "")
	case joinOther:
		cl.other = !cl.other
		w.join(c, k, cl.id)
	case joinOwn, joinLost:
		w.join(c, k, cl.id)
	case joinStale:
		w.join(c, k, cl.old)
	default:
		w.send(c, k)
	}
	return true
}

// send sends what is not a join.
func (w *world) send(c int, k kind) {
	cl := &w.clients[c]
	q := request{client: int8(c), kind: k, member: cl.id, gen: cl.gen}
	inst := w.instance(c)
	switch k {
	case syncStale, commitStale:
		q.gen = cl.gen - 1
	case beatStale:
		q.member = cl.old
	case commitNobody:
		q.member, q.gen = "", -1
	default:
	}
	switch k {
	case syncOwn, syncAgain, syncStale:
		w.step(q, group.Sync{
			Version: 4, MemberID: q.member, InstanceID: inst, Generation: q.gen, Assignments: w.plan(c, k),
		})
	case beatOwn, beatStale:
		w.step(q, group.Heartbeat{MemberID: q.member, InstanceID: inst, Generation: q.gen})
	case leaveOwn:
		w.model.forget(q.member)
		w.step(q, group.Leave{Version: 5, Members: []group.LeavingMember{{MemberID: q.member, InstanceID: inst}}})
	case leaveInstance:
		q.member = ""
		w.step(q, group.Leave{Version: 5, Members: []group.LeavingMember{{InstanceID: inst}}})
	case commitOwn, commitStale, commitNobody:
		if k == commitNobody {
			inst = nil
		}
		q.value = w.model.accepted + 1
		w.step(q, group.Commit{
			Version: 8, MemberID: q.member, InstanceID: inst, Generation: q.gen, Retention: -1,
			Offsets: []group.CommitOffset{{TopicPartition: partition, Offset: q.value, LeaderEpoch: -1, Timestamp: -1}},
		})
	case fetch:
		q.member = ""
		w.step(q, group.FetchOffsets{Partitions: []group.TopicPartition{partition}})
	default:
		panic(fmt.Sprintf("explore: unknown action %d", k))
	}
}

var partition = group.TopicPartition{Topic: "t", Partition: 0}

// instances are the instance ids of static clients.
var instances = [maxClients]string{"ia", "ib", "ic"}

func (w *world) instance(c int) *string {
	if !w.spec.Clients[c].Static {
		return nil
	}
	return &instances[c]
}

// subscriptions are the two that a client may offer.
var subscriptions = [2][]byte{
	schema.AppendSubscription(nil, schema.Subscription{Topics: []string{"t"}}),
	schema.AppendSubscription(nil, schema.Subscription{Topics: []string{"t", "u"}}),
}

func (w *world) offered(c int) []group.Protocol {
	which := 0
	if w.clients[c].other {
		which = 1
	}
	names := w.spec.Clients[c].Protocols
	if len(names) == 0 {
		names = []string{"range"}
	}
	list := make([]group.Protocol, len(names))
	for i, n := range names {
		list[i] = group.Protocol{Name: n, Metadata: subscriptions[which]}
	}
	return list
}

// letter is how the ids of a client begin, as they do in scenarios.
func letter(c int) string { return string(rune('a' + c)) }

func (w *world) join(c int, k kind, id string) {
	cl := &w.clients[c]
	j := group.Join{
		Version: w.spec.Clients[c].Version, MemberID: id, InstanceID: w.instance(c),
		ClientID: letter(c), ClientHost: "/127.0.0.1", SessionTimeout: session, RebalanceTimeout: rebalance,
		ProtocolType: "consumer", Protocols: w.offered(c),
	}
	q := request{client: int8(c), kind: k, lost: k == joinNewLost || k == joinLost, member: id}
	if id == "" {
		j.NewMemberID = fmt.Sprintf("%s%d", letter(c), cl.given+1)
		q.member = j.NewMemberID
		w.model.handed = nil
	}
	t := w.next
	w.step(q, j)
	if id == "" && (w.find(t) != nil || slices.Contains(w.model.handed, j.NewMemberID)) {
		cl.given++
	}
}

// plan gives every member of the generation one partition: p0 to the first, or
// the other way round if the leader changes its mind.
func (w *world) plan(c int, k kind) []group.Assignment {
	cl := &w.clients[c]
	t := w.model.toldOf(cl.gen)
	if !cl.leads || t == nil || k == syncStale {
		return nil
	}
	plan := make([]group.Assignment, len(t.roster))
	for i, id := range t.roster {
		n := i
		if k == syncAgain {
			n = len(t.roster) - 1 - i
		}
		plan[i] = group.Assignment{MemberID: id, Data: shares[n]}
	}
	return plan
}

var shares = [maxClients + 2][]byte{[]byte("p0"), []byte("p1"), []byte("p2"), []byte("p3"), []byte("p4")}

// learn is what a client makes of an answer.
func (cl *client) learn(q *request, body group.Response) {
	switch b := body.(type) {
	case group.Joined:
		cl.learnJoin(q, &b)
	case group.Synced:
		cl.learnCode(q, b.Code)
		if b.Code == 0 && q.gen == cl.gen {
			cl.stage = member
		}
	case group.Beat:
		cl.learnCode(q, b.Code)
	case group.Left:
		if q.kind == leaveOwn && len(b.Members) == 1 && b.Members[0].Code == 0 {
			cl.forget()
		}
	case group.Committed:
		if q.kind == commitOwn && len(b.Codes) > 0 {
			cl.learnCode(q, b.Codes[0])
		}
	}
}

func (cl *client) learnJoin(q *request, b *group.Joined) {
	const memberIDRequired = 79
	switch {
	case b.Code == memberIDRequired:
		cl.id = b.MemberID
	case b.Code == 0:
		cl.id, cl.gen, cl.leads, cl.stage = b.MemberID, b.Generation, b.Leader == b.MemberID, mustSync
	case q.kind != joinStale:
		cl.learnCode(q, b.Code)
	}
}

func (cl *client) learnCode(q *request, c group.Code) {
	const illegalGeneration, unknownMember, inProgress, full, fenced = 22, 25, 27, 81, 82
	if q.member != cl.id || q.kind == syncStale || q.kind == commitStale {
		return
	}
	switch c {
	case unknownMember, fenced, full:
		cl.forget()
	case illegalGeneration, inProgress:
		cl.stage = mustJoin
	}
}

func (cl *client) forget() {
	if cl.id != "" {
		cl.old = cl.id
	}
	cl.id, cl.gen, cl.leads, cl.stage = "", -1, false, mustJoin
}

// names are the ids that a world mentions, in the order of their appearance.
type names struct{ list []string }

func (n *names) of(id string) byte {
	if id == "" {
		return 0
	}
	i := slices.Index(n.list, id)
	if i < 0 {
		i = len(n.list)
		n.list = append(n.list, id)
	}
	return byte(i + 1)
}
