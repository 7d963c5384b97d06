package explore

import (
	"slices"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
)

// model is what an observer concludes from events, answers and records alone,
// without a look at the group: what the group is held against.
type model struct {
	state group.State
	since time.Duration // of state
	// began is when the state began, though all deadlines were put off since.
	began   time.Duration
	initial bool // PreparingRebalance, from Empty
	gen     int32
	made    time.Duration // when the generation began
	leader  string        // of a Stable group
	members []seen        // in no order that means anything
	pending []seen        // ids that were handed out
	told    []told        // by generation
	disk    onDisk
	// highest is the highest generation that anybody was told, or could have.
	highest int32
	// first is the first generation that began after the last load, 0 if none has.
	first int32

	// Each commit that is accepted has the next number for its value.
	acked    int64 // the last one that was answered with no error
	accepted int64 // the last one that the group has accepted
	// reborn: the group was deleted, which is not durable yet. Whoever joins
	// meanwhile has an id that is worth nothing if the old group comes back.
	reborn bool
	// handed are the ids in the answers to joins since the last one without an id.
	handed []string
}

// seen is a member, and when its session began at the latest.
type seen struct {
	id    string
	since time.Duration
	fresh bool // its first join is not answered
}

// told is what members of a generation were told of it.
type told struct {
	gen      int32
	leader   string // by who it is, not by its id
	protocol string
	set      string   // the members by who they are; empty if no leader has been told
	roster   []string // their ids
	owners   []owner
}

// owner is who was told to own what.
type owner struct{ who, share string }

// onDisk is what the last durable records say.
type onDisk struct {
	group   bool
	gen     int32
	epoch   int32
	leader  string
	members []schema.MemberValue
	offset  int64
}

func (m *model) clone() model {
	c := *m
	c.members, c.pending = slices.Clone(m.members), slices.Clone(m.pending)
	c.told = slices.Clone(m.told)
	c.handed = slices.Clone(m.handed)
	return c
}

func (m *model) member(id string) *seen {
	for i := range m.members {
		if m.members[i].id == id {
			return &m.members[i]
		}
	}
	return nil
}

func (m *model) toldOf(gen int32) *told {
	for i := range m.told {
		if m.told[i].gen == gen {
			return &m.told[i]
		}
	}
	return nil
}

// event moves the model.
func (w *world) event(e *group.Event) {
	m := &w.model
	switch e.Kind {
	case group.RebalanceStarted:
		m.initial = m.state == group.Empty
		m.enter(group.PreparingRebalance, w.mono)
	case group.JoinCompleted:
		w.checkNewGeneration(e)
		m.gen, m.made = e.Generation, w.mono
		if m.first == 0 {
			m.first = m.gen
		}
		m.highest = max(m.highest, m.gen)
		m.enter(group.CompletingRebalance, w.mono)
		for i := range m.members {
			m.members[i].fresh, m.members[i].since = false, w.mono
		}
	case group.GroupEmptied:
		m.enter(group.Empty, w.mono)
	case group.AssignmentInstalled:
		m.leader = e.Member.ID
		m.enter(group.Stable, w.mono)
	case group.MemberJoined:
		m.forget(e.Member.ID)
		m.members = append(m.members, seen{id: e.Member.ID, since: w.mono, fresh: true})
	case group.MemberReplaced:
		w.replaced(e)
	case group.MemberExpired:
		w.checkExpiry(e)
		m.gone(e.Member.ID)
	case group.MemberLeft, group.MemberDropped:
		w.checkDrop(e)
		m.gone(e.Member.ID)
	case group.MemberRefused, group.PendingExpired:
		m.forget(e.Member.ID)
	case group.GroupLoaded:
		m.gen, m.state = e.Generation, group.Empty
		m.members, m.leader = m.members[:0], m.disk.leader
		if e.Count > 0 {
			m.enter(group.Stable, w.mono)
			for i := range m.disk.members {
				m.members = append(m.members, seen{id: m.disk.members[i].ID, since: w.mono})
			}
		}
	case group.GroupDeleted:
		m.reborn = true
		m.gen, m.highest, m.told, m.acked, m.accepted, m.pending = 0, 0, nil, 0, 0, nil
	case group.GroupCreated, group.GroupUnloaded, group.RebalanceSuperseded, group.MemberRejoined,
		group.CommitRefused, group.OffsetsExpired, group.EventsLost:
	}
}

func (m *model) enter(s group.State, at time.Duration) { m.state, m.since, m.began = s, at, at }

// forget: an id that was handed out is not waited for any more.
func (m *model) forget(id string) {
	m.pending = slices.DeleteFunc(m.pending, func(s seen) bool { return s.id == id })
}

func (m *model) gone(id string) {
	m.members = slices.DeleteFunc(m.members, func(s seen) bool { return s.id == id })
}

// replaced puts a new id in the place of an old one. The session is a new one.
func (w *world) replaced(e *group.Event) {
	m := &w.model
	if old := m.member(e.Replaced); old != nil {
		*old = seen{id: e.Member.ID, since: w.mono}
		if m.leader == e.Replaced {
			m.leader = e.Member.ID
		}
	} else {
		w.fail("%s replaces %s, which was no member", e.Member.ID, e.Replaced)
	}
	for i := range m.told {
		if at := slices.Index(m.told[i].roster, e.Replaced); at >= 0 && m.told[i].gen == m.gen {
			m.told[i].roster = slices.Clone(m.told[i].roster)
			m.told[i].roster[at] = e.Member.ID
		}
	}
}

// unload forgets what a shard that ends takes with it. Generations that are
// older than the one on record cannot come back.
func (m *model) unload() {
	m.members, m.pending, m.first = m.members[:0], nil, 0
	m.told = slices.DeleteFunc(slices.Clone(m.told), func(t told) bool { return t.gen < m.disk.gen })
	m.accepted = m.disk.offset
	if m.reborn {
		m.told, m.reborn = nil, false
	}
	if !m.disk.group && m.disk.offset == 0 {
		// There is no group, and whoever was in it has an id that is worth
		// nothing: its numbers may be used again.
		m.told, m.highest = nil, 0
	}
	m.state, m.gen = group.Empty, 0
}

// rest begins every session anew, and puts off what is not a session.
func (m *model) rest(at, late time.Duration) {
	m.since = at
	for i := range m.members {
		if s := &m.members[i]; s.fresh {
			s.since += late
		} else {
			s.since = at
		}
	}
	for i := range m.pending {
		m.pending[i].since += late
	}
}

// alive notes a sign of life that counts.
func (m *model) alive(id string, at time.Duration) {
	if s := m.member(id); s != nil && !s.fresh {
		s.since = at
	}
}

// who is the client behind an id, if it keeps its place over a restart, else
// the id.
func (w *world) who(id string) string {
	if id == "" {
		return ""
	}
	if c := int(id[0] - 'a'); c < len(w.spec.Clients) && w.spec.Clients[c].Static {
		return instances[c]
	}
	return id
}
