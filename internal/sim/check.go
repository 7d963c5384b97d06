package sim

import (
	"bytes"
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
)

// groupState is what the checks know of one group.
type groupState struct {
	name string
	// current is the generation that the group is in, preparing whether the
	// next one is prepared.
	current   int32
	preparing bool
	// completing: the generation has no plan yet. active: it has members.
	completing, active bool
	// started is when the rebalance began that prepares the next generation,
	// fromEmpty whether there was nobody before.
	started   time.Duration
	fromEmpty bool
	gens      map[int32]*generation
	// all are the generations that have had a number. There may be several: a
	// group that was deleted, or lost before it was recorded, begins anew, with
	// other members.
	all map[int32][]*generation
	// instances say which instance a static member's id is of.
	instances map[string]string
	members   map[string]*lease
}

// generation is what members were told of one generation.
type generation struct {
	number  int32
	told    bool
	leader  string
	name    string
	members []string // by what stays of them: see canon
	ids     map[string]bool
	owners  map[part]string
	// The time that members have to sync.
	life     *life
	began    time.Duration
	forgiven int
	synced   map[string]bool
}

// lease is what the checks know of a member's session.
type lease struct {
	alive   time.Duration // when it last started
	session time.Duration // the shortest that it asked for
	since   time.Duration // when it was admitted
}

func newGroupState(name string) *groupState {
	return &groupState{
		name: name, gens: map[int32]*generation{}, all: map[int32][]*generation{},
		instances: map[string]string{}, members: map[string]*lease{},
	}
}

// begin notes that a join phase has ended in a generation.
func (g *groupState) begin(number int32, p *probe) {
	g.current = number
	gen := &generation{
		number: number, ids: map[string]bool{}, owners: map[part]string{},
		life: p.l, began: p.w.mono, forgiven: p.w.forgiven, synced: map[string]bool{},
	}
	g.gens[number] = gen
	g.all[number] = append(g.all[number], gen)
}

// canon is what stays of a member through a restart: its instance id.
func (g *groupState) canon(id string) string {
	if i, ok := g.instances[id]; ok {
		return "/" + i
	}
	return id
}

// noteMember notes for which member a request speaks, and whether an id that
// was offered has been used.
func (w *World) noteMember(c *call, fx *group.Effects) {
	switch r := c.req.(type) {
	case group.Sync:
		c.member = r.MemberID
	case group.Heartbeat:
		c.member = r.MemberID
	case group.Commit:
		if r.Generation >= 0 { // others are taken of who is no member, whatever id they give
			c.member = r.MemberID
		}
	case group.Join:
		c.member = r.MemberID
		used, accepted := true, true
		for i := range fx.Replies {
			if j, ok := fx.Replies[i].Body.(group.Joined); ok && c.life.get(fx.Replies[i].Ticket) == c {
				used, accepted = j.MemberID == r.NewMemberID, j.Code == 0
			}
		}
		if r.MemberID == "" && used {
			c.member = r.NewMemberID
			c.actor.ids++
		}
		if accepted {
			w.noteLease(c, r.SessionTimeout)
		}
		if accepted && r.InstanceID != nil {
			w.groups[c.group].instances[c.member] = *r.InstanceID
		}
	}
}

// noteLease notes the session that an accepted JoinGroup asks for.
func (w *World) noteLease(c *call, session time.Duration) {
	g := w.groups[c.group]
	l := g.members[c.member]
	if l == nil {
		l = &lease{session: session}
		g.members[c.member] = l
	}
	l.session = min(l.session, session)
	if l.since == 0 {
		l.since = w.mono
	}
}

// checkExpiry checks that a member whose session runs out has had it in full,
// and does not wait for an answer of ours.
func (w *World) checkExpiry(p *probe, id string) {
	for _, c := range p.l.calls {
		if c == nil || c.member != id || c.answers > 0 {
			continue
		}
		if _, joins := c.req.(group.Join); joins && c.replied && !c.parked && c.needs == 0 {
			continue // answered in this very turn, and no sign of life
		}
		if !c.replied || c.good || c.parked {
			w.fail("expiry", "member %s of group %d expires while it waits for the answer to %T", id, p.g, c.req)
		}
	}
	g := w.groups[p.g]
	l := g.members[id]
	if l == nil {
		return // of a life before the first load
	}
	start := max(l.alive, p.l.began)
	if w.mono-start < l.session {
		w.fail("expiry", "member %s of group %d expires after %s, its session is %s", id, p.g, w.mono-start, l.session)
	}
	delete(g.members, id)
}

// alive restarts a member's session, as far as the checks know.
func (w *World) alive(c *call) {
	if l := w.groups[c.group].members[c.member]; l != nil {
		l.alive = w.mono
	}
}

// checkCommit checks that what a commit was told is what the log says.
func (w *World) checkCommit(p *probe, c *call, at, end group.Offset) {
	if at == end {
		w.fail("commit", "a commit is good and nothing is recorded: %+v", c.req)
	}
	r, _ := c.req.(group.Commit)
	if r.Generation >= 0 {
		w.checkGeneration(c, r.Generation)
	}
	if g := w.groups[c.group]; g.active && (g.completing || r.Generation < 0) {
		w.fail("commit", "a commit of generation %d is taken: group %d is in %d, before its plan %t", r.Generation, c.group, g.current, g.completing)
	}
	for i := range r.Offsets {
		o := &r.Offsets[i]
		if len(o.Metadata) > 0 {
			continue // may have been refused by itself
		}
		k := p.l.shard.disk.index.offsets[p.g][partOf(o.Topic, o.Partition)]
		if k.at < at || k.offset != o.Offset && !slices.ContainsFunc(r.Offsets[i+1:], func(x group.CommitOffset) bool { return x.TopicPartition == o.TopicPartition }) {
			w.fail("commit", "a commit of %v = %d is good, the log has %+v", o.TopicPartition, o.Offset, k)
		}
	}
}

// checkFetch checks that a fetch finds what was committed last, and returns
// how far the log must be durable before it may say so.
func (w *World) checkFetch(p *probe, c *call, body *group.FetchedOffsets) group.Offset {
	needs := group.Offset(0)
	offsets := p.l.shard.disk.index.offsets[p.g]
	for i := range body.Offsets {
		o := &body.Offsets[i]
		k, ok := offsets[partOf(o.Topic, o.Partition)]
		if !ok {
			k = known{none, -1}
		}
		if k.offset != o.Offset || o.Code != 0 {
			w.fail("fetch", "group %d has %v = %d (code %d), the log says %d", p.g, o.TopicPartition, o.Offset, o.Code, k.offset)
		}
		needs = max(needs, k.at+1)
	}
	if r, _ := c.req.(group.FetchOffsets); r.All {
		n := 0
		for _, k := range offsets {
			if k.offset != none {
				n++
			}
		}
		if n != len(body.Offsets) {
			w.fail("fetch", "group %d shows %d offsets, the log has %d", p.g, len(body.Offsets), n)
		}
	} else if len(r.Partitions) != len(body.Offsets) {
		w.fail("fetch", "group %d shows %d offsets of %d", p.g, len(body.Offsets), len(r.Partitions))
	}
	return needs
}

// checkStableJoin checks a JoinGroup that is answered with a generation: once
// the generation is recorded its members are those of the record. Who gets into
// it by a restart must not hear of that before the record is durable.
func (w *World) checkStableJoin(p *probe, c *call, body *group.Joined) group.Offset {
	rec := p.l.shard.disk.index.groups[p.g]
	if rec.value == nil || rec.value.Generation != body.Generation || len(rec.value.Members) == 0 {
		return 0
	}
	if findMember(rec.value, body.MemberID) == nil {
		w.fail("join", "member %s is told generation %d of group %d, whose record does not have it", body.MemberID, body.Generation, p.g)
	}
	j, _ := c.req.(group.Join)
	if j.MemberID != "" {
		return 0
	}
	// A leader that comes back must not plan: old clients are told that another
	// one leads, newer ones to skip it (KIP-814).
	leads := body.Leader == body.MemberID
	if leads && j.Version < 9 || leads != body.SkipAssignment {
		w.fail("leader", "member %s comes back as version %d to a group that is stable: leader %s, skip %t", body.MemberID, j.Version, body.Leader, body.SkipAssignment)
	}
	return rec.at + 1
}

// checkPlan checks that a SyncGroup is answered with what is recorded.
func (w *World) checkPlan(p *probe, c *call, body *group.Synced) group.Offset {
	r, _ := c.req.(group.Sync)
	rec := p.l.shard.disk.index.groups[p.g]
	if rec.value == nil || rec.value.Generation != r.Generation {
		w.fail("plan", "member %s gets an assignment of generation %d of group %d, which is not recorded", r.MemberID, r.Generation, p.g)
		return 0
	}
	if m := findMember(rec.value, r.MemberID); m == nil || !bytes.Equal(m.Assignment, body.Assignment) {
		w.fail("plan", "member %s of group %d gets another assignment than the one recorded", r.MemberID, p.g)
	}
	return rec.at + 1
}

func findMember(v *schema.GroupValue, id string) *schema.MemberValue {
	for i := range v.Members {
		if v.Members[i].ID == id {
			return &v.Members[i]
		}
	}
	return nil
}

// answered is where every answer leaves the broker.
func (w *World) answered(c *call, body group.Response) {
	c.answers++
	c.life.open--
	if c.answers > 1 {
		w.fail("answered twice", "%T of %s", c.req, c.actor.name)
		return
	}
	code := codeOf(body)
	w.hashAnswer(c, body, code)
	w.countAnswer(c.req, code)
	if c.passOf {
		c.replied, c.good = true, true
	}
	if c.replied && c.good && code == 0 && c.needs > c.life.shard.disk.durableEnd() {
		w.fail("too early", "%T of %s is answered before its records are durable: %+v", c.req, c.actor.name, body)
	}
	switch b := body.(type) {
	case group.Joined:
		if b.Code == 0 {
			w.told(c, &b)
			if c.barrier || c.needs > 0 { // others find a session that runs on
				w.alive(c)
			}
		}
	case group.Synced:
		if b.Code == 0 {
			w.assigned(c, &b)
		}
		if b.Code == 0 || c.parked && (b.Code == codeRebalanceInProgress || b.Code == codeUnknownServerError) {
			w.alive(c)
		}
	case group.Beat:
		if c.replied && (b.Code == 0 || b.Code == codeRebalanceInProgress) {
			w.alive(c)
		}
	case group.Committed:
		if c.replied && c.good {
			w.alive(c)
		}
	}
	c.body, c.deliverAfter = body, w.mono+c.takes
	if c.conn != nil && c.conn.over {
		w.historyLost(c)
	}
	if c.conn == nil {
		c.actor.passEnded(w)
	}
}

const (
	codeUnknownServerError  group.Code = -1
	codeNotCoordinator      group.Code = 16
	codeRebalanceInProgress group.Code = 27
	codeMemberIDRequired    group.Code = 79
	codeFenced              group.Code = 82
)

func (w *World) checkAllBounds() {
	for _, sh := range w.shards {
		if sh.life != nil {
			w.checkBounds(sh.life)
		}
	}
}

// checkBounds checks that a shard holds what is open and what exists, and no
// more.
func (w *World) checkBounds(l *life) {
	have := l.s.Load()
	if have.Requests != l.open {
		w.fail("memory", "shard %d holds %d requests, %d are open", l.shard.number, have.Requests, l.open)
	}
	if have.InFlight == 0 && have.Machines != len(l.s.Summaries()) {
		w.fail("memory", "shard %d holds %d groups, %d exist", l.shard.number, have.Machines, len(l.s.Summaries()))
	}
	if have.InFlight != len(l.shard.disk.batches)-l.shard.disk.durable {
		w.fail("memory", "shard %d has %d batches in flight, its log %d", l.shard.number, have.InFlight, len(l.shard.disk.batches)-l.shard.disk.durable)
	}
}
