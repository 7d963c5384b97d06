package group

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// driver runs a group as the shell does, with a log that is durable at once.
// It answers for the contract: no ticket is answered twice, offsets follow each
// other, and no deadline is left behind.
type driver struct {
	tb     testing.TB
	g      *Group
	cfg    *Config
	now    Now
	log    []Entry
	epoch  int32
	ticket Ticket
	open   map[Ticket]bool
	// answers are the bodies of all replies, by ticket.
	answers map[Ticket]Response
	replied []Reply // the same in the order of release
	events  []Event
	held    []Reply // replies that wait while stalled
	stalled bool
	ids     int
}

const wallOrigin = 1_700_000_000_000

func newDriver(tb testing.TB, change func(*Config)) *driver {
	c := DefaultConfig()
	c.InitialDelay = 3 * time.Second
	c.CheckInvariants = true
	if change != nil {
		change(&c)
	}
	return &driver{
		tb: tb, cfg: &c, g: New("g", &c), now: Now{Wall: wallOrigin}, epoch: 1,
		open: map[Ticket]bool{}, answers: map[Ticket]Response{},
	}
}

// step sends a request and returns its ticket.
func (d *driver) step(req Request) Ticket {
	d.tb.Helper()
	d.ticket++
	t := d.ticket
	switch req.(type) {
	case Expire:
	default:
		d.open[t] = true
	}
	d.settle(d.g.Step(d.now, Offset(len(d.log)), t, req))
	return t
}

// ask sends a request that must be answered at once.
func (d *driver) ask(req Request) Response {
	d.tb.Helper()
	t := d.step(req)
	a, ok := d.answers[t]
	if !ok {
		d.tb.Fatalf("%T is not answered", req)
	}
	return a
}

func (d *driver) settle(fx Effects) {
	d.tb.Helper()
	for _, b := range fx.Batches {
		if len(b.Records) == 0 {
			d.tb.Fatal("empty batch")
		}
		for _, r := range b.Records {
			d.log = append(d.log, Entry{
				Offset: Offset(len(d.log)), LeaderEpoch: r.Epoch(d.epoch), ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch,
				Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value),
			})
		}
	}
	d.events = append(d.events, fx.Events...)
	for _, r := range fx.Replies {
		if !d.open[r.Ticket] {
			d.tb.Fatalf("ticket %d is answered with %+v, but not open", r.Ticket, r.Body)
		}
		delete(d.open, r.Ticket)
		if d.stalled && r.After != DependsNothing {
			d.held = append(d.held, r)
			continue
		}
		d.release(r)
	}
	if at, ok := d.g.Deadline(); ok && at < d.now.Mono {
		d.tb.Fatalf("deadline %s is past", at)
	}
}

func (d *driver) release(r Reply) {
	d.answers[r.Ticket] = r.Body
	d.replied = append(d.replied, r)
	if r.Session {
		d.g.Released(d.now, r.Ticket)
	}
}

// recover ends a stall.
func (d *driver) resume() {
	d.stalled = false
	for _, r := range d.held {
		d.release(r)
	}
	d.held = nil
}

// pass lets time pass, stopping at each deadline.
func (d *driver) pass(t time.Duration) {
	d.tb.Helper()
	end := d.now.Mono + t
	for {
		at, ok := d.g.Deadline()
		if !ok || at > end {
			break
		}
		d.moveTo(max(at, d.now.Mono))
		d.settle(d.g.Tick(d.now, Offset(len(d.log))))
		if again, ok := d.g.Deadline(); ok && again <= d.now.Mono {
			d.tb.Fatalf("due at %s again after its tick", again)
		}
	}
	d.moveTo(end)
}

func (d *driver) moveTo(t time.Duration) {
	d.now.Wall += (t - d.now.Mono).Milliseconds()
	d.now.Mono = t
}

// replayed reads the log into a new group.
func (d *driver) replayed() *Group {
	d.tb.Helper()
	g := New("g", d.cfg)
	for _, e := range d.log {
		if err := g.Apply(e); err != nil {
			d.tb.Fatal(err)
		}
	}
	return g
}

// compareReplay checks that the log holds what the group remembers.
func (d *driver) compareReplay() {
	d.tb.Helper()
	if got, want := remembered(d.tb, d.replayed()), remembered(d.tb, d.g); got != want {
		d.tb.Fatalf("replayed:\n%s\nserved:\n%s", got, want)
	}
}

// reload moves the group to a new epoch: unload, replay, load.
func (d *driver) reload() {
	d.tb.Helper()
	d.settle(d.g.Unload(d.now))
	if len(d.open) > 0 {
		d.tb.Fatalf("unloaded with %d open requests", len(d.open))
	}
	d.held = nil
	d.epoch++
	d.g = d.replayed()
	d.settle(d.g.Loaded(d.now, Offset(len(d.log)), d.epoch))
}

func remembered(tb testing.TB, g *Group) string {
	tb.Helper()
	text, err := g.MarshalText()
	if err != nil {
		tb.Fatal(err)
	}
	before, _, ok := bytes.Cut(text, []byte(OpenLine))
	if !ok {
		tb.Fatalf("no %q in %s", OpenLine, text)
	}
	return string(before)
}

func (d *driver) newID() string {
	d.ids++
	return fmt.Sprintf("m%d", d.ids)
}

// protocols lists names, each with a subscription to topic t.
func protocols(names ...string) []Protocol {
	list := make([]Protocol, len(names))
	for i, n := range names {
		list[i] = Protocol{Name: n, Metadata: []byte("\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff")}
	}
	return list
}

// joinOf is a JoinGroup of version 9 with usual settings.
func (d *driver) joinOf(member string) Join {
	return Join{
		Version: 9, MemberID: member, ClientID: "c", ClientHost: "/127.0.0.1",
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: protocols("range"), NewMemberID: d.newID(),
	}
}

// form makes the group stable with n dynamic members and returns their ids,
// the leader first.
func (d *driver) form(n int) []string {
	d.tb.Helper()
	var ids []string
	var tickets []Ticket
	for range n {
		id := d.ask(d.joinOf("")).(Joined).MemberID
		ids = append(ids, id)
		tickets = append(tickets, d.step(d.joinOf(id)))
	}
	d.pass(d.cfg.InitialDelay * 2)
	return d.syncAll(ids, tickets)
}

// syncAll has everyone sync who got a generation with these tickets.
func (d *driver) syncAll(ids []string, joins []Ticket) []string {
	d.tb.Helper()
	var leader string
	var plan []Assignment
	for i, t := range joins {
		j, ok := d.answers[t].(Joined)
		if !ok || j.Code != codeNone {
			d.tb.Fatalf("join of %s: %+v", ids[i], d.answers[t])
		}
		leader = j.Leader
		plan = append(plan, Assignment{MemberID: ids[i], Data: []byte("for " + ids[i])})
	}
	for _, id := range ids {
		if id != leader {
			d.step(Sync{Version: 5, MemberID: id, Generation: d.g.generation, ProtocolType: new("consumer"), ProtocolName: new("range")})
		}
	}
	a := d.ask(Sync{Version: 5, MemberID: leader, Generation: d.g.generation, ProtocolType: new("consumer"), ProtocolName: new("range"), Assignments: plan}).(Synced)
	if a.Code != codeNone || string(a.Assignment) != "for "+leader {
		d.tb.Fatalf("sync of the leader: %+v", a)
	}
	at := slices.Index(ids, leader)
	ids[0], ids[at] = ids[at], ids[0]
	return ids
}

func (d *driver) beat(id string) Code {
	d.tb.Helper()
	return d.ask(Heartbeat{MemberID: id, Generation: d.g.generation}).(Beat).Code
}

func (d *driver) wantState(s State, generation int32, members int) {
	d.tb.Helper()
	if d.g.state != s || d.g.generation != generation || len(d.g.members) != members {
		d.tb.Fatalf("%s, generation %d, %d members; want %s, %d, %d", d.g.state, d.g.generation, len(d.g.members), s, generation, members)
	}
}
