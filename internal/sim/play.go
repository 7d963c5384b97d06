package sim

import (
	"maps"
	"time"

	"rota/internal/client"
	"rota/internal/group"
)

// play does what an Event says, and reports whether it could.
func (w *World) play(e Event) bool {
	who := int(e.Who)
	switch about[e.Kind] {
	case anActor:
		return who < len(w.actors) && onActor[e.Kind](w, w.actors[who], e.N)
	case aConnection:
		n := len(w.actors)
		if who >= n*w.lanes() {
			return false
		}
		c := w.actors[who%n].conns[who/n]
		return c != nil && onConnection[e.Kind](w, c, e.N)
	case aShard:
		return who < len(w.shards) && onShard[e.Kind](w, w.shards[who], e.N)
	case theWorld:
		return onWorld[e.Kind](w, e.N)
	}
	return false
}

// onActor, onConnection, onShard and onWorld do what the kinds say. Each reports
// whether it could be done.
var onActor = [kinds]func(w *World, a *actor, n uint64) bool{
	Find: (*World).find, FindFails: (*World).findFails,
	Act:   func(w *World, a *actor, n uint64) bool { return a.act(w, n) },
	Delay: (*World).delay, Late: (*World).late, Die: (*World).die, Freeze: (*World).freeze,
	Dawdle:       func(_ *World, a *actor, _ uint64) bool { return a.up() && flip(&a.dawdles) },
	Throw:        func(_ *World, a *actor, _ uint64) bool { return a.up() && set(&a.throws) },
	HoldCallback: func(_ *World, a *actor, _ uint64) bool { return a.up() && set(&a.holds) },
}

var onConnection = [kinds]func(w *World, c *conn, n uint64) bool{
	Take: (*World).take1, Deliver: (*World).deliver1,
	BreakConnection: (*World).breakConnection, LoseConnection: (*World).loseConnection, SendTwice: (*World).sendTwice,
}

var onShard = [kinds]func(w *World, sh *shard, n uint64) bool{
	TakeAll: (*World).takeAll, Land: (*World).landOldest, Start: (*World).startAgain, FailAppend: (*World).failAppend,
	RefuseAppend:  func(_ *World, sh *shard, _ uint64) bool { return sh.life != nil && set(&sh.disk.refuse) },
	ForeignAppend: func(_ *World, sh *shard, _ uint64) bool { return sh.life != nil && set(&sh.disk.foreign) },
	FillDisk:      func(_ *World, sh *shard, _ uint64) bool { return flip(&sh.disk.full) },
	Move:          (*World).move, Drain: (*World).drain,
}

var onWorld = [kinds]func(w *World, n uint64) bool{
	Pass: func(w *World, n uint64) bool {
		w.pass(millis(n))
		return true
	},
	Flow: (*World).flow,
	JumpWall: func(w *World, n uint64) bool {
		w.wall += int64(n) - jumpBack
		return true
	},
	Stall: (*World).stall, LateTimer: (*World).lateTimer, Crash: (*World).crash, GrowTopic: (*World).grow, Resize: (*World).resize,
}

// jumpBack is taken from every jump of the wall clock, so that some go back.
const jumpBack = 30_000

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }

// set and flip change a switch; that can always be done.
func set(b *bool) bool {
	*b = true
	return true
}

func flip(b *bool) bool {
	*b = !*b
	return true
}

func (w *World) take1(c *conn, _ uint64) bool {
	x := w.readable(c)
	if x == nil {
		return false
	}
	w.read(x)
	return true
}

func (w *World) deliver1(c *conn, _ uint64) bool {
	x := w.deliverable(c)
	if x == nil || c.actor.frozen {
		return false
	}
	w.deliver(x)
	return true
}

func (w *World) find(a *actor, _ uint64) bool { return w.found(a, client.Found{}) }

func (w *World) findFails(a *actor, _ uint64) bool { return w.found(a, client.Found{Code: 15}) }

func (w *World) found(a *actor, answer client.Found) bool {
	if a.finding == 0 || !a.runs() {
		return false
	}
	id := a.finding
	a.finding = 0
	a.m.Answer(w.mono, id, answer)
	a.do(w)
	a.poll(w)
	return true
}

// breakConnection ends a connection, and with it all that its actor has: whoever
// loses one gives up what it has asked on the others.
func (w *World) breakConnection(c *conn, _ uint64) bool {
	if len(c.calls) == 0 {
		return false
	}
	w.cutOf(c.actor)
	c.actor.disconnected(w)
	return true
}

func (w *World) loseConnection(c *conn, _ uint64) bool {
	return !c.lost && len(c.calls) > 0 && set(&c.lost)
}

// up reports whether a member's process is there, running or not.
func (a *actor) up() bool { return a.role == member && !a.dead && !a.gone }

func (w *World) die(a *actor, _ uint64) bool {
	if !a.up() {
		return false
	}
	a.gone = true
	w.cutOf(a)
	return true
}

func (w *World) freeze(a *actor, _ uint64) bool {
	if !a.up() {
		return false
	}
	if flip(&a.frozen); !a.frozen {
		a.tick(w)
	}
	return true
}

// sendTwice breaks the connection and sends its oldest request once more on
// another one, without anybody but the network knowing.
func (w *World) sendTwice(c *conn, _ uint64) bool {
	if len(c.calls) == 0 || c.lost {
		return false
	}
	old := c.calls[0]
	if old.body != nil {
		return false
	}
	w.cut(c)
	w.push(c.actor, old.req, old.rid)
	return true
}

// read lets the broker read a request and run it.
func (w *World) read(c *call) {
	sh := w.shardOf(c.group)
	if l := sh.life; l != nil && !sh.drains {
		w.turn(l, func() { w.submit(l, c) })
		return
	}
	w.refuse(sh, c)
}

// submit gives a request to a shard, in a turn.
func (w *World) submit(l *life, c *call) {
	c.taken, c.life = true, l
	l.open++
	if j, ok := c.req.(group.Join); ok && j.MemberID == "" {
		j.NewMemberID = c.actor.nextID()
		c.req = j
	}
	w.current = c
	l.s.Submit(w.groups[c.group].name, c.req, func(body group.Response) { w.answered(c, body) })
	w.current = nil
}

// refuse answers for a shard that nobody serves.
func (w *World) refuse(sh *shard, c *call) {
	c.taken = true
	code := group.Code(14)
	if sh.away || sh.drains {
		code = codeNotCoordinator
	}
	c.body = group.Refuse(c.req, code)
	w.countAnswer(c.req, codeOf(c.body))
}

func (w *World) startAgain(sh *shard, _ uint64) bool {
	if sh.life != nil {
		return false
	}
	w.start(sh)
	return true
}

func (w *World) landOldest(sh *shard, n uint64) bool {
	d := &sh.disk
	if sh.life == nil || d.durable == len(d.batches) {
		return false
	}
	d.durable++
	w.story.lands(sh)
	w.landed(sh.life, d.batches[d.durable-1].seq, n)
	return true
}

// failAppend fails the oldest append in flight. How much of the log is durable
// all the same nobody knows before the next load.
func (w *World) failAppend(sh *shard, n uint64) bool {
	d, l := &sh.disk, sh.life
	inFlight := len(d.batches) - d.durable
	if l == nil || inFlight == 0 {
		return false
	}
	seq, before := d.batches[d.durable].seq, d.durable
	d.keep(int(n % uint64(inFlight+1)))
	w.story.failAppend(sh, before)
	l.s.Begin(w.now(), d.full)
	l.s.Completed(seq, errDisk)
	w.take(l)
	return true
}

func (w *World) move(sh *shard, n uint64) bool {
	if sh.life == nil {
		return false
	}
	l := sh.life
	w.turn(l, func() { l.s.Unload() })
	sh.away = n%2 == 0
	return true
}

func (w *World) drain(sh *shard, _ uint64) bool {
	if sh.life == nil || sh.drains {
		return false
	}
	sh.drains = true
	l := sh.life
	w.turn(l, func() { l.s.Drain() })
	return true
}

// landed tells the shard that its oldest append is durable: by itself, or in a
// turn like any other.
func (w *World) landed(l *life, seq uint64, how uint64) {
	if how%2 == 0 {
		w.land(l, seq, nil)
	}
	w.turn(l, func() {
		if how%2 == 1 {
			l.s.Completed(seq, nil)
		}
	})
}

// takeAll reads one request from each connection and runs them in one turn.
func (w *World) takeAll(sh *shard, _ uint64) bool {
	if sh.drains || sh.life == nil {
		return false
	}
	var calls []*call
	for _, a := range w.actors {
		for _, c := range a.conns {
			if x := w.readable(c); x != nil && w.shardOf(x.group) == sh {
				calls = append(calls, x)
			}
		}
	}
	if len(calls) == 0 {
		return false
	}
	l := sh.life
	w.turn(l, func() {
		for _, c := range calls {
			w.submit(l, c)
		}
	})
	return true
}

// nextID is the member id that the actor may be given next.
func (a *actor) nextID() string {
	return string(rune('a'+a.number)) + itoa(a.ids+1)
}

// pass lets time go by, and runs every timer when it is due.
func (w *World) pass(d time.Duration) {
	end := w.mono + d
	for w.failure == nil {
		next, ok := w.deadline()
		if !ok || next > end {
			break
		}
		w.to(max(next, w.mono))
		w.runTimers()
	}
	w.to(end)
}

// flow lets time go by in which everything gets through that nothing holds up.
func (w *World) flow(n uint64) bool {
	end := w.mono + millis(n)
	for round := 0; w.failure == nil; round++ {
		if w.carry() {
			if round > 100_000 {
				w.fail("busy", "no end of requests at %s", w.mono)
			}
			continue
		}
		next, ok := w.deadline()
		for _, a := range w.actors {
			for _, c := range a.conns {
				if c != nil {
					next, ok = c.freed(w.mono, next, ok)
				}
			}
		}
		if !ok || next > end {
			break
		}
		w.to(max(next, w.mono))
		w.runTimers()
	}
	w.to(end)
	return true
}

// carry lets through what is on its way, one step of each. It reports whether
// there was anything.
func (w *World) carry() bool {
	any := false
	for _, sh := range w.shards {
		any = w.landOldest(sh, 0) || any
	}
	for _, a := range w.actors {
		any = w.find(a, 0) || any
		for lane := range a.conns {
			any = a.conns[lane] != nil && w.take1(a.conns[lane], 0) || any
			any = a.conns[lane] != nil && w.deliver1(a.conns[lane], 0) || any
		}
	}
	w.checkAllBounds()
	return any
}

// to moves both clocks.
func (w *World) to(mono time.Duration) {
	w.wall += int64(mono/time.Millisecond - w.mono/time.Millisecond)
	w.mono = mono
}

// deadline is when the next timer runs.
func (w *World) deadline() (time.Duration, bool) {
	at, ok := time.Duration(0), false
	for _, sh := range w.shards {
		if sh.life != nil && !sh.late {
			if due, has := sh.life.s.Deadline(); has && (!ok || due < at) {
				at, ok = due, true
			}
		}
	}
	for _, a := range w.actors {
		due, has := a.again, w.calmed && a.mayReturn()
		if a.runs() {
			due, has = a.m.Deadline()
		}
		if has && (!ok || due < at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// runTimers runs what is due.
func (w *World) runTimers() {
	for _, sh := range w.shards {
		if sh.life != nil && !sh.late {
			if due, has := sh.life.s.Deadline(); has && due <= w.mono {
				w.turn(sh.life, nil)
			}
		}
	}
	for _, a := range w.actors {
		if w.calmed && a.mayReturn() && a.again <= w.mono {
			a.restart(w)
		}
		if a.runs() {
			if due, has := a.m.Deadline(); has && due <= w.mono {
				a.tick(w)
				if due, has := a.m.Deadline(); has && due <= w.mono && a.runs() {
					w.fail("busy", "the timer of %s is due again at once", a.name)
				}
			}
		}
	}
}

// stall lets time go by in which the broker does not run. What has come in
// meanwhile is read before any timer runs, as far as one turn goes.
func (w *World) stall(n uint64) bool {
	w.forgiven++
	w.withoutTimers(n)
	for _, sh := range w.shards {
		w.takeAll(sh, 0)
	}
	w.timersAgain()
	return true
}

// lateTimer lets time go by in which no timer of the broker runs.
func (w *World) lateTimer(n uint64) bool {
	w.withoutTimers(n)
	w.timersAgain()
	return true
}

func (w *World) withoutTimers(n uint64) {
	for _, sh := range w.shards {
		sh.late = true
	}
	w.pass(millis(n))
}

func (w *World) timersAgain() {
	for _, sh := range w.shards {
		sh.late = false
		if sh.life != nil {
			w.turn(sh.life, nil)
		}
	}
}

// resize changes group.max.size.
func (w *World) resize(n uint64) bool {
	if w.o.owners {
		return false // see drawOptions
	}
	w.o.group.MaxSize = []int{2, 3, 5, 1 << 30}[n%4]
	w.setChecking(w.o.group.CheckInvariants)
	return true
}

// grow gives a topic another partition. Clients see it when they look next.
func (w *World) grow(n uint64) bool {
	name := topicNames[n%2]
	if w.topics[name] >= 8 {
		return false
	}
	topics := maps.Clone(w.topics)
	topics[name]++
	w.topics = topics
	for _, a := range w.actors {
		if a.runs() {
			a.m.Metadata(w.mono, topics)
			a.poll(w)
		}
	}
	return true
}
