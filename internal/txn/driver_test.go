package txn

import (
	"bytes"
	"testing"
	"time"

	"rota/internal/machine"
)

const wallOrigin = 1_700_000_000_000

// driver runs a Producer as the shell does, with a log that is durable at
// once. It answers for the contract: no ticket is answered twice, and no
// deadline is left behind.
type driver struct {
	tb     testing.TB
	p      *Producer
	cfg    *Config
	now    Now
	log    []Entry
	ticket Ticket
	open   map[Ticket]bool
	// told receives what leaves, in order.
	onRecord func(Entry)
	onReply  func(Ticket, Response)
	onEvent  func(Event)
	nextID   int64
}

func newDriver(tb testing.TB, c *Config) *driver {
	c.CheckInvariants = true
	return &driver{
		tb: tb, cfg: c, p: New("transfers", c), now: Now{Wall: wallOrigin}, open: map[Ticket]bool{}, nextID: 1000,
		onRecord: func(Entry) {}, onReply: func(Ticket, Response) {}, onEvent: func(Event) {},
	}
}

// step sends a request and returns its ticket.
func (d *driver) step(req Request) Ticket {
	d.tb.Helper()
	d.ticket++
	if _, quiet := req.(Expire); !quiet {
		d.open[d.ticket] = true
	}
	t := d.ticket
	d.settle(d.p.Step(d.now, Offset(len(d.log)), t, req))
	return t
}

// ask sends a request that must be answered at once.
func (d *driver) ask(req Request) Response {
	d.tb.Helper()
	var answer Response
	before := d.onReply
	d.onReply = func(_ Ticket, r Response) { answer = r }
	t := d.step(req)
	d.onReply = before
	if d.open[t] {
		d.tb.Fatalf("%T is not answered", req)
	}
	return answer
}

func (d *driver) settle(fx Effects) {
	d.tb.Helper()
	for _, b := range fx.Batches {
		if len(b.Records) == 0 || b.ProducerID != none {
			d.tb.Fatalf("batch %+v", b)
		}
		for _, r := range b.Records {
			e := Entry{Offset: Offset(len(d.log)), ProducerID: none, ProducerEpoch: none, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
			d.log = append(d.log, e)
			d.onRecord(e)
		}
	}
	for _, r := range fx.Replies {
		if !d.open[r.Ticket] {
			d.tb.Fatalf("ticket %d is answered with %+v, but not open", r.Ticket, r.Body)
		}
		if r.After != machine.DependsMachine {
			d.tb.Fatalf("%+v does not wait for what was recorded", r)
		}
		delete(d.open, r.Ticket)
		d.onReply(r.Ticket, r.Body)
	}
	for _, e := range fx.Events {
		d.onEvent(e)
	}
	if at, ok := d.p.Deadline(); ok && at < d.now.Mono {
		d.tb.Fatalf("deadline %s is past", at)
	}
}

// pass lets time pass, stopping at each deadline.
func (d *driver) pass(t time.Duration) {
	d.tb.Helper()
	end := d.now.Mono + t
	for {
		at, ok := d.p.Deadline()
		if !ok || at > end {
			break
		}
		d.moveTo(max(at, d.now.Mono))
		d.settle(d.p.Tick(d.now, Offset(len(d.log))))
		if again, ok := d.p.Deadline(); ok && again <= d.now.Mono {
			d.tb.Fatalf("due at %s again after its tick", again)
		}
	}
	d.moveTo(end)
}

func (d *driver) moveTo(t time.Duration) {
	d.now.Wall += (t - d.now.Mono).Milliseconds()
	d.now.Mono = t
}

// replayed reads the log into a new Producer.
func (d *driver) replayed() *Producer {
	d.tb.Helper()
	p := New("transfers", d.cfg)
	for _, e := range d.log {
		if err := p.Apply(e); err != nil {
			d.tb.Fatal(err)
		}
	}
	return p
}

// compareReplay checks that the log holds what the Producer remembers.
func (d *driver) compareReplay() {
	d.tb.Helper()
	if got, want := remembered(d.tb, d.replayed()), remembered(d.tb, d.p); got != want {
		d.tb.Fatalf("replayed:\n%s\nserved:\n%s", got, want)
	}
}

// reload moves the id to another coordinator. What waits is lost.
func (d *driver) reload() {
	d.tb.Helper()
	d.settle(d.p.Unload(d.now))
	clear(d.open)
	d.p = d.replayed()
	d.settle(d.p.Loaded(d.now, Offset(len(d.log)), 2))
}

func remembered(tb testing.TB, p *Producer) string {
	tb.Helper()
	text, err := p.MarshalText()
	if err != nil {
		tb.Fatal(err)
	}
	before, _, ok := bytes.Cut(text, []byte(OpenLine))
	if !ok {
		tb.Fatalf("no %q in %s", OpenLine, text)
	}
	return string(before)
}

// newID is a producer id that was never given.
func (d *driver) newID() int64 {
	d.nextID++
	return d.nextID - 1
}
