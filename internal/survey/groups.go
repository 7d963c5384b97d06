package survey

import (
	"context"
	"time"

	"rota/internal/catalog"
	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/story"
)

// Group is one line of the list of groups.
type Group struct {
	ID string `json:"id"`
	// State is Empty, PreparingRebalance, CompletingRebalance or Stable, Since
	// when the group came to it, in milliseconds of Unix time.
	State        string `json:"state"`
	SinceMillis  int64  `json:"since_ms"`
	Generation   int32  `json:"generation"`
	ProtocolType string `json:"protocol_type,omitempty"`
	Protocol     string `json:"protocol,omitempty"`
	Members      int    `json:"members"`
	// Partitions is how many have a committed offset, Lag how many records lie
	// behind those offsets.
	Partitions int   `json:"partitions"`
	Lag        int64 `json:"lag"`
	// LagTime is how old the oldest of those records is, by its own timestamp.
	// Date sets it, and GroupNamed. Absent if it is not known.
	LagTime story.Millis `json:"lag_ms,omitzero"`
	// Rebalances is how many began in the last hour.
	Rebalances int `json:"rebalances_last_hour"`
	// Last is the newest rebalance, absent if none is known.
	Last *Brief `json:"last_rebalance,omitempty"`
}

// Brief is a rebalance in one line.
type Brief struct {
	// Key names the rebalance among those of its group.
	Key           string       `json:"key"`
	StartedMillis int64        `json:"started_ms"`
	Took          story.Millis `json:"took_ms"`
	Ending        story.Ending `json:"ending"`
	Cause         story.Cause  `json:"cause"`
	// Trigger names the member that caused it, as it calls itself.
	Trigger string `json:"trigger,omitempty"`
}

const hour = int64(time.Hour / time.Millisecond)

// Groups lists every group, by id. Where that takes long, because there are
// thousands, one list serves all who ask within ten times as long, so that
// watchers never take more than a tenth of a processor together. Errors:
// ErrLoading, and that of the context.
func (s *Source) Groups(ctx context.Context) ([]Group, error) {
	return s.lists.get(ctx, s.groups)
}

func (s *Source) groups(ctx context.Context) ([]Group, error) {
	all, code, err := s.Coordinator.Overview(ctx)
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, ErrLoading
	}
	since := s.present() - hour
	ends := s.ends()
	list := make([]Group, len(all))
	for i := range all {
		list[i] = s.line(&all[i], ends, since)
	}
	return list, nil
}

// line is the group's line in the list.
func (s *Source) line(v *group.Inspection, ends *logEnds, since int64) Group {
	g := Group{
		ID: v.ID, State: v.State.String(), SinceMillis: v.SinceMillis, Generation: v.Generation,
		ProtocolType: v.ProtocolType, Protocol: v.Protocol, Members: v.MemberCount, Partitions: len(v.Offsets),
	}
	for i := range v.Offsets {
		o := &v.Offsets[i]
		if b, ok := ends.of(o.Topic, o.Partition); ok {
			g.Lag += behind(o.Offset, b)
		}
	}
	past := s.rebalances(v.ID)
	for i := len(past) - 1; i >= 0 && past[i].StartedMillis >= since; i-- {
		g.Rebalances++
	}
	if n := len(past); n > 0 {
		g.Last = BriefOf(&past[n-1])
	}
	return g
}

// BriefOf is the rebalance in one line.
func BriefOf(r *story.Rebalance) *Brief {
	b := &Brief{Key: KeyOf(r), StartedMillis: r.StartedMillis, Took: story.Millis(r.Took()), Ending: r.Ending, Cause: r.Cause}
	if r.Trigger != nil {
		b.Trigger = shortName(r.Trigger)
	}
	return b
}

// shortName is how a member calls itself.
func shortName(m *story.Member) string {
	switch {
	case m.InstanceID != "":
		return m.InstanceID
	case m.ClientID != "":
		return m.ClientID
	}
	return m.ID
}

// behind is how many records lie between a committed offset and the end.
func behind(committed int64, b storage.Bounds) int64 {
	return max(0, b.HighWatermark-max(committed, b.Start))
}

// logEnds finds the ends of logs, each topic once.
type logEnds struct {
	store *storage.Store
	view  *catalog.View
	last  *catalog.Topic
}

func (s *Source) ends() *logEnds {
	return &logEnds{store: s.Broker.Store, view: s.Broker.Catalog.View()}
}

// of returns the ends of a partition, and false if it does not exist.
func (e *logEnds) of(topic string, index int32) (storage.Bounds, bool) {
	if e.last == nil || e.last.Name != topic {
		t, ok := e.view.Topic(topic)
		if !ok {
			return storage.Bounds{}, false
		}
		e.last = t
	}
	log, ok := e.store.Log(storage.Partition{Topic: e.last.ID, Index: index})
	if !ok {
		return storage.Bounds{}, false
	}
	return log.Bounds(), true
}
