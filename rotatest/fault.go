package rotatest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// Rule says which requests something shall happen to: the next one of its API,
// unless it says otherwise. It begins to hold when one of Answer, Delay, Drop,
// DropReply and Hold is called.
type Rule struct {
	b      *Broker
	key    kmsg.Key
	skip   int
	times  int
	client string
	match  func(kmsg.Request) bool
}

// On begins a Rule for the requests of an API.
func (b *Broker) On(key kmsg.Key) *Rule { return &Rule{b: b, key: key, times: 1} }

// Skip leaves the next n requests alone that the Rule would hold for.
func (r *Rule) Skip(n int) *Rule { r.skip = n; return r }

// Times has the Rule hold for n requests; -1 for all.
func (r *Rule) Times(n int) *Rule { r.times = n; return r }

// From has the Rule hold for one client id only.
func (r *Rule) From(clientID string) *Rule { r.client = clientID; return r }

// If has the Rule hold for requests that f accepts. f must not keep the request.
func (r *Rule) If(f func(kmsg.Request) bool) *Rule { r.match = f; return r }

// Answer has the requests answered with the error and otherwise ignored. Where
// an answer has errors for each of the things that the request names (topics,
// partitions, members), each of them gets it.
func (r *Rule) Answer(err *kerr.Error) *Fault {
	return r.begin(func(_ *Fault, c *api.Call, _ func()) {
		if p, ok := c.Request.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
			c.Answer.NoReply()
			return
		}
		c.Answer.Reply(refusal(c.Request, err))
	})
}

// Delay has the requests wait for d, by the clock of the process, before they
// take effect.
func (r *Rule) Delay(d time.Duration) *Fault {
	return r.begin(func(f *Fault, c *api.Call, handle func()) {
		f.later(c, handle, func() <-chan time.Time { return time.After(d) }, nil)
	})
}

// Drop has the connection closed instead: the requests take no effect.
func (r *Rule) Drop() *Fault {
	return r.begin(func(_ *Fault, c *api.Call, _ func()) { c.Answer.Drop(errInjected) })
}

// DropReply has the requests take effect, and the connection closed instead of
// the replies.
func (r *Rule) DropReply() *Fault {
	return r.begin(func(_ *Fault, c *api.Call, handle func()) {
		c.Answer = &silencer{c.Answer}
		handle()
	})
}

// Hold has the requests wait, before they take effect, until Release. Replies
// to later requests of the same connection wait behind them.
func (r *Rule) Hold() *Fault {
	return r.begin(func(f *Fault, c *api.Call, handle func()) { f.later(c, handle, nil, f.released) })
}

var errInjected = errors.New("the test closes the connection")

// Fault is a Rule at work.
type Fault struct {
	rule     Rule
	action   func(f *Fault, c *api.Call, handle func())
	hits     atomic.Int64
	hit      chan struct{} // closed with the first hit
	released chan struct{}
	once     sync.Once
}

// Hits is how many requests it has happened to.
func (f *Fault) Hits() int { return int(f.hits.Load()) }

// Wait waits until it has happened to a request, and fails the test if that
// takes too long.
func (f *Fault) Wait() {
	b := f.rule.b
	b.t.Helper()
	select {
	case <-f.hit:
	case <-time.After(b.options.patience):
		b.t.Fatalf("rotatest: there has been no %s request for the rule", f.rule.key.Name())
	}
}

// Release lets go of what is held, and ends the Rule. It may be called more
// than once.
func (f *Fault) Release() {
	f.rule.b.faults.remove(f)
	f.once.Do(func() { close(f.released) })
}

func (r *Rule) begin(action func(*Fault, *api.Call, func())) *Fault {
	f := &Fault{rule: *r, action: action, hit: make(chan struct{}), released: make(chan struct{})}
	r.b.faults.add(f)
	return f
}

// later has the call handled when one of the channels says so. What the
// request refers to must be copied, as it belongs to the connection.
func (f *Fault) later(c *api.Call, handle func(), after func() <-chan time.Time, released <-chan struct{}) {
	c.Request = clone(c.Request)
	var timer <-chan time.Time
	if after != nil {
		timer = after()
	}
	f.rule.b.faults.waiting.Go(func() {
		select {
		case <-timer:
		case <-released:
		case <-c.Context.Done():
			c.Answer.Drop(errInjected)
			return
		}
		c.Answer.Run(handle)
	})
}

// clone copies a request with all that it refers to.
func clone(req kmsg.Request) kmsg.Request {
	twin := kmsg.RequestForKey(req.Key())
	twin.SetVersion(req.GetVersion())
	if err := twin.ReadFrom(req.AppendTo(nil)); err != nil {
		panic("rotatest: a request that was decoded cannot be decoded: " + err.Error())
	}
	return twin
}

// silencer closes the connection instead of replying.
type silencer struct{ api.Answerer }

func (s *silencer) Reply(kmsg.Response) { s.Drop(errInjected) }
func (s *silencer) NoReply()            { s.Drop(errInjected) }

// faults are the Rules at work, the oldest first. The first that holds for a
// request counts.
type faults struct {
	any     atomic.Bool
	waiting sync.WaitGroup // goroutines of requests that wait

	mu   sync.Mutex
	list []*Fault
}

func (f *faults) wait() { f.waiting.Wait() }

func (f *faults) add(fault *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fault)
	f.any.Store(true)
}

func (f *faults) remove(fault *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removeLocked(fault)
}

func (f *faults) removeLocked(fault *Fault) {
	for i, o := range f.list {
		if o == fault {
			f.list = append(f.list[:i:i], f.list[i+1:]...)
			break
		}
	}
	f.any.Store(len(f.list) > 0)
}

// table puts the Rules before every handler.
func (f *faults) table(rows []api.API) []api.API {
	for i := range rows {
		key, handle := rows[i].Key, rows[i].Handle
		rows[i].Handle = func(s *api.Server, c *api.Call) {
			if !f.any.Load() {
				handle(s, c)
				return
			}
			if fault := f.find(key, c); fault != nil {
				fault.action(fault, c, func() { handle(s, c) })
				return
			}
			handle(s, c)
		}
	}
	return rows
}

// find returns the Rule that holds for a request, and counts it.
func (f *faults) find(key kmsg.Key, c *api.Call) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.list {
		r := &fault.rule
		if r.key != key || r.client != "" && r.client != c.ClientID || r.match != nil && !r.match(c.Request) {
			continue
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.times > 0 {
			if r.times--; r.times == 0 {
				f.removeLocked(fault)
			}
		}
		if fault.hits.Add(1) == 1 {
			close(fault.hit)
		}
		return fault
	}
	return nil
}
