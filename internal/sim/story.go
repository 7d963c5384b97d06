package sim

import (
	"fmt"
	"math"
	"strings"
	"time"

	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/scenario"
)

// story writes a run down as a scenario: what one group was asked, and what
// happened to its log and its time. A nil story writes nothing.
//
// The language knows one shard whose appends become durable all at once, and a
// clock that is never late. What does not fit makes the story inexact: it is
// then a help to the reader and no proof.
type story struct {
	w     *World
	group int
	b     strings.Builder
	mono  time.Duration
	wall  int64
	epoch int32 // of the scenario's shard
	// inexact says what the language could not say, "" if nothing.
	inexact string
}

func newStory(w *World, g int) *story {
	s := &story{w: w, group: g, mono: w.mono, wall: w.wall, epoch: 1}
	c := w.o.group
	fmt.Fprintf(&s.b, "broker group.initial.rebalance.delay.ms=%d core.new.member.timeout.ms=%d core.max.record.bytes=%d",
		c.InitialDelay.Milliseconds(), c.NewMemberTimeout.Milliseconds(), c.MaxRecordBytes)
	fmt.Fprintf(&s.b, " offsets.retention.minutes=%d", int(c.OffsetsRetention/time.Minute))
	if c.MaxSize < math.MaxInt32 {
		fmt.Fprintf(&s.b, " group.max.size=%d", c.MaxSize)
	}
	fmt.Fprintf(&s.b, "\ngroup %s\nhold-append\n", w.groups[g].name)
	return s
}

// mine reports whether the story is of this shard.
func (s *story) mine(sh *shard) bool { return s != nil && s.w.shardOf(s.group) == sh }

func (s *story) cannot(what string) {
	if s.inexact == "" {
		s.inexact = what
	}
}

// time lets the time pass that has passed.
func (s *story) time() {
	if d := s.w.mono - s.mono; d > 0 {
		fmt.Fprintf(&s.b, "+%s\n", d)
		s.wall += int64(s.w.mono/time.Millisecond - s.mono/time.Millisecond)
		s.mono = s.w.mono
	}
	if d := s.w.wall - s.wall; d != 0 {
		fmt.Fprintf(&s.b, "wall %s\n", time.Duration(d)*time.Millisecond)
		s.wall = s.w.wall
	}
}

func (s *story) line(text string) {
	s.time()
	s.b.WriteString(text + "\n")
}

func (s *story) request(p *probe, c *call, req group.Request) {
	if s == nil || p.g != s.group {
		return
	}
	switch r := req.(type) {
	case group.Expire:
		s.line("expire")
	case group.ForgetTopic:
		s.line("forget-topic " + r.Topic)
	default:
		s.line(c.actor.name + " -> " + strings.Join(coordinator.RequestWords(req), " "))
	}
}

// tick notes a deadline that does not run when it is due.
func (s *story) tick(p *probe) {
	if s == nil || p.g != s.group {
		return
	}
	if due, ok := p.real.Deadline(); ok && due < s.w.mono {
		s.cannot("a timer that is late")
	}
	s.time()
}

func (s *story) forgive(p *probe, late time.Duration) {
	if s == nil || p.g != s.group {
		return
	}
	s.cannot("a broker that stands still")
	s.mono = s.w.mono // the scenario's clock moves by the command
	s.b.WriteString("late " + late.String() + "\n")
}

// lands makes the log durable, if all of it is.
func (s *story) lands(sh *shard) {
	if !s.mine(sh) {
		return
	}
	if sh.disk.durable < len(sh.disk.batches) {
		s.cannot("a log of which a part is durable")
		return
	}
	s.line("release\nhold-append")
}

// failAppend is an append that fails; the log was durable up to before.
func (s *story) failAppend(sh *shard, before int) {
	if s.mine(sh) && sh.disk.durable > before {
		s.cannot("a failed append that is durable all the same")
	}
}

func (s *story) ends(sh *shard) {
	if s.mine(sh) && sh.disk.durable < len(sh.disk.batches) {
		s.cannot("a log that is durable when its shard has ended")
	}
}

func (s *story) crashes(sh *shard) {
	if !s.mine(sh) {
		return
	}
	for _, a := range s.w.actors {
		s.line("disconnect " + a.name)
	}
}

// loads reads the log, once for each epoch that has gone by.
func (s *story) loads(sh *shard) {
	if !s.mine(sh) {
		return
	}
	for ; s.epoch < sh.epoch; s.epoch++ {
		s.line("reload\nhold-append")
	}
}

// tell plays the Case and writes it down. The scenario is played as well: what
// it shows stands in it, and err is what its runner objects to.
func (c *Case) tell(groupName string) (text []byte, inexact string, err error) {
	w, _ := newWorld(c.Seed, c.with, NewStats())
	g := w.groupIndex(groupName)
	w.story = newStory(w, g)
	w.story.epoch = w.shardOf(g).epoch
	c.playIn(w)
	s := w.story
	s.time()
	text = []byte("core-only: found by the simulator\n\n" + s.b.String())
	f, err := scenario.Parse("found.scenario", text)
	if err != nil {
		return text, s.inexact, err
	}
	happened, err := scenario.Run(f, func(id string, c *group.Config) scenario.Machine {
		checked := *c
		checked.CheckInvariants = true
		return group.New(id, &checked)
	})
	if happened != nil {
		text = happened.Bytes()
	}
	return text, s.inexact, err
}
