package txn

import (
	"math"
	"slices"
	"time"

	"rota/internal/machine"
)

// The vocabulary that a Producer shares with the other machines of the shell.
type (
	// Now is the present; see machine.Now.
	Now = machine.Now
	// Ticket names one request that is waiting for its reply.
	Ticket = machine.Ticket
	// Offset is a position in the shard's log.
	Offset = machine.Offset
	// Effects is what the caller must do after a call.
	Effects = machine.Effects[Response, Event]
	// Reply answers one request.
	Reply = machine.Reply[Response]
	// Entry is one record of the log as it is read back.
	Entry = machine.Entry
)

// never is the deadline of what has none.
const never = time.Duration(math.MaxInt64)

// Producer is one transactional id, whether or not it exists yet: a Producer
// without any state answers every request as Kafka answers for an unknown id,
// and Exists says whether there is anything to keep.
//
// What a Producer is given and returns must not be changed afterwards. The
// slice Effects.Replies is valid until the next call.
type Producer struct {
	id  string
	cfg *Config

	log logged
	// lastEpoch is the epoch before the last change of it, none if that is not
	// to be taken up again. As in Kafka it is not recorded: a producer that
	// repeats its InitProducerID is fenced if the coordinator has moved.
	lastEpoch int16

	timeout  time.Duration // Now.Mono at which the open transaction is aborted
	needsID  bool          // the abort waits for a producer id
	waiting  []waiting     // requests that wait for markers, oldest first
	unloaded bool

	// What the present call was given and is about to return.
	now Now
	at  Offset
	out Effects
	one [1]Reply // room for the answer of most calls
}

// waiting is a request that waits for markers until by.
type waiting struct {
	ticket Ticket
	req    Request
	by     time.Duration
}

// New returns the transactional id without any state. The Config is read at
// every call; the caller may change it between calls.
func New(id string, c *Config) *Producer {
	return &Producer{id: id, cfg: c, lastEpoch: none, timeout: never}
}

// Exists reports whether there is any state. The caller may drop a Producer
// that does not exist.
func (p *Producer) Exists() bool {
	return !p.unloaded && (p.log.exists || len(p.waiting) > 0)
}

// Step runs one request that arrived at now and returns its effects. at is the
// log offset that the next record will get. A request that must wait has no reply
// yet: its Ticket comes back in the effects of a later call.
//
// Calls must not run now.Mono backwards.
func (p *Producer) Step(now Now, at Offset, t Ticket, req Request) Effects {
	p.begin(now, at)
	p.run(waiting{ticket: t, req: req, by: now.Mono + p.patience(req)})
	return p.finish()
}

// patience is how long a request may wait for markers.
func (p *Producer) patience(req Request) time.Duration {
	if r, ok := req.(AddPartitions); ok && r.Patience > 0 {
		return min(r.Patience, p.cfg.Wait)
	}
	return p.cfg.Wait
}

// run runs a request, which may have waited before.
func (p *Producer) run(w waiting) {
	switch r := w.req.(type) {
	case AddPartitions:
		p.addPartitions(w, &r)
	case AddOffsets:
		p.addOffsets(w, &r)
	case End:
		p.end(w, &r)
	case MarkersWritten:
		p.markersWritten(w.ticket, &r)
	case InitProducerID:
		p.initProducerID(w, &r)
	case Describe:
		p.describe(w.ticket)
	case SupplyProducerID:
		p.supplyProducerID(w.ticket, &r)
	case Expire:
		p.expire()
	default:
		panic("txn: unknown request")
	}
}

// wait keeps a request until the markers are written, or refuses it with
// CONCURRENT_TRANSACTIONS if it has waited for long enough.
func (p *Producer) wait(w waiting) {
	if w.by <= p.now.Mono {
		p.reply(w.ticket, Refuse(w.req, codeConcurrentTransactions))
		return
	}
	p.waiting = append(p.waiting, w)
}

// resume runs the requests that have waited, in the order in which they came,
// if no markers are missing any more. One of them may end a transaction again:
// then the rest goes on waiting.
func (p *Producer) resume() {
	if p.needsID || ending(p.log.State) {
		return
	}
	list := p.waiting
	p.waiting = nil
	for _, w := range list {
		p.run(w)
	}
}

// Tick runs every deadline at or before now and returns their effects. Calling
// it early or twice does nothing.
func (p *Producer) Tick(now Now, at Offset) Effects {
	p.begin(now, at)
	p.waiting = slices.DeleteFunc(p.waiting, func(w waiting) bool {
		late := w.by <= now.Mono
		if late {
			p.reply(w.ticket, Refuse(w.req, codeConcurrentTransactions))
		}
		return late
	})
	if p.timeout <= now.Mono {
		p.timedOut()
	}
	return p.finish()
}

// Deadline returns the next time (Now.Mono) at which Tick has work, and false
// if there is none.
func (p *Producer) Deadline() (time.Duration, bool) {
	due := p.timeout
	for i := range p.waiting {
		due = min(due, p.waiting[i].by)
	}
	return due, due != never
}

// Forgive is called instead of Tick when the shard finds itself late: it moves
// all deadlines by late.
func (p *Producer) Forgive(_ Now, late time.Duration) {
	if p.timeout != never {
		p.timeout += late
	}
	for i := range p.waiting {
		p.waiting[i].by += late
	}
}

// Released does nothing: no reply of a Producer begins a session.
func (p *Producer) Released(Now, Ticket) {}

// Unload gives the id up: what waits is left to the shell to refuse.
func (p *Producer) Unload(Now) Effects {
	p.unloaded = true
	return Effects{}
}

func (p *Producer) begin(now Now, at Offset) {
	p.now, p.at = now, at
	p.out = Effects{}
	p.one[0] = Reply{}
}

func (p *Producer) finish() Effects {
	if p.cfg.CheckInvariants {
		if err := p.check(); err != nil {
			panic("txn: " + err.Error())
		}
	}
	out := p.out
	p.out = Effects{}
	return out
}

// reply answers a request once everything that was recorded of the id is
// durable: even a refusal may rest on what has only just been decided.
func (p *Producer) reply(t Ticket, body Response) {
	if p.out.Replies == nil {
		p.out.Replies = p.one[:0]
	}
	p.out.Replies = append(p.out.Replies, Reply{Ticket: t, After: machine.DependsMachine, Body: body})
}

func (p *Producer) emit(e Event) { p.out.Events = append(p.out.Events, e) }

// IsExhausted reports whether a producer id has no epoch left to give. The
// highest one is never given to a producer, so that it can always be fenced.
func IsExhausted(epoch int16) bool { return epoch >= math.MaxInt16-1 }
