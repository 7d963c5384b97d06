package coordinator

import (
	"time"

	"rota/internal/group"
	"rota/internal/machine"
	"rota/internal/schema"
)

// GroupMachine is a Machine of the kind that *group.Group is.
type GroupMachine = Machine[group.Request, group.Response, group.Event]

// groupKindOf is the Kind of groups.
type groupKindOf = Kind[group.Request, group.Response, group.Event]

var _ GroupMachine = (*group.Group)(nil)

// GroupShardConfig says what a GroupShard runs on.
type GroupShardConfig struct {
	Group group.Config
	// Epoch is the shard's leader epoch.
	Epoch int32
	// ExpireInterval is the pause between two passes of Expire over the groups.
	ExpireInterval time.Duration
	// Quarantined groups are not loaded, not ticked, and answered with
	// UNKNOWN_SERVER_ERROR: they have brought the shard down too often.
	Quarantined map[string]bool
	// New makes the machine of a group. Default: group.New.
	New func(id string, c *group.Config) GroupMachine
}

// GroupShard is a Shard of groups, the records of a partition of
// __consumer_offsets.
type GroupShard struct {
	*Shard[group.Request, group.Response, group.Event]
	kind *groupKind
}

// NewGroupShard makes a shard that waits for Replay.
func NewGroupShard(c GroupShardConfig) *GroupShard {
	k := newGroupKind(c.New)
	k.config = c.Group
	return &GroupShard{NewShard(ShardConfig[group.Request, group.Response, group.Event]{
		Kind: k, Epoch: c.Epoch, ExpireInterval: c.ExpireInterval, Quarantined: c.Quarantined,
	}), k}
}

// SetConfig replaces the group settings and the pause between passes.
func (s *GroupShard) SetConfig(c group.Config, interval time.Duration) {
	s.kind.config = c
	s.SetInterval(interval)
}

// Summaries describes every group, in no particular order.
func (s *GroupShard) Summaries() []group.Summary { return groupSummaries(s.Shard) }

func groupSummaries(s *Shard[group.Request, group.Response, group.Event]) []group.Summary {
	list := make([]group.Summary, 0, len(s.order))
	for _, e := range s.order {
		if m, ok := e.m.(interface{ Summary() group.Summary }); ok && e.m.Exists() {
			list = append(list, m.Summary())
		}
	}
	return list
}

// groupKind is the Kind of groups.
type groupKind struct {
	config group.Config // read by the groups at every call
	make   func(id string, c *group.Config) GroupMachine
	keys   schema.KeyReader
	key    schema.OffsetKey // the one that was decoded last
}

func newGroupKind(make func(id string, c *group.Config) GroupMachine) *groupKind {
	if make == nil {
		make = func(id string, c *group.Config) GroupMachine { return group.New(id, c) }
	}
	return &groupKind{make: make}
}

func (k *groupKind) New(id string) GroupMachine { return k.make(id, &k.config) }

func (k *groupKind) Owner(e *machine.Entry) (id string, unknown *int16, err error) {
	if key, ok := k.keys.Read(e.Key); ok {
		k.key = key
		e.Decoded = &k.key
		return key.Group, nil, nil
	}
	key, err := schema.ParseKey(e.Key)
	if err != nil {
		return "", nil, err
	}
	if u, ok := key.(schema.UnknownKey); ok {
		return "", &u.Type, nil
	}
	id, _ = schema.GroupOf(key)
	return id, nil, nil
}

// Loaded gives back the memory of the decoder.
func (k *groupKind) Loaded() { k.keys, k.key = schema.KeyReader{}, schema.OffsetKey{} }

func (*groupKind) Refuse(req group.Request, code machine.Code) group.Response {
	return group.Refuse(req, code)
}

// MayWrite is false for a Heartbeat and the requests that only read.
func (*groupKind) MayWrite(req group.Request) bool {
	switch req.(type) {
	case group.Heartbeat, group.FetchOffsets, group.Describe:
		return false
	}
	return true
}

func (*groupKind) Expire() group.Request { return group.Expire{} }

func (*groupKind) Lost(n int) group.Event { return group.Event{Kind: group.EventsLost, Count: n} }

// ForgetTopic begins a pass that removes a topic's offsets from every group.
// done comes back in a Release once all of it is durable.
func (s *GroupShard) ForgetTopic(req group.ForgetTopic, done func(group.Response)) {
	s.Pass(req, group.Forgotten{}, done)
}
