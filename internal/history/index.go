package history

import (
	"slices"

	"rota/internal/story"
)

// eventOverhead is what an event takes in memory beyond its JSON, about.
const eventOverhead = 300

// groupLimit is how many events of one group are kept.
const groupLimit = 2000

// index keeps the recent events of groups, up to a number of bytes. Of one
// group it forgets the older half first; if there are too many groups, those
// that were quiet for longest.
type index struct {
	limit, size int
	groups      map[string]*past
	// The groups in the order of their newest events.
	oldest, newest *past
}

// past is what has happened to a group. events is never changed in place, so
// that readers may keep it.
type past struct {
	id           string
	events       []story.Event
	sizes        []int
	size         int
	older, newer *past
}

func newIndex(limit int) *index { return &index{limit: limit, groups: map[string]*past{}} }

// add notes an event whose JSON has so many bytes.
func (x *index) add(id string, e *story.Event, bytes int) {
	p := x.groups[id]
	if p == nil {
		p = &past{id: id}
		x.groups[id] = p
	} else {
		x.unlink(p)
	}
	x.link(p)
	bytes += eventOverhead
	p.events, p.sizes = append(p.events, *e), append(p.sizes, bytes)
	p.size += bytes
	x.size += bytes
	if len(p.events) > groupLimit || p.size > x.limit/4 && len(p.events) > 1 {
		x.halve(p)
	}
	for x.size > x.limit && x.oldest != x.newest {
		x.forget(x.oldest)
	}
}

// halve forgets the older half of a group's events.
func (x *index) halve(p *past) {
	n := len(p.events) / 2
	for _, bytes := range p.sizes[:n] {
		p.size -= bytes
		x.size -= bytes
	}
	p.events, p.sizes = slices.Clone(p.events[n:]), slices.Clone(p.sizes[n:])
}

func (x *index) forget(p *past) {
	x.unlink(p)
	delete(x.groups, p.id)
	x.size -= p.size
}

func (x *index) link(p *past) {
	p.older, p.newer = x.newest, nil
	if x.newest != nil {
		x.newest.newer = p
	}
	x.newest = p
	if x.oldest == nil {
		x.oldest = p
	}
}

func (x *index) unlink(p *past) {
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		x.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		x.newest = p.older
	}
}

// of returns the events of a group, the oldest first.
func (x *index) of(id string) []story.Event {
	if p := x.groups[id]; p != nil {
		return slices.Clip(p.events)
	}
	return nil
}

// addAll adds what another index has, group by group.
func (x *index) addAll(o *index) {
	for p := o.oldest; p != nil; p = p.newer {
		for i := range p.events {
			x.add(p.id, &p.events[i], p.sizes[i]-eventOverhead)
		}
	}
}
