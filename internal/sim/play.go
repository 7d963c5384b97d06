package sim

import (
	"time"

	"rota/internal/client"
	"rota/internal/group"
)

// play does what an Event says, and reports whether it could.
func (w *World) play(e Event) bool {
	switch e.Kind {
	case Take, Deliver, Find, FindFails, Act, BreakConnection, LoseConnection, SendTwice, Die, Freeze, Dawdle, Throw, HoldCallback:
		return int(e.Who) < len(w.actors) && w.playActor(w.actors[e.Who], e)
	case TakeAll, Land, Start, FailAppend, RefuseAppend, ForeignAppend, Move, Drain, FillDisk:
		return int(e.Who) < len(w.shards) && w.playShard(w.shards[e.Who], e)
	case Pass:
		w.pass(millis(e.N))
	case LateTimer, Stall:
		w.sleep(e)
	case JumpWall:
		w.wall += int64(e.N) - jumpBack
	case Crash:
		w.crash(e.N)
	case GrowTopic:
		return w.grow(e.N)
	case Resize:
		w.o.group.MaxSize = []int{2, 3, 5, 1 << 30}[e.N%4]
		w.setChecking(w.o.group.CheckInvariants)
	default:
		return false
	}
	return true
}

// jumpBack is taken from every jump of the wall clock, so that some go back.
const jumpBack = 30_000

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }

func (w *World) playActor(a *actor, e Event) bool {
	c := a.conn
	switch e.Kind {
	case Take:
		x := w.readable(c)
		if x == nil {
			return false
		}
		w.read(x)
	case Deliver:
		x := deliverable(c)
		if x == nil || a.frozen {
			return false
		}
		w.deliver(x)
	case Find, FindFails:
		if a.finding == 0 || !a.runs() {
			return false
		}
		id, found := a.finding, client.Found{}
		if a.finding = 0; e.Kind == FindFails {
			found.Code = 15
		}
		a.m.Answer(w.mono, id, found)
		a.do(w)
		a.poll(w)
	case Act:
		return a.act(w, e.N)
	case BreakConnection:
		if c == nil || len(c.calls) == 0 {
			return false
		}
		w.cut(c)
		a.disconnected(w)
	case LoseConnection:
		if c == nil || c.lost || len(c.calls) == 0 {
			return false
		}
		c.lost = true
	case SendTwice:
		return w.sendTwice(a)
	default:
		return w.disturb(a, e)
	}
	return true
}

// disturb does something to a member's process.
func (w *World) disturb(a *actor, e Event) bool {
	if a.role != member || a.dead || a.gone {
		return false
	}
	switch e.Kind {
	case Die:
		a.gone = true
		w.cutOf(a)
	case Freeze:
		if a.frozen = !a.frozen; !a.frozen {
			a.tick(w)
		}
	case Dawdle:
		a.dawdles = !a.dawdles
	case Throw:
		a.throws = true
	case HoldCallback:
		a.holds = true
	}
	return true
}

// sendTwice breaks the connection and sends its oldest request once more on
// another one, without anybody but the network knowing.
func (w *World) sendTwice(a *actor) bool {
	if a.conn == nil || len(a.conn.calls) == 0 || a.conn.lost {
		return false
	}
	old := a.conn.calls[0]
	if old.body != nil {
		return false
	}
	w.cut(a.conn)
	w.push(a, old.req, old.rid)
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

func (w *World) playShard(sh *shard, e Event) bool {
	l := sh.life
	if e.Kind == Start {
		if l != nil {
			return false
		}
		w.start(sh)
		return true
	}
	if e.Kind == FillDisk {
		sh.disk.full = !sh.disk.full
		return true
	}
	if l == nil {
		return false
	}
	d := &sh.disk
	inFlight := len(d.batches) - d.durable
	switch e.Kind {
	case TakeAll:
		return w.takeAll(sh)
	case Land:
		if inFlight == 0 {
			return false
		}
		d.durable++
		w.story.lands(sh)
		w.landed(l, d.batches[d.durable-1].seq, e.N)
	case FailAppend:
		if inFlight == 0 {
			return false
		}
		seq := d.batches[d.durable].seq
		before := d.durable
		d.keep(int(e.N % uint64(inFlight+1)))
		w.story.failAppend(sh, before)
		l.s.Begin(w.now(), d.full)
		l.s.Completed(seq, errDisk)
		w.take(l)
	case RefuseAppend:
		d.refuse = true
	case ForeignAppend:
		d.foreign = true
	case Move:
		sh.away = e.N%2 == 0
		away := sh.away
		w.turn(l, func() { l.s.Unload() })
		sh.away = away
	case Drain:
		if sh.drains {
			return false
		}
		sh.drains = true
		w.turn(l, func() { l.s.Drain() })
	default:
		return false
	}
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
func (w *World) takeAll(sh *shard) bool {
	if sh.drains {
		return false
	}
	var calls []*call
	for _, a := range w.actors {
		if x := w.readable(a.conn); x != nil && w.shardOf(x.group) == sh {
			calls = append(calls, x)
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

// sleep lets time go by in which the broker does nothing. After a stall the
// requests that have come in meanwhile are read before any timer runs, as far
// as one turn goes; a late timer runs right away.
func (w *World) sleep(e Event) {
	for _, sh := range w.shards {
		sh.late = true
	}
	w.pass(millis(e.N))
	if e.Kind == Stall {
		for _, sh := range w.shards {
			if sh.life != nil {
				w.takeAll(sh)
			}
		}
	}
	for _, sh := range w.shards {
		sh.late = false
		if sh.life != nil {
			w.turn(sh.life, nil)
		}
	}
}

// grow gives a topic another partition. Clients see it when they look next.
func (w *World) grow(n uint64) bool {
	name := topicNames[n%2]
	if w.topics[name] >= 8 {
		return false
	}
	topics := map[string]int32{}
	for k, v := range w.topics {
		topics[k] = v
	}
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
