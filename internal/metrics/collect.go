package metrics

import (
	"context"
	"math"
	"strconv"
	"time"

	"rota/internal/survey"
)

func (c *collector) broker(s sink) {
	s.put(buildInfo, 1, c.c.Version)
	s.put(ready, truth(c.c.Survey.Ready()))
}

func (c *collector) connections(s sink) {
	st := c.c.Server.Stats()
	s.put(connections, float64(st.Connections))
	s.put(accepted, float64(st.Accepted))
	s.put(refused, float64(st.Refused))
	s.put(received, float64(st.Received))
	s.put(sent, float64(st.Sent))
	s.put(unanswered, float64(st.Unanswered))
	for _, b := range []struct {
		name    string
		bytes   int64
		waiting int
	}{{"data", st.DataBytes, st.DataWaiting}, {"group", st.GroupBytes, st.GroupWaiting}, {"reply", st.ReplyBytes, st.ReplyWaiting}} {
		s.put(budget, float64(b.bytes), b.name)
		s.put(waiting, float64(b.waiting), b.name)
	}
	for _, l := range c.c.Server.Latencies() {
		s.buckets(requestDuration, l.Reading, l.API.Name())
	}
}

func (c *collector) storage(s sink) {
	store := c.c.Survey.Broker.Store
	st := store.Stats()
	s.buckets(flushDuration, st.FlushLatency)
	s.buckets(flushSize, st.FlushSize)
	s.put(flushFailed, float64(st.FlushesFailed))
	s.put(journalBytes, float64(st.JournalBytes))
	s.put(tailBytes, float64(st.TailBytes))
	if free, err := store.Free(); err == nil && free < math.MaxInt64 {
		s.put(freeBytes, float64(free))
	}
	var bytes int64
	count, broken := 0, 0
	list := c.c.Survey.Topics()
	for i := range list {
		bytes += list[i].Bytes
		count += list[i].Partitions
		broken += list[i].Damaged
	}
	s.put(logBytes, float64(bytes))
	s.put(topics, float64(len(list)))
	s.put(partitions, float64(count))
	s.put(damaged, float64(broken))
}

func (c *collector) shards(s sink) {
	states := map[string]int{"loading": 0, "active": 0, "failed": 0}
	queue, open, load := s.several(shardQueue), s.several(shardOpen), s.several(shardLoad)
	for _, sh := range c.c.Survey.Coordinator.Stats() {
		states[sh.State]++
		p := strconv.Itoa(int(sh.Partition))
		queue(float64(sh.Queue), p)
		open(float64(sh.Requests), p)
		load(sh.LoadTook.Seconds(), p)
	}
	for state, n := range states {
		s.put(shardState, float64(n), state)
	}
}

func (c *collector) groups(ctx context.Context, s sink) {
	list, err := c.c.Survey.Groups(ctx)
	if err != nil {
		return // while groups are loaded they have no metrics
	}
	states := map[string]int{"Empty": 0, "PreparingRebalance": 0, "CompletingRebalance": 0, "Stable": 0}
	for i := range list {
		states[list[i].State]++
	}
	for state, n := range states {
		s.put(groupsByState, float64(n), state)
	}
	most := int(c.c.Survey.Broker.Settings().Int("rota.metrics.groups.max"))
	s.put(groupsNotShown, float64(max(0, len(list)-most)))
	c.each(s, list[:min(len(list), most)])
}

// each sends what single groups have.
func (c *collector) each(s sink, list []survey.Group) {
	state, members, lag := s.several(groupState), s.several(groupMembers), s.several(groupLag)
	for i := range list {
		g := &list[i]
		id := label(g.ID)
		state(1, id, g.State)
		members(float64(g.Members), id)
		lag(float64(g.Lag), id)
	}
	c.ages(s, list)
	if c.c.History == nil {
		return
	}
	began, expired := s.several(groupRebalances), s.several(groupExpired)
	dropped, refused := s.several(groupDropped), s.several(groupRefused)
	for i := range list {
		n := c.c.History.Group(list[i].ID)
		id := label(list[i].ID)
		for cause, times := range n.Rebalances {
			began(float64(times), id, string(cause))
		}
		expired(float64(n.Expired), id)
		dropped(float64(n.Dropped), id)
		refused(float64(n.RefusedCommits), id)
		if n.Join.Count > 0 {
			s.coarse(groupPhase, n.Join, id, "join")
		}
		if n.Sync.Count > 0 {
			s.coarse(groupPhase, n.Sync, id, "sync")
		}
	}
}

// datingTime bounds what a scrape reads of logs to learn how old records are.
const datingTime = 2 * time.Second

// ages sends how old the oldest records are that groups have not consumed.
func (c *collector) ages(s sink, list []survey.Group) {
	age, until := s.several(groupLagTime), time.Now().Add(datingTime)
	for i := range list {
		if list[i].Lag == 0 {
			age(0, label(list[i].ID))
			continue
		}
		if time.Now().After(until) {
			return
		}
		partitions, err := c.c.Lags.Group(list[i].ID)
		if err != nil {
			continue // it is gone
		}
		oldest, known := time.Duration(0), false
		for j := range partitions {
			oldest = max(oldest, time.Duration(partitions[j].Time))
			known = known || partitions[j].Exact
		}
		if known {
			age(oldest.Seconds(), label(list[i].ID))
		}
	}
}

// history sends what happened to all groups together.
func (c *collector) history(s sink) {
	if c.c.History == nil {
		return
	}
	n := c.c.History.Totals()
	began := s.several(rebalances)
	for cause, times := range n.Rebalances {
		began(float64(times), string(cause))
	}
	s.buckets(phaseTime, n.Join, "join")
	s.buckets(phaseTime, n.Sync, "sync")
	s.put(expired, float64(n.Expired))
	s.put(dropped, float64(n.Dropped))
	s.put(refusedTotal, float64(n.RefusedCommits))
	s.put(offsetsGone, float64(n.ExpiredOffsets))
	s.put(historyLost, float64(c.c.History.Counts().Dropped.Load()))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
