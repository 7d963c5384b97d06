package explore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"rota/internal/group"
	"rota/internal/schema"
)

// fail notes the first thing that is wrong with a world.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// emitted looks at an answer when the group gives it.
func (w *world) emitted(q *request, body group.Response) {
	m := &w.model
	switch b := body.(type) {
	case group.Joined:
		m.handed = append(m.handed, b.MemberID)
		if b.Code == 79 {
			m.pending = append(m.pending, seen{id: b.MemberID, since: w.mono})
		}
		if b.Code == 0 && q.member == m.leader && m.state == group.Stable && q.kind != restart && q.kind != joinNew && q.kind != joinNewLost {
			w.fail("the leader joins again, and is told to go on")
		}
		if b.Code == 0 && b.Generation != m.gen {
			w.fail("%s is told generation %d in generation %d", b.MemberID, b.Generation, m.gen)
		}
	case group.Beat:
		w.checkBeat(q, b.Code)
	case group.Left:
		if len(b.Members) == 1 && b.Members[0].Code == 0 {
			m.forget(q.member)
		}
	case group.Committed:
		if len(b.Codes) == 1 && b.Codes[0] == 0 {
			w.checkCommit(q)
			m.accepted = q.value
		}
	case group.FetchedOffsets:
		if b.Code == 0 && len(b.Offsets) == 1 {
			if got := max(b.Offsets[0].Offset, 0); got < m.acked || got != m.accepted {
				w.fail("%d is read, %d is acknowledged and %d is accepted", got, m.acked, m.accepted)
			}
		}
	}
}

// checkBeat holds a heartbeat's answer against who the group's members are.
func (w *world) checkBeat(q *request, c group.Code) {
	m := &w.model
	want := group.Code(0)
	switch known := m.member(q.member); {
	case known == nil && w.spec.Clients[q.client].Static && w.instanceKnown(int(q.client)):
		want = 82
	case known == nil:
		want = 25
	case q.gen != m.gen && w.loads > 0 && q.gen > w.recorded && (m.first == 0 || q.gen < m.first):
		want = 27 // forgotten by the load
	case q.gen != m.gen:
		want = 22
	case m.state == group.PreparingRebalance:
		want = 27
	}
	if c != want {
		w.fail("the heartbeat of %s in generation %d is answered with %d, not %d", q.member, q.gen, c, want)
	}
	if c == 0 || c == 27 {
		m.alive(q.member, w.mono)
	}
}

func (w *world) instanceKnown(c int) bool {
	return slices.ContainsFunc(w.model.members, func(s seen) bool { return s.id[:1] == letter(c) })
}

// checkCommit says who may commit: anybody in an empty group, else a member in
// its generation, but not before the plan.
func (w *world) checkCommit(q *request) {
	m := &w.model
	switch {
	case q.gen < 0 && m.state == group.Empty:
	case q.gen < 0, q.gen != m.gen, m.member(q.member) == nil, m.state == group.CompletingRebalance:
		w.fail("a commit of %q in generation %d is accepted in generation %d, %s", q.member, q.gen, m.gen, m.state)
	}
}

// released looks at an answer when it leaves: from now on it is true for the
// one who gets it, and what it says must be on record.
func (w *world) released(q *request, h *held) {
	m := &w.model
	switch b := h.Body.(type) {
	case group.Joined:
		if b.Code != 0 {
			break
		}
		w.tell(&b)
		if h.names != "" && m.disk.gen == b.Generation && !slices.ContainsFunc(m.disk.members, func(v schema.MemberValue) bool { return w.who(v.ID) == w.who(h.names) }) {
			w.fail("%s is told that it has a place, which is not on record", h.names)
		}
		if h.names != "" && b.Leader == b.MemberID && w.spec.Clients[q.client].Version < 9 {
			w.fail("%s would plan anew for a generation that has its plan", b.MemberID)
		}
		if h.names != "" {
			m.alive(b.MemberID, w.mono)
		}
	case group.Synced:
		if b.Code == 0 {
			w.tellShare(q, string(b.Assignment))
		}
		if h.Session {
			m.alive(q.member, w.mono)
		}
	case group.Committed:
		if len(b.Codes) == 1 && b.Codes[0] == 0 {
			if m.disk.offset < q.value && m.accepted >= q.value {
				w.fail("commit %d is acknowledged, and %d is on record", q.value, m.disk.offset)
			}
			m.acked = max(m.acked, min(q.value, m.accepted))
			m.alive(q.member, w.mono)
		}
	case group.FetchedOffsets:
		if b.Code == 0 && b.Offsets[0].Offset > m.disk.offset && m.accepted > 0 {
			w.fail("%d is read before it is on record", b.Offsets[0].Offset)
		}
	}
}

// tell notes what a member learns of a generation, which must be what all
// others have learnt.
func (w *world) tell(b *group.Joined) {
	m := &w.model
	t := m.toldOf(b.Generation)
	leader := w.who(b.Leader)
	if b.ProtocolName == nil {
		w.fail("%s is told no protocol", b.MemberID)
		return
	}
	if t == nil {
		m.told = append(m.told, told{gen: b.Generation, leader: leader, protocol: *b.ProtocolName})
		t = &m.told[len(m.told)-1]
	}
	if t.protocol != *b.ProtocolName || t.leader != leader {
		w.fail("generation %d has the leader %s and %s for some, %s and %s for others", b.Generation, t.leader, t.protocol, leader, *b.ProtocolName)
	}
	if b.Leader != b.MemberID || len(b.Members) == 0 {
		return
	}
	roster := make([]string, len(b.Members))
	who := make([]string, len(b.Members))
	for i := range b.Members {
		roster[i] = b.Members[i].MemberID
		who[i] = w.who(roster[i])
	}
	slices.Sort(who)
	set := strings.Join(who, ",")
	if t.set != "" && t.set != set {
		w.fail("generation %d is told for %s and for %s", b.Generation, t.set, set)
	}
	t.set, t.roster = set, roster
	for _, id := range roster {
		if offers := w.spec.Clients[id[0]-'a'].Protocols; offers != nil && !slices.Contains(offers, t.protocol) {
			w.fail("%s has no protocol %s", id, t.protocol)
		}
	}
}

// tellShare notes what a member is told to own. Nobody else may own it in the
// same generation, and it must be on record.
func (w *world) tellShare(q *request, share string) {
	m := &w.model
	who := w.who(q.member)
	if m.disk.gen < q.gen {
		w.fail("%s is told its share of generation %d, and %d is on record", q.member, q.gen, m.disk.gen)
	}
	if m.disk.gen == q.gen {
		at := slices.IndexFunc(m.disk.members, func(v schema.MemberValue) bool { return w.who(v.ID) == who })
		if at >= 0 && string(m.disk.members[at].Assignment) != share {
			w.fail("%s is told to own %q, and %q is on record", q.member, share, m.disk.members[at].Assignment)
		}
	}
	t := m.toldOf(q.gen)
	if t == nil || share == "" {
		return
	}
	for _, o := range t.owners {
		if (o.who == who) != (o.share == share) {
			w.fail("in generation %d %s owns %s, and %s owns %s", q.gen, o.who, o.share, who, share)
		}
		if o.who == who {
			return
		}
	}
	t.owners = append(slices.Clone(t.owners), owner{who, share})
}

// checkNewGeneration: the number of a new generation has never been used.
func (w *world) checkNewGeneration(e *group.Event) {
	if m := &w.model; m.initial && w.mono-m.began < w.spec.Delay {
		w.fail("the initial delay lasts for %s only", w.mono-m.began)
	}
	if m := &w.model; !m.initial && e.Count > 0 && w.mono-m.began < rebalance && len(m.pending) > 0 {
		w.fail("generation %d begins without %s", e.Generation, m.pending[0].id)
	}
	if m := &w.model; e.Generation <= m.highest {
		w.fail("generation %d begins, and %d has been told", e.Generation, m.highest)
	}
}

// checkExpiry: nobody expires whose request is open, nor before its time.
func (w *world) checkExpiry(e *group.Event) {
	if e.Cause != group.CauseSessionExpired {
		if s := w.model.member(e.Member.ID); s != nil && w.mono-s.since < newMemberLife {
			w.fail("%s is new, and given up after %s", s.id, w.mono-s.since)
		}
		return
	}
	for i := range w.open {
		if q := &w.open[i]; q.member == e.Member.ID && q.kind != leaveOwn {
			w.fail("%s expires while its request is open", e.Member.ID)
		}
	}
	if s := w.model.member(e.Member.ID); s != nil && w.mono-s.since < session {
		w.fail("%s expires %s after it was heard of", e.Member.ID, w.mono-s.since)
	}
}

// checkSilent: whoever is silent for longer than its session is gone, and no
// generation waits for its plan for ever.
func (w *world) checkSilent() {
	m := &w.model
	for i := range m.members {
		s := &m.members[i]
		life := session
		if s.fresh {
			life = newMemberLife
		} else if slices.ContainsFunc(w.open, func(q request) bool { return q.member == s.id }) {
			continue
		}
		if w.mono-s.since > life {
			w.fail("%s is a member %s after it was heard of", s.id, w.mono-s.since)
		}
	}
	for i := range m.pending {
		if s := &m.pending[i]; w.mono-s.since > session {
			w.fail("%s is waited for %s after it was handed out", s.id, w.mono-s.since)
		}
	}
	if m.state == group.PreparingRebalance && m.initial && w.mono-m.since > max(rebalance, w.spec.Delay) {
		w.fail("the initial delay lasts for %s", w.mono-m.since)
	}
	if m.state == group.CompletingRebalance && w.mono-m.since > rebalance {
		w.fail("generation %d has no plan after %s", m.gen, w.mono-m.since)
	}
}

// check looks at a state as a whole.
func (w *world) check() {
	m := &w.model
	if got := w.g.Summary().State; got != m.state.String() {
		w.fail("the group is %s, and its events say %s", got, m.state)
	}
	parked := w.g.Parked()
	if !slices.IsSorted(parked) {
		w.fail("parked requests are out of order: %v", parked)
	}
	n := 0
	for i := range w.open {
		if q := &w.open[i]; !q.done {
			n++
			if !slices.Contains(parked, q.ticket) {
				w.fail("a request of %s is neither answered nor parked", q.member)
			}
		}
	}
	if n != len(parked) {
		w.fail("%d requests are parked, %d are open", len(parked), n)
	}
	if m.disk.offset < m.acked {
		w.fail("commit %d is acknowledged, and %d is on record", m.acked, m.disk.offset)
	}
	if len(w.flight) == 0 && m.state == group.Empty && len(m.disk.members) > 0 {
		w.fail("the group is empty, and %d members are on record", len(m.disk.members))
	}
	w.checkMembers()
	w.checkReplay()
}

// checkMembers: a generation has the members that its leader was told of, and
// no more than there is room for.
func (w *world) checkMembers() {
	m := &w.model
	if m.state != group.Stable && m.state != group.CompletingRebalance {
		return
	}
	if limit := w.spec.MaxSize; limit > 0 && len(m.members) > limit {
		w.fail("%d members, and room for %d", len(m.members), limit)
	}
	t := m.toldOf(m.gen)
	if t == nil || t.set == "" {
		return
	}
	who := make([]string, len(m.members))
	for i := range m.members {
		who[i] = w.who(m.members[i].id)
	}
	slices.Sort(who)
	if got := strings.Join(who, ","); got != t.set {
		w.fail("generation %d has %s, and was told for %s", m.gen, got, t.set)
	}
}

// checkReplay: what is on record and on its way is what the group remembers.
func (w *world) checkReplay() {
	read := w.disk
	if len(w.flight) > 0 {
		read = w.disk.Clone()
		for _, b := range w.flight {
			for i, r := range b.Records {
				if err := read.Apply(group.Entry{Offset: b.first + group.Offset(i), LeaderEpoch: r.Epoch(w.epoch), ProducerID: -1, Key: r.Key, Value: r.Value}); err != nil {
					w.fail("replay: %v", err)
				}
			}
		}
	}
	f := group.Frame{Now: w.now(), Name: func(id string) byte { return id[0]*16 + id[1] }, Ticket: func(group.Ticket) byte { return 0 }}
	if !bytes.Equal(read.AppendLogDigest(nil, &f), w.g.AppendLogDigest(nil, &f)) {
		w.fail("the group does not come back from its log")
	}
}

// digest appends all that decides what can happen from here on.
func (w *world) digest(b []byte) []byte {
	m := &w.model
	n := names{list: make([]string, 0, 8)}
	tickets := w.open
	f := group.Frame{
		Now: w.now(), Generation: m.gen, Committed: m.accepted, Name: n.of,
		Ticket: func(t group.Ticket) byte {
			return byte(slices.IndexFunc(tickets, func(q request) bool { return q.ticket == t }) + 1)
		},
	}
	b = w.g.AppendDigest(b, &f)
	b = append(b, byte(w.loads), byte(len(w.flight)), byte(m.state))
	for i := range w.spec.Clients {
		c := &w.clients[i]
		b = append(b, n.of(c.id), n.of(c.old), yes(c.leads), yes(c.other), byte(c.stage))
		b = number(b, c.gen, m.gen)
	}
	for i := range w.open {
		q := &w.open[i]
		b = append(b, byte(q.client), byte(q.kind), yes(q.lost), yes(q.done), n.of(q.member))
		b = number(b, q.gen, m.gen)
		b = append(b, byte(m.accepted-q.value))
	}
	for i := range w.held {
		b = append(b, f.Ticket(w.held[i].Ticket), byte(w.at-w.held[i].upTo))
	}
	if len(w.flight) > 0 {
		b = w.disk.AppendLogDigest(b, &f)
	}
	b = number(b, m.disk.epoch, w.epoch)
	b = number(b, m.highest, m.gen)
	b = append(b, byte(m.accepted-m.acked), yes(m.reborn), 0xff)
	for i := range m.members {
		s := &m.members[i]
		b = append(b, n.of(s.id), byte((w.mono-s.since)/(quantum/4)), yes(s.fresh))
	}
	b = append(b, byte((w.mono-m.since)/(quantum/4)))
	for i := range m.told {
		t := &m.told[i]
		if t.gen < m.disk.gen && t.gen < m.gen {
			continue // it cannot be told again
		}
		b = number(b, t.gen, m.gen)
		b = append(append(b, t.leader...), t.protocol...)
		for _, id := range t.roster {
			b = append(b, n.of(id))
		}
		for _, o := range t.owners {
			b = append(append(b, n.of(o.who)), o.share...)
		}
	}
	return b
}

func number(b []byte, n, to int32) []byte {
	n -= to
	return append(b, byte(n), byte(n>>8), byte(n>>16))
}

func yes(holds bool) byte {
	if holds {
		return 1
	}
	return 0
}
