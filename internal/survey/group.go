package survey

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/story"
)

// GroupDetail is all that is known of one group.
type GroupDetail struct {
	Group
	// Coordinator is its partition of __consumer_offsets.
	Coordinator int32 `json:"coordinator_partition"`
	// Leader is a member id.
	Leader string `json:"leader,omitempty"`
	// Pending are member ids that were handed out and have not come back.
	Pending int         `json:"pending_members,omitempty"`
	Roster  []Member    `json:"roster"`
	Offsets []Committed `json:"offsets"`
	// Past are the recent rebalances, the newest first.
	Past []Brief `json:"rebalances"`
	// Causes counts those of the last 24 hours.
	Causes []story.CauseCount `json:"causes_last_day"`
	// CausesSinceMillis is from when on they are counted, if that is less than 24
	// hours ago because older events are in the topic __group_events alone.
	CausesSinceMillis int64 `json:"causes_since_ms,omitempty"`
	// Advice is what to do about what keeps coming back.
	Advice []story.Advice `json:"advice"`
}

// Member is one member of a group.
type Member struct {
	ID         string `json:"id"`
	ClientID   string `json:"client_id,omitempty"`
	Host       string `json:"host,omitempty"`
	InstanceID string `json:"instance_id,omitempty"`
	Leader     bool   `json:"leader,omitempty"`
	// Waiting is "join" or "sync" while its request waits for the others.
	Waiting          string       `json:"waiting,omitempty"`
	SessionTimeout   story.Millis `json:"session_timeout_ms"`
	RebalanceTimeout story.Millis `json:"rebalance_timeout_ms"`
	Subscribed       []string     `json:"subscribed,omitempty"`
	// Assigned are the partitions that it has. Decoded is false if its bytes
	// cannot be read: then only sizes are known.
	Assigned          []story.TopicPartitions `json:"assigned,omitempty"`
	Partitions        int                     `json:"partitions"`
	Decoded           bool                    `json:"decoded"`
	SubscriptionBytes int                     `json:"subscription_bytes"`
	AssignmentBytes   int                     `json:"assignment_bytes"`
	// Lag is that of its partitions.
	Lag int64 `json:"lag"`
}

// Committed is a committed offset beside the ends of its partition.
type Committed struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// Start and End are those of the partition; Known is false if it does not exist.
	Start int64 `json:"log_start,omitempty"`
	End   int64 `json:"log_end,omitempty"`
	Known bool  `json:"known"`
	Lag   int64 `json:"lag"`
	// Owner is the member that the partition is assigned to.
	Owner        string `json:"owner,omitempty"`
	Metadata     string `json:"metadata,omitempty"`
	CommitMillis int64  `json:"committed_ms"`
	// ExpiresMillis is when the offset will be dropped unless something
	// changes; absent while it is in use.
	ExpiresMillis int64 `json:"expires_ms,omitempty"`
}

// GroupNamed describes one group. Errors: ErrUnknown.
func (s *Source) GroupNamed(id string) (*GroupDetail, error) {
	v, ok := s.Coordinator.Inspect(id)
	if !ok {
		return nil, ErrUnknown
	}
	ends, now := s.ends(), s.present()
	d := &GroupDetail{
		Group: s.line(&v, ends, now-hour), Coordinator: s.Coordinator.PartitionOf(id), Leader: v.Leader, Pending: v.PendingCount,
		Roster: make([]Member, len(v.Members)), Offsets: make([]Committed, len(v.Offsets)), Past: []Brief{},
	}
	s.date(&d.Group, &v, new(record.Codec), time.Now().Add(datingTime))
	owners := map[group.TopicPartition]int{}
	for i := range v.Members {
		d.Roster[i] = member(&v.Members[i], v.ProtocolType)
		d.Roster[i].Leader = v.Members[i].ID == v.Leader
		for _, t := range d.Roster[i].Assigned {
			for _, p := range t.Partitions {
				owners[group.TopicPartition{Topic: t.Topic, Partition: p}] = i
			}
		}
	}
	for i := range v.Offsets {
		c := committed(&v.Offsets[i], ends)
		if m, owned := owners[v.Offsets[i].TopicPartition]; owned {
			c.Owner = d.Roster[m].ID
			d.Roster[m].Lag += c.Lag
		}
		d.Offsets[i] = c
	}
	past := s.rebalances(id)
	for i := range past {
		d.Past = append(d.Past, *BriefOf(&past[len(past)-1-i]))
	}
	d.Causes, d.Advice = story.Causes(past, now-24*hour), []story.Advice{}
	if s.Forgotten != nil {
		d.CausesSinceMillis = s.Forgotten(id)
	}
	if s.Events != nil {
		d.Advice = append(d.Advice, story.Advise(s.Events(id))...)
	}
	return d, nil
}

// member describes one member.
func member(m *group.InspectedMember, protocolType string) Member {
	d := Member{
		ID: m.ID, ClientID: m.ClientID, Host: m.ClientHost, InstanceID: m.InstanceID,
		SessionTimeout: story.Millis(m.SessionTimeout), RebalanceTimeout: story.Millis(m.RebalanceTimeout),
		SubscriptionBytes: len(m.Metadata), AssignmentBytes: len(m.Assignment),
	}
	switch {
	case m.Joining:
		d.Waiting = "join"
	case m.Syncing:
		d.Waiting = "sync"
	}
	if protocolType != "consumer" {
		return d
	}
	topics, err := schema.SubscribedTopics(m.Metadata)
	d.Decoded = err == nil
	d.Subscribed = slices.Compact(slices.Sorted(slices.Values(topics)))
	if len(m.Assignment) == 0 {
		return d
	}
	a, err := schema.ParseAssignment(m.Assignment)
	d.Decoded = d.Decoded && err == nil
	for _, t := range a.Partitions {
		if len(t.Partitions) == 0 {
			continue
		}
		list := slices.Sorted(slices.Values(t.Partitions))
		d.Assigned = append(d.Assigned, story.TopicPartitions{Topic: t.Topic, Partitions: list})
		d.Partitions += len(list)
	}
	slices.SortFunc(d.Assigned, func(a, b story.TopicPartitions) int { return cmp.Compare(a.Topic, b.Topic) })
	return d
}

func committed(o *group.InspectedOffset, ends *logEnds) Committed {
	c := Committed{Topic: o.Topic, Partition: o.Partition, Offset: o.Offset, Metadata: o.Metadata, CommitMillis: o.CommitMillis}
	if o.ExpiresMillis >= 0 {
		c.ExpiresMillis = o.ExpiresMillis
	}
	b, ok := ends.of(o.Topic, o.Partition)
	if ok {
		c.Known, c.Start, c.End, c.Lag = true, b.Start, b.HighWatermark, behind(o.Offset, b)
	}
	return c
}

// KeyOf names a rebalance among those of its group.
func KeyOf(r *story.Rebalance) string {
	return strconv.FormatInt(r.StartedMillis, 10) + "." + strconv.Itoa(int(r.From))
}

// Rebalance returns a rebalance of a group by its key; of an empty key the newest.
// Errors: ErrUnknown.
func (s *Source) Rebalance(id, key string) (*story.Rebalance, error) {
	past := s.rebalances(id)
	for i := len(past) - 1; i >= 0; i-- {
		if key == "" || KeyOf(&past[i]) == key {
			return &past[i], nil
		}
	}
	return nil, ErrUnknown
}

// Took is how long a rebalance has taken until now.
func (s *Source) Took(r *story.Rebalance) time.Duration {
	if r.Ending != story.Running {
		return r.Took()
	}
	return max(r.Took(), time.Duration(s.present()-r.StartedMillis)*time.Millisecond)
}

// Past lists the recent rebalances of a group, the newest first.
func (s *Source) Past(id string) []story.Rebalance {
	list := slices.Clone(s.rebalances(id))
	slices.Reverse(list)
	return list
}
