package sim

import (
	"errors"
	"fmt"
	"strings"

	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/record"
)

// shard is one partition of __consumer_offsets: its log, and whoever serves it.
type shard struct {
	number int
	disk   disk
	life   *life // nil while nobody serves
	// away: the shard is led elsewhere rather than loading.
	away    bool
	drains  bool
	epoch   int32
	forgets []*call // topic deletions that are not done
	late    bool    // no timer runs before the next turn
}

var errDisk = errors.New("disk has failed")

// start loads the shard and makes it serve.
func (w *World) start(sh *shard) {
	w.epoch++
	sh.epoch = w.epoch
	l := &life{shard: sh, forgets: map[group.Ticket]*call{}, probes: map[string]*probe{}}
	l.s = coordinator.NewGroupShard(coordinator.GroupShardConfig{
		Group: w.o.group, Epoch: sh.epoch, ExpireInterval: w.o.expireInterval,
		New: func(id string, c *group.Config) coordinator.GroupMachine {
			p := &probe{w: w, l: l, g: w.groupIndex(id), real: group.New(id, c)}
			l.probes[id] = p
			return p
		},
	})
	for i, g := range w.groups {
		if w.shardOf(i) == sh { // of a group that is not in the log nothing is left
			g.current, g.preparing, g.completing, g.active = 0, false, false, false
		}
	}
	sh.disk.rebuild(len(w.groups))
	w.replay(sh, l.s)
	w.story.loads(sh)
	sh.life, sh.away, sh.drains = l, false, false
	l.began = w.mono
	w.turn(l, func() {
		l.s.Activate(sh.disk.end())
		for _, c := range sh.forgets {
			w.forget(l, c)
		}
	})
}

// replay feeds the log to a new shard.
func (w *World) replay(sh *shard, s *coordinator.GroupShard) {
	var codec record.Codec
	for i := range sh.disk.batches {
		if err := s.Replay(sh.disk.batches[i].bytes, &codec); err != nil {
			w.fail("replay", "shard %d cannot read its log: %v", sh.number, err)
			return
		}
	}
}

// forget begins a pass that removes a topic's offsets.
func (w *World) forget(l *life, c *call) {
	c.life, c.answers, c.needs = l, 0, 0
	l.open++
	req, _ := c.req.(group.ForgetTopic)
	l.s.ForgetTopic(req, func(body group.Response) { w.answered(c, body) })
	l.pending = append(l.pending, c)
}

// turn is one turn of a shard: f, what is due, the appends, the answers. Turns
// follow until the shard has nothing to do without time passing.
func (w *World) turn(l *life, f func()) {
	for range 1000 {
		if l.s.Ended() != nil {
			return
		}
		l.s.Begin(w.now(), l.shard.disk.full)
		if f != nil {
			f()
			f = nil
		}
		for _, a := range l.s.Finish() {
			if l.s.Ended() != nil {
				break
			}
			w.append(l, a)
		}
		w.take(l)
		if at, ok := l.s.Deadline(); !ok || at > w.mono || l.shard.late {
			return
		}
	}
	w.fail("busy", "shard %d never comes to rest", l.shard.number)
}

// land is a turn of which only the completion matters, as the store brings it.
func (w *World) land(l *life, seq uint64, err error) {
	l.s.Begin(w.now(), l.shard.disk.full)
	l.s.Completed(seq, err)
	w.take(l)
}

// append hands a batch to the log.
func (w *World) append(l *life, a coordinator.Append) {
	d := &l.shard.disk
	switch {
	case d.refuse:
		d.refuse = false
		w.count("append refused")
		l.s.Appended(a.Seq, 0, errDisk)
		return
	case d.foreign:
		d.foreign = false
		w.count("append misplaced")
		d.appendForeign(w, l.shard.epoch)
	}
	for _, b := range a.Batch {
		w.h = (w.h ^ uint64(b)) * fnvPrime
	}
	l.s.Appended(a.Seq, d.append(w, a.Seq, a.Batch, l.shard.epoch), nil)
}

// take does what the shard says, and sees to it if it is over.
func (w *World) take(l *life) {
	if l.shard.drains && l.s.InFlight() == 0 {
		l.s.Unload()
	}
	out := l.s.Take()
	for i := range out.Releases {
		r := &out.Releases[i]
		l.drop(r.Ticket)
		r.Done(r.Body)
	}
	for i := range out.Events {
		for j := range out.Events[i].Events {
			if e := &out.Events[i].Events[j]; e.Kind == group.EventsLost {
				w.transition(e.Kind, e.Cause)
			}
		}
	}
	if l.s.Ended() != nil {
		w.over(l)
	}
}

// over clears up after a shard that has ended: all it had has been answered,
// and what it had in flight becomes durable before anyone reads the log, unless
// the log says otherwise.
func (w *World) over(l *life) {
	sh := l.shard
	if sh.life != l {
		return
	}
	sh.life = nil
	w.story.ends(sh)
	l.open -= len(sh.forgets) // the next one does them again
	if l.open != 0 {
		w.fail("unanswered", "shard %d has ended with %d requests unanswered", sh.number, l.open)
	}
	sh.disk.durable = len(sh.disk.batches)
}

// crash ends the broker: nobody is told, and of what was in flight a part is
// durable.
func (w *World) crash(n uint64) bool {
	for _, a := range w.actors {
		if a.conns != [lanes]*conn{} {
			w.cutOf(a)
			a.disconnected(w)
		}
		a.late = nil
	}
	for _, sh := range w.shards {
		flight := len(sh.disk.batches) - sh.disk.durable
		w.story.crashes(sh)
		sh.disk.keep(int(n % uint64(flight+1)))
		n = scramble(n)
		sh.life, sh.away, sh.drains = nil, false, false
		sh.disk.refuse, sh.disk.foreign = false, false
	}
	return true
}

// compareReplay reads the log into a fresh shard and compares what the groups
// remember.
func (w *World) compareReplay(sh *shard) {
	l := sh.life
	if l == nil || l.s.InFlight() > 0 {
		return
	}
	w.count("log compared")
	again := map[string]*group.Group{}
	s := coordinator.NewGroupShard(coordinator.GroupShardConfig{Group: w.o.group, Epoch: sh.epoch, New: func(id string, c *group.Config) coordinator.GroupMachine {
		again[id] = group.New(id, c)
		return again[id]
	}})
	w.replay(sh, s)
	for _, g := range w.groups {
		live, read := "", ""
		if p := l.probes[g.name]; p != nil {
			live = durableText(p.real)
		}
		if r := again[g.name]; r != nil {
			read = durableText(r)
		}
		if live != read {
			w.fail("replay", "group %s comes back from its log otherwise:\nserved:\n%sread:\n%s", g.name, live, read)
		}
	}
}

// durableText is what a restart remembers of a group.
func durableText(g *group.Group) string {
	if !g.Exists() {
		return ""
	}
	text, err := g.MarshalText()
	if err != nil {
		return fmt.Sprint(err)
	}
	above, _, _ := strings.Cut(string(text), group.OpenLine)
	_, above, _ = strings.Cut(above, "\n")
	return above
}
