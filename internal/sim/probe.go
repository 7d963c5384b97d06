package sim

import (
	"slices"
	"time"

	"rota/internal/coordinator"
	"rota/internal/group"
)

// probe stands between a shard and one group, and sees every call.
type probe struct {
	w    *World
	l    *life
	g    int
	real *group.Group
	// recorded is the generation that the group was loaded with.
	recorded int32
}

var _ coordinator.GroupMachine = (*probe)(nil)

func (p *probe) Exists() bool                    { return p.real.Exists() }
func (p *probe) Deadline() (time.Duration, bool) { return p.real.Deadline() }
func (p *probe) Apply(e group.Entry) error       { return p.real.Apply(e) }
func (p *probe) Summary() group.Summary          { return p.real.Summary() }
func (p *probe) MarshalText() ([]byte, error)    { return p.real.MarshalText() }

func (p *probe) Released(now group.Now, t group.Ticket) { p.real.Released(now, t) }

func (p *probe) Forgive(now group.Now, late time.Duration) {
	p.w.count("forgiven")
	p.w.forgiven++
	p.w.story.forgive(p, late)
	p.real.Forgive(now, late)
}

func (p *probe) Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects {
	c := p.w.current
	p.w.focus = p.g
	p.w.story.request(p, c, req)
	if c != nil {
		p.l.put(t, c)
	}
	fx := p.real.Step(now, at, t, req)
	if p.w.spoil != nil {
		p.w.spoil(&fx)
	}
	end := p.records(at, &fx)
	if _, ok := req.(group.ForgetTopic); ok {
		if c := p.l.forgetOf(t); end > at {
			c.needs = end
		}
	}
	if c != nil {
		p.w.noteMember(c, &fx)
	}
	p.events(&fx)
	p.replies(at, end, &fx)
	if c != nil {
		c.parked = !c.replied
		p.w.noteSync(c)
	}
	return fx
}

func (p *probe) Tick(now group.Now, at group.Offset) group.Effects {
	p.w.focus = p.g
	p.w.story.tick(p)
	fx := p.real.Tick(now, at)
	if p.w.spoil != nil {
		p.w.spoil(&fx)
	}
	end := p.records(at, &fx)
	p.events(&fx)
	p.replies(at, end, &fx)
	return fx
}

func (p *probe) Loaded(now group.Now, at group.Offset, epoch int32) group.Effects {
	p.w.focus = p.g
	p.w.groups[p.g].preparing, p.w.groups[p.g].completing, p.w.groups[p.g].active = false, false, false
	if v := p.l.shard.disk.index.groups[p.g].value; v != nil {
		p.w.groups[p.g].current, p.w.groups[p.g].active = v.Generation, len(v.Members) > 0
	}
	p.recorded = p.w.groups[p.g].current
	fx := p.real.Loaded(now, at, epoch)
	p.records(at, &fx)
	p.events(&fx)
	return fx
}

func (p *probe) Unload(now group.Now) group.Effects {
	fx := p.real.Unload(now)
	p.events(&fx)
	return fx
}

// records notes what the call has emitted and returns the offset after it.
func (p *probe) records(at group.Offset, fx *group.Effects) group.Offset {
	for i := range fx.Batches {
		for _, r := range fx.Batches[i].Records {
			e := p.w.parse(at, r.Key, r.Value)
			if e.group != p.g {
				p.w.fail("record", "group %d has written a record of group %d", p.g, e.group)
			}
			p.l.shard.disk.index.add(&e)
			at++
		}
	}
	return at
}

// events counts what happened, and checks that nobody goes too early.
func (p *probe) events(fx *group.Effects) {
	for i := range fx.Events {
		e := &fx.Events[i]
		p.w.transition(e.Kind, e.Cause)
		p.w.hash(uint64(e.Kind)<<8 | uint64(e.Cause))
		p.w.groups[p.g].follow(p, e, fx)
	}
}

// forgot reports whether a generation may have begun in an earlier life of the
// group and has left no record.
func (p *probe) forgot(generation int32) bool {
	g := p.w.groups[p.g]
	gen := g.gens[generation]
	return (gen == nil || gen.life != p.l) && generation > p.recorded
}

// replies works out what must be durable before each reply may leave.
func (p *probe) replies(at, end group.Offset, fx *group.Effects) {
	x := &p.l.shard.disk.index
	barrier := slices.ContainsFunc(fx.Events, func(e group.Event) bool { return e.Kind == group.JoinCompleted })
	for i := range fx.Replies {
		r := &fx.Replies[i]
		c := p.l.get(r.Ticket)
		if _, pass := r.Body.(group.Forgotten); pass {
			continue
		}
		if c == nil || c.replied {
			p.w.fail("answered twice", "group %d replies to a request that it has replied to, or never got: %+v", p.g, r.Body)
			continue
		}
		c.replied, c.good = true, codeOf(r.Body) == 0
		if h, ok := c.req.(group.Heartbeat); ok && (c.good || codeOf(r.Body) == codeRebalanceInProgress && !p.forgot(h.Generation)) {
			p.w.checkGeneration(c, h.Generation)
		}
		if !c.good {
			continue
		}
		switch body := r.Body.(type) {
		case group.Committed:
			c.needs = end
			p.w.checkCommit(p, c, at, end)
		case group.Left, group.Deleted, group.DeletedOffsets:
			if end > at {
				c.needs = end
			}
		case group.FetchedOffsets:
			c.needs = p.w.checkFetch(p, c, &body)
		case group.Described:
			if body.State == group.Stable.String() {
				c.needs = x.groups[p.g].at + 1
			}
		case group.Joined:
			c.barrier, c.gen = barrier, p.w.groups[p.g].gens[body.Generation]
			c.needs = p.w.checkStableJoin(p, c, &body)
		case group.Synced:
			sync, _ := c.req.(group.Sync)
			c.gen = p.w.groups[p.g].gens[sync.Generation]
			c.needs = p.w.checkPlan(p, c, &body)
		}
	}
}

// codeOf is the error that an answer as a whole comes to: none if it is good in
// part.
func codeOf(body group.Response) group.Code {
	switch r := body.(type) {
	case group.Joined:
		return r.Code
	case group.Synced:
		return r.Code
	case group.Beat:
		return r.Code
	case group.Left:
		if r.Code != 0 {
			return r.Code
		}
		for i := range r.Members {
			if r.Members[i].Code == 0 {
				return 0
			}
		}
		if len(r.Members) > 0 {
			return r.Members[0].Code
		}
	case group.Committed:
		if slices.Contains(r.Codes, 0) {
			return 0
		}
		if len(r.Codes) > 0 {
			return r.Codes[0]
		}
	case group.FetchedOffsets:
		return r.Code
	case group.DeletedOffsets:
		if r.Code != 0 {
			return r.Code
		}
	case group.Deleted:
		return r.Code
	case group.Described:
		return r.Code
	}
	return 0
}
