package explore

import (
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
)

// wallOrigin is the Unix time in milliseconds at which every world begins.
const wallOrigin = 1_700_000_000_000

// world is a group with its shell, its log and its clients at one moment. It
// is what package scenario plays, so that every path can be written down.
type world struct {
	spec   *Spec
	config *group.Config

	g *group.Group
	// disk is the fold of what is durable: what a reload begins with.
	disk  *group.Group
	mono  time.Duration
	epoch int32
	at    group.Offset // of the next record
	// synced is the end of what is durable.
	synced group.Offset
	loads  int8
	// recorded is the generation that the last load found.
	recorded int32

	clients [maxClients]client
	next    group.Ticket
	current group.Ticket // of the request that is being run
	open    []request    // in order of arrival
	flight  []flying     // what is appended and not durable
	held    []held       // answers that wait for it

	model model
	// wrong is what a check has found.
	wrong string
	// watch is told of every call, if there is one.
	watch func(*Call)
}

// client is what one client believes.
type client struct {
	id, old string // member ids: the present one, and the one before
	gen     int32
	leads   bool
	other   bool // it offers other metadata than at first
	stage   stage
	given   int // ids that were given to it
}

// stage is what a client that behaves does next.
type stage uint8

const (
	mustJoin stage = iota
	mustSync
	member
)

// request is one that has no answer yet.
type request struct {
	ticket group.Ticket
	client int8 // nobody for the world's own
	kind   kind
	lost   bool // nobody waits for the answer
	done   bool // the group has answered; the answer waits for the log
	member string
	gen    int32
	value  int64 // that a commit commits
}

const nobody = -1

type flying struct {
	group.Batch
	first group.Offset
}

type held struct {
	group.Reply
	upTo group.Offset
	// names is the id that must be on record when the answer leaves.
	names string
}

func newWorld(s *Spec) *world {
	c := s.config()
	w := &world{spec: s, config: c, g: group.New("g", c), disk: group.New("g", c), epoch: 1, next: 1}
	w.g.Loaded(w.now(), 0, w.epoch)
	for i := range w.clients {
		w.clients[i].gen = -1
	}
	return w
}

func (w *world) clone() *world {
	c := new(world)
	*c = *w
	c.g, c.disk = w.g.Clone(), w.disk.Clone()
	c.open, c.flight, c.held = slices.Clone(w.open), slices.Clone(w.flight), slices.Clone(w.held)
	c.model = w.model.clone()
	return c
}

func (w *world) now() group.Now {
	return group.Now{Mono: w.mono, Wall: wallOrigin + w.mono.Milliseconds()}
}

// step runs one request of a client, or of the world.
func (w *world) step(r request, req group.Request) {
	r.ticket = w.next
	w.next++
	if _, silent := req.(group.Expire); !silent {
		w.open = append(w.open, r)
	}
	w.current = r.ticket
	w.call(req, r.ticket, func() group.Effects { return w.g.Step(w.now(), w.at, r.ticket, req) })
	w.current = 0
	w.settle()
}

// settle runs what is due at this very moment, as a shell does.
func (w *world) settle() {
	for range 100 {
		due, ok := w.g.Deadline()
		if !ok || due > w.mono || w.wrong != "" {
			return
		}
		w.call(nil, 0, func() group.Effects { return w.g.Tick(w.now(), w.at) })
	}
	w.fail("a deadline that Tick does not move")
}

// advance lets time pass. No deadline lies on the way, but perhaps at its end.
func (w *world) advance(d time.Duration) {
	w.mono += d
	w.settle()
	w.checkSilent()
}

// call runs the group and does what it says.
func (w *world) call(req group.Request, t group.Ticket, run func() group.Effects) {
	var seen *Call
	if w.watch != nil {
		seen = begin(w.g, req, t)
	}
	fx := run()
	if seen != nil {
		seen.end(w.g, &fx)
		w.watch(seen)
	}
	w.effects(&fx)
}

// effects does what a call of the group asks for.
func (w *world) effects(fx *group.Effects) {
	stepEnd := w.at
	for _, b := range fx.Batches {
		w.flight = append(w.flight, flying{b, w.at})
		w.at += group.Offset(len(b.Records))
		stepEnd = w.at
	}
	for i := range fx.Events {
		w.event(&fx.Events[i])
	}
	w.checkAnswers(fx)
	// What the slice holds is the group's again at the next call of it.
	for _, r := range slices.Clone(fx.Replies) {
		q := w.find(r.Ticket)
		if q == nil || q.done {
			w.fail("ticket %d is answered with %T and has no open request", r.Ticket, r.Body)
			return
		}
		q.done = true
		w.emitted(q, r.Body)
		h := held{Reply: r}
		switch r.After {
		case group.DependsNothing:
		case group.DependsStep:
			if len(fx.Batches) > 0 {
				h.upTo = stepEnd
			}
		case group.DependsGroup:
			h.upTo = w.at // there is but one group
		}
		if replaced(fx.Events) {
			if j, ok := r.Body.(group.Joined); ok && j.Code == 0 && !completed(fx.Events) {
				h.names = j.MemberID
			}
		}
		if h.upTo == 0 || len(w.flight) == 0 {
			w.release(&h)
			continue
		}
		w.held = append(w.held, h)
	}
	if !w.spec.SlowLog {
		w.durable()
	}
}

func replaced(events []group.Event) bool {
	return slices.ContainsFunc(events, func(e group.Event) bool { return e.Kind == group.MemberReplaced })
}

func completed(events []group.Event) bool {
	return slices.ContainsFunc(events, func(e group.Event) bool { return e.Kind == group.JoinCompleted })
}

func (w *world) find(t group.Ticket) *request {
	for i := range w.open {
		if w.open[i].ticket == t {
			return &w.open[i]
		}
	}
	return nil
}

// durable makes what is in flight durable, batch by batch, and lets go what
// has waited for it.
func (w *world) durable() {
	for len(w.flight) > 0 {
		b := w.flight[0]
		w.flight = w.flight[1:]
		for i, r := range b.Records {
			w.record(r)
			err := w.disk.Apply(group.Entry{
				Offset: b.first + group.Offset(i), LeaderEpoch: r.Epoch(w.epoch),
				ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, Key: r.Key, Value: r.Value,
			})
			if err != nil {
				w.fail("what was appended cannot be read back: %v", err)
			}
		}
		end := b.first + group.Offset(len(b.Records))
		w.synced = end
		for len(w.held) > 0 && w.held[0].upTo <= end {
			h := w.held[0]
			w.held = w.held[1:]
			w.release(&h)
		}
	}
	w.settle()
}

// record notes what a record that is durable says.
func (w *world) record(r group.Record) {
	key, err := schema.ParseKey(r.Key)
	if err != nil {
		w.fail("a key that cannot be read: %v", err)
		return
	}
	switch key.(type) {
	case schema.GroupKey:
		if r.Value == nil {
			w.model.disk = onDisk{offset: w.model.disk.offset}
			w.model.reborn = false
			return
		}
		v, err := schema.ParseGroupValue(r.Value)
		if err != nil {
			w.fail("a group record that cannot be read: %v", err)
			return
		}
		w.model.disk = onDisk{group: true, gen: v.Generation, epoch: w.epoch, members: v.Members, offset: w.model.disk.offset}
		if v.Leader != nil {
			w.model.disk.leader = *v.Leader
		}
	case schema.OffsetKey:
		w.model.disk.offset = 0
		if r.Value != nil {
			v, err := schema.ParseOffsetValue(r.Value)
			if err != nil {
				w.fail("an offset that cannot be read: %v", err)
				return
			}
			w.model.disk.offset = v.Offset
		}
	}
}

// release lets an answer leave. Its client learns from it, if there is one.
func (w *world) release(h *held) {
	i := slices.IndexFunc(w.open, func(q request) bool { return q.ticket == h.Ticket })
	q := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	if h.Session {
		w.g.Released(w.now(), h.Ticket)
	}
	w.released(&q, h)
	if q.client != nobody && !q.lost {
		w.clients[q.client].learn(&q, h.Body)
	}
}

// reload is what a failed append and a move of the coordinator come to: every
// open request is answered with NOT_COORDINATOR, and the log is read.
func (w *world) reload() {
	const notCoordinator = 16
	w.flight = nil
	for _, h := range slices.Clone(w.held) {
		q := w.find(h.Ticket)
		w.unanswered(q, notCoordinator)
	}
	w.held = nil
	fx := w.g.Unload(w.now())
	for _, r := range slices.Clone(fx.Replies) {
		q := w.find(r.Ticket)
		if q == nil {
			w.fail("ticket %d is answered by Unload and has no open request", r.Ticket)
			return
		}
		w.release(&held{Reply: r})
	}
	if len(w.open) > 0 {
		w.fail("%d requests are left without an answer by Unload", len(w.open))
	}
	w.loads++
	w.epoch++
	w.at = w.synced
	w.g = w.disk.Clone()
	w.model.unload()
	w.call(nil, 0, func() group.Effects { return w.g.Loaded(w.now(), w.at, w.epoch) })
	w.recorded = w.model.gen
	w.model.rest(w.mono, 0)
	w.settle()
}

// unanswered refuses a request whose true answer was lost with its batch.
func (w *world) unanswered(q *request, c group.Code) {
	body := refusal(q, c)
	w.release(&held{Reply: group.Reply{Ticket: q.ticket, Body: body}})
}

// refusal is what the shell answers in place of the group.
func refusal(q *request, c group.Code) group.Response {
	switch q.kind {
	case joinNew, joinNewLost, joinOwn, joinLost, joinOther, joinStale, restart:
		return group.Joined{Code: c, Generation: -1}
	case syncOwn, syncAgain, syncStale:
		return group.Synced{Code: c}
	case leaveOwn, leaveInstance:
		return group.Left{Code: c}
	case commitOwn, commitStale, commitNobody:
		return group.Committed{Codes: []group.Code{c}}
	case fetch:
		return group.FetchedOffsets{Code: c}
	case remove:
		return group.Deleted{Code: c}
	default:
		return group.Beat{Code: c}
	}
}
