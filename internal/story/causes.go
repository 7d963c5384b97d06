package story

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// CauseCount says how often a cause has begun a rebalance.
type CauseCount struct {
	Cause Cause `json:"cause"`
	Count int   `json:"count"`
	// Longest and Median are of how long the rebalances took that have ended.
	Longest Millis `json:"longest_ms"`
	Median  Millis `json:"median_ms"`
	// Triggers are those that caused them, most often first, at most ten.
	Triggers []TriggerCount `json:"triggers,omitempty"`
}

// TriggerCount says how often a member, by whatever id, has caused a rebalance.
type TriggerCount struct {
	// Member is as of the newest of them.
	Member Member `json:"member"`
	Count  int    `json:"count"`
}

const maxTriggers = 10

// Causes counts the rebalances that began at or after a time, the commonest
// cause first.
func Causes(rebalances []Rebalance, sinceMillis int64) []CauseCount {
	by := map[Cause][]*Rebalance{}
	for i := range rebalances {
		if r := &rebalances[i]; r.StartedMillis >= sinceMillis {
			by[r.Cause] = append(by[r.Cause], r)
		}
	}
	counts := make([]CauseCount, 0, len(by))
	for _, cause := range slices.Sorted(maps.Keys(by)) {
		list := by[cause]
		took := make([]time.Duration, 0, len(list))
		for _, r := range list {
			if r.Ending != Running {
				took = append(took, r.Took())
			}
		}
		c := CauseCount{Cause: cause, Count: len(list), Triggers: triggers(list)}
		if len(took) > 0 {
			c.Longest, c.Median = Millis(slices.Max(took)), Millis(median(took))
		}
		counts = append(counts, c)
	}
	slices.SortStableFunc(counts, func(a, b CauseCount) int { return cmp.Compare(b.Count, a.Count) })
	return counts
}

// triggers counts who caused the rebalances.
func triggers(list []*Rebalance) []TriggerCount {
	by := map[who]*TriggerCount{}
	for _, r := range list {
		if r.Trigger == nil {
			continue
		}
		k := identity(r.Trigger)
		if by[k] == nil {
			by[k] = &TriggerCount{}
		}
		by[k].Member = *r.Trigger
		by[k].Count++
	}
	counts := make([]TriggerCount, 0, len(by))
	for _, k := range sortedWho(by) {
		counts = append(counts, *by[k])
	}
	slices.SortStableFunc(counts, func(a, b TriggerCount) int { return cmp.Compare(b.Count, a.Count) })
	return counts[:min(len(counts), maxTriggers)]
}

// who is a member as a reader knows it, whatever member id it has this time:
// its instance id, or its client id and host. Clients of one program on one
// host are one.
type who struct{ instance, client, host string }

func identity(m *Member) who {
	if m.InstanceID != "" {
		return who{instance: m.InstanceID}
	}
	return who{client: m.ClientID, host: m.Host}
}

func compareWho(a, b who) int {
	return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.client, b.client), cmp.Compare(a.host, b.host))
}

func sortedWho[V any](m map[who]V) []who {
	return slices.SortedFunc(maps.Keys(m), compareWho)
}

// median of a list that is not empty, which it sorts.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return (list[n/2-1] + list[n/2]) / 2
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
