package lag

import (
	"slices"
	"time"
)

const (
	// window is how old the reading is, at least, that rates are taken against,
	// if there is one; maxAge is how old at most.
	window = 15 * time.Second
	maxAge = 5 * time.Minute
	// trackedGroups is how many groups a Tracker remembers.
	trackedGroups = 1000
)

// Tracker remembers earlier readings of groups, to tell rates and what stands
// still. It is not safe for use by several goroutines. The zero value is ready.
type Tracker struct {
	groups map[string]*track
	turn   uint64
}

// track is what is remembered of a group.
type track struct {
	partitions map[partition]*trail
	used       uint64
}

type partition struct {
	topic string
	index int32
}

// trail is what is remembered of a partition: two readings, the older of which
// rates are taken against, and since when its committed offset is the same.
type trail struct {
	older, newer Reading
	committed    int64
	movedMillis  int64 // when committed was first seen
}

// Judge judges all partitions of a group, in the order of the readings, and
// remembers them. Partitions that are not among them are forgotten.
func (t *Tracker) Judge(group string, readings []Reading) []Lag {
	if t.groups == nil {
		t.groups = map[string]*track{}
	}
	old := t.groups[group]
	if old == nil {
		t.makeRoom()
		old = &track{}
	}
	t.turn++
	now := &track{partitions: make(map[partition]*trail, len(readings)), used: t.turn}
	t.groups[group] = now
	list := make([]Lag, len(readings))
	for i := range readings {
		r := &readings[i]
		key := partition{r.Topic, r.Partition}
		p := old.partitions[key]
		if p == nil {
			p = &trail{older: *r, newer: *r, committed: r.Committed, movedMillis: r.AtMillis}
			now.partitions[key] = p
			list[i] = Judge(r, nil, 0)
			continue
		}
		now.partitions[key] = p
		list[i] = p.judge(r)
	}
	return list
}

func (p *trail) judge(r *Reading) Lag {
	if r.Committed != p.committed {
		p.committed, p.movedMillis = r.Committed, r.AtMillis
	}
	var before *Reading
	for _, b := range []*Reading{&p.older, &p.newer} {
		if r.AtMillis-b.AtMillis <= maxAge.Milliseconds() {
			before = b
			break
		}
	}
	l := Judge(r, before, time.Duration(millis(r.AtMillis-p.movedMillis)))
	if r.AtMillis-p.newer.AtMillis >= window.Milliseconds() {
		p.older, p.newer = p.newer, *r
	}
	return l
}

// makeRoom forgets the groups that were not asked for longest, half of them,
// if there are too many.
func (t *Tracker) makeRoom() {
	if len(t.groups) < trackedGroups {
		return
	}
	used := make([]uint64, 0, len(t.groups))
	for _, g := range t.groups {
		used = append(used, g.used)
	}
	slices.Sort(used)
	limit := used[len(used)/2]
	for id, g := range t.groups {
		if g.used < limit {
			delete(t.groups, id)
		}
	}
}
