package story

import (
	"cmp"
	"maps"
	"slices"

	"rota/internal/schema"
)

// What an event lists at most. Counts are always complete.
const (
	maxListedMembers    = 200
	maxListedPartitions = 1000
	maxListedTopics     = 50
)

// Assignment says what a new assignment gave to whom, against the one before
// it. Partition counts are those of consumers whose bytes can be read; of
// others, and of other protocol types, there are only sizes.
type Assignment struct {
	// Decoded is false if the bytes of a member cannot be read: then only
	// sizes are known.
	Decoded bool               `json:"decoded"`
	Members []MemberAssignment `json:"members"`
	// MembersMore counts members that are not listed: those with most changes are.
	MembersMore int `json:"members_more,omitempty"`
	// Partitions is how many are assigned.
	Partitions int `json:"partitions"`
	// Kept is how many stayed with their owner, Moved how many went from one
	// member to another that were both there before and after, Added how many
	// nobody had, Orphaned how many come from members that are gone, Unassigned
	// how many are not assigned any more.
	Kept       int `json:"kept"`
	Moved      int `json:"moved"`
	Added      int `json:"added"`
	Orphaned   int `json:"orphaned"`
	Unassigned int `json:"unassigned"`
	// MovesNotNeeded is how many of Moved a stickier assignment of equal
	// balance would have spared; nil if that cannot be told. See docs/format/group-events.md.
	MovesNotNeeded *int `json:"moves_not_needed,omitempty"`
	// Topics are those of which more or fewer partitions are assigned than before.
	Topics []TopicChange `json:"topics,omitempty"`
}

// MemberAssignment is one member's part.
type MemberAssignment struct {
	Member
	// New is true of a member that the assignment before did not have.
	New bool `json:"new,omitempty"`
	// Subscribed are the topics that it subscribes to, at most 50 of them.
	Subscribed []string `json:"subscribed,omitempty"`
	Partitions int      `json:"partitions"`
	Kept       int      `json:"kept"`
	GainedN    int      `json:"gained_count"`
	LostN      int      `json:"lost_count"`
	// Gained and Lost list the partitions, up to a bound for the whole event.
	Gained []TopicPartitions `json:"gained,omitempty"`
	Lost   []TopicPartitions `json:"lost,omitempty"`
	// SubscriptionBytes and AssignmentBytes are the sizes of what the member
	// offered and got.
	SubscriptionBytes int `json:"subscription_bytes"`
	AssignmentBytes   int `json:"assignment_bytes"`
}

// TopicPartitions names partitions of one topic.
type TopicPartitions struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// TopicChange is a topic of which more or fewer partitions are assigned.
type TopicChange struct {
	Topic  string `json:"topic"`
	Before int    `json:"before"`
	After  int    `json:"after"`
	// Whole is true if both are all partitions from 0 on, so that nothing in
	// between is left out.
	Whole bool `json:"whole,omitempty"`
}

// partition names one partition.
type partition struct {
	topic string
	index int32
}

func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.index, b.index))
}

// owner names a member, the same before and after: by its instance id if it has
// one, or by its member id.
type owner struct {
	static bool
	id     string
}

func ownerOf(m *schema.MemberValue) owner {
	if m.InstanceID != nil {
		return owner{true, *m.InstanceID}
	}
	return owner{id: m.ID}
}

// holding is what one member has in an assignment.
type holding struct {
	key  owner
	from *schema.MemberValue
	subs []string // sorted
	has  []partition
}

// Compare says what after gave to whom, against before, which is nil or
// without members if there was no assignment.
func Compare(before, after *schema.GroupValue) *Assignment {
	if after.ProtocolType != "consumer" {
		return compareSizes(before, after)
	}
	old, oldReadable := holdings(before)
	now, readable := holdings(after)
	if !readable || !oldReadable {
		return compareSizes(before, after)
	}
	wasHere := make(map[owner]*holding, len(old))
	for i := range old {
		wasHere[old[i].key] = &old[i]
	}
	a := &Assignment{Decoded: true, Members: make([]MemberAssignment, 0, len(now))}
	a.compare(old, now, wasHere)
	a.trim()
	return a
}

// compareSizes is all that can be said of bytes that cannot be read. Nobody has
// more changes than others then, so the first members are listed.
func compareSizes(before, after *schema.GroupValue) *Assignment {
	wasHere := make(map[owner]bool)
	if before != nil {
		for i := range before.Members {
			wasHere[ownerOf(&before.Members[i])] = true
		}
	}
	listed := min(len(after.Members), maxListedMembers)
	a := &Assignment{Members: make([]MemberAssignment, listed), MembersMore: len(after.Members) - listed}
	for i := range a.Members {
		m := &after.Members[i]
		a.Members[i] = sizesOf(m, !wasHere[ownerOf(m)])
	}
	return a
}

// compare fills in an assignment that can be read.
func (a *Assignment) compare(old, now []holding, wasHere map[owner]*holding) {
	ownedBy, owns := owners(old), owners(now)
	stays := make(map[owner]bool, len(now))
	for i := range now {
		stays[now[i].key] = true
	}
	for i := range now {
		h := &now[i]
		m := sizesOf(h.from, wasHere[h.key] == nil)
		m.Subscribed = h.subs[:min(len(h.subs), maxListedTopics)]
		m.Partitions = len(h.has)
		a.Partitions += len(h.has)
		var gained, lost []partition
		for _, p := range h.has {
			was, owned := ownedBy[p]
			switch {
			case !owned:
				a.Added++
			case was == h.key:
				m.Kept++
				a.Kept++
				continue
			case stays[was]:
				a.Moved++
			default:
				a.Orphaned++
			}
			gained = append(gained, p)
		}
		if was := wasHere[h.key]; was != nil {
			for _, p := range was.has {
				if owns[p] != h.key {
					lost = append(lost, p)
				}
			}
		}
		m.GainedN, m.LostN = len(gained), len(lost)
		m.Gained, m.Lost = byTopic(gained), byTopic(lost)
		a.Members = append(a.Members, m)
	}
	for p := range ownedBy {
		if _, still := owns[p]; !still {
			a.Unassigned++
		}
	}
	a.MovesNotNeeded = movesNotNeeded(now, wasHere, owns, a.Moved)
	a.Topics = topicChanges(ownedBy, owns)
}

// movesNotNeeded is how many moves a stickier assignment of equal balance
// spares: one in which as many members as now have each number of partitions.
// Partitions are alike for that, so it is told only where every member
// subscribes to the same topics.
//
// Members are taken by how much they had that is still assigned, most first,
// and are given the numbers of partitions that there are, the largest first:
// pairing both in order lets most of it stay, min(had, number) for each. A
// partition whose owner is gone is free to go anywhere and is no move.
func movesNotNeeded(now []holding, wasHere map[owner]*holding, owns map[partition]owner, moved int) *int {
	var had, sizes []int
	total := 0
	for i := range now {
		if !slices.Equal(now[i].subs, now[0].subs) {
			return nil
		}
		sizes = append(sizes, len(now[i].has))
		n := 0
		if was := wasHere[now[i].key]; was != nil {
			for _, p := range was.has {
				if _, still := owns[p]; still {
					n++
				}
			}
		}
		had = append(had, n)
		total += n
	}
	slices.Sort(had)
	slices.Sort(sizes)
	keepable := 0
	for i := range had {
		keepable += min(had[i], sizes[i])
	}
	spared := max(moved-(total-keepable), 0)
	return &spared
}

// holdings reads who has what, in the order of the record. It reports false
// if the bytes of a member cannot be read.
func holdings(v *schema.GroupValue) ([]holding, bool) {
	if v == nil {
		return nil, true
	}
	list, readable := make([]holding, len(v.Members)), true
	for i := range v.Members {
		m := &v.Members[i]
		h := &list[i]
		h.from, h.key = m, ownerOf(m)
		topics, err := schema.SubscribedTopics(m.Subscription)
		readable = readable && err == nil
		slices.Sort(topics)
		h.subs = slices.Compact(topics)
		if len(m.Assignment) == 0 {
			continue // legal: nothing is assigned
		}
		assigned, err := schema.ParseAssignment(m.Assignment)
		readable = readable && err == nil
		for _, t := range assigned.Partitions {
			for _, p := range t.Partitions {
				h.has = append(h.has, partition{t.Topic, p})
			}
		}
		slices.SortFunc(h.has, comparePartitions)
		h.has = slices.Compact(h.has)
	}
	return list, readable
}

// owners says who has each partition; if two have it, the later one.
func owners(list []holding) map[partition]owner {
	n := 0
	for i := range list {
		n += len(list[i].has)
	}
	of := make(map[partition]owner, n)
	for i := range list {
		for _, p := range list[i].has {
			of[p] = list[i].key
		}
	}
	return of
}

func sizesOf(m *schema.MemberValue, isNew bool) MemberAssignment {
	return MemberAssignment{
		Member: Member{ID: m.ID, ClientID: m.ClientID, Host: m.ClientHost, InstanceID: deref(m.InstanceID)},
		New:    isNew, SubscriptionBytes: len(m.Subscription), AssignmentBytes: len(m.Assignment),
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// byTopic gathers sorted partitions by their topic.
func byTopic(list []partition) []TopicPartitions {
	var topics []TopicPartitions
	for _, p := range list {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.topic {
			topics = append(topics, TopicPartitions{Topic: p.topic})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p.index)
	}
	return topics
}

// topicChanges finds the topics whose number of assigned partitions changed.
func topicChanges(before, after map[partition]owner) []TopicChange {
	old, now := perTopic(before), perTopic(after)
	all := maps.Clone(old)
	maps.Copy(all, now)
	var changed []TopicChange
	for _, topic := range slices.Sorted(maps.Keys(all)) {
		b, a := old[topic], now[topic]
		if b.count != a.count && len(changed) < maxListedTopics {
			changed = append(changed, TopicChange{topic, b.count, a.count, b.whole() && a.whole()})
		}
	}
	return changed
}

// extent is how many partitions of a topic are assigned, and the number of the
// last one.
type extent struct {
	count int
	last  int32
}

// whole reports whether all partitions up to the last one are there.
func (x extent) whole() bool { return x.count == 0 || int(x.last)+1 == x.count }

func perTopic(owned map[partition]owner) map[string]extent {
	of := map[string]extent{}
	for p := range owned {
		x := of[p.topic]
		of[p.topic] = extent{x.count + 1, max(x.last, p.index)}
	}
	return of
}

// trim keeps to the bounds of what an event lists.
func (a *Assignment) trim() {
	if n := len(a.Members); n > maxListedMembers {
		slices.SortStableFunc(a.Members, func(x, y MemberAssignment) int {
			return cmp.Compare(y.GainedN+y.LostN, x.GainedN+x.LostN)
		})
		a.MembersMore = n - maxListedMembers
		a.Members = slices.Clone(a.Members[:maxListedMembers]) // the event is kept, the others are not
	}
	left := maxListedPartitions
	for i := range a.Members {
		m := &a.Members[i]
		m.Gained, left = cut(m.Gained, left)
		m.Lost, left = cut(m.Lost, left)
	}
}

// cut keeps at most n partitions, and says how many more may be kept.
func cut(list []TopicPartitions, n int) ([]TopicPartitions, int) {
	for i := range list {
		if len(list[i].Partitions) > n {
			list[i].Partitions = list[i].Partitions[:n]
		}
		n -= len(list[i].Partitions)
		if n == 0 {
			if len(list[i].Partitions) == 0 {
				return list[:i], 0
			}
			return list[:i+1], 0
		}
	}
	return list, n
}
