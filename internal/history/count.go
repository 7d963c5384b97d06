package history

import (
	"maps"
	"slices"
	"time"

	"rota/internal/meter"
	"rota/internal/story"
)

// countedGroups is how many groups have counters of their own.
const countedGroups = 10_000

// GroupCounts are what was counted since the start, of one group or of all.
type GroupCounts struct {
	// Rebalances are those that began, by cause.
	Rebalances map[story.Cause]uint64
	// Join and Sync are how long the phases of rebalances took.
	Join, Sync meter.Reading
	// Expired are sessions that ended, Dropped members that missed a deadline.
	Expired, Dropped uint64
	RefusedCommits   uint64
	ExpiredOffsets   uint64
}

// counters count events. They are guarded by History.indexMu.
type counters struct {
	all    tally
	groups map[string]*tally
}

type tally struct {
	rebalances map[story.Cause]uint64
	join, sync meter.Durations
	expired    uint64
	dropped    uint64
	refused    uint64
	offsets    uint64
}

func newCounters() *counters { return &counters{groups: map[string]*tally{}} }

func (c *counters) count(id string, e *story.Event) {
	if !counts(e.Kind) {
		return
	}
	c.all.count(e)
	t := c.groups[id]
	if t == nil {
		if len(c.groups) >= countedGroups {
			return
		}
		t = &tally{}
		c.groups[id] = t
	}
	t.count(e)
	if e.Kind == story.GroupDeleted {
		delete(c.groups, id)
	}
}

// counts reports whether events of that kind are counted.
func counts(k story.Kind) bool {
	switch k { //nolint:exhaustive // the others are not
	case story.RebalanceStarted, story.JoinCompleted, story.AssignmentInstalled, story.MemberExpired, story.MemberDropped,
		story.CommitRefused, story.OffsetsExpired, story.GroupDeleted:
		return true
	}
	return false
}

func (t *tally) count(e *story.Event) {
	switch e.Kind { //nolint:exhaustive // the others are not counted
	case story.RebalanceStarted:
		if t.rebalances == nil {
			t.rebalances = map[story.Cause]uint64{}
		}
		t.rebalances[e.Cause]++
	case story.JoinCompleted:
		t.join.Observe(time.Duration(e.Duration))
	case story.AssignmentInstalled:
		t.sync.Observe(time.Duration(e.Duration))
	case story.MemberExpired:
		t.expired++
	case story.MemberDropped:
		t.dropped++
	case story.CommitRefused:
		t.refused += 1 + uint64(e.Repeated)
	case story.OffsetsExpired:
		t.offsets += uint64(e.Offsets)
	}
}

func (t *tally) read() GroupCounts {
	return GroupCounts{
		Rebalances: maps.Clone(t.rebalances), Join: t.join.Read(), Sync: t.sync.Read(),
		Expired: t.expired, Dropped: t.dropped, RefusedCommits: t.refused, ExpiredOffsets: t.offsets,
	}
}

// Totals returns what was counted over all groups.
func (h *History) Totals() GroupCounts {
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	return h.counters.all.read()
}

// Group returns what was counted of one group; the zero value if nothing was.
// At most 10,000 groups are counted by themselves.
func (h *History) Group(id string) GroupCounts {
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	if t := h.counters.groups[id]; t != nil {
		return t.read()
	}
	return (&tally{}).read()
}

// Counted lists the groups that have counters, sorted.
func (h *History) Counted() []string {
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	return slices.Sorted(maps.Keys(h.counters.groups))
}
