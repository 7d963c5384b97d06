package coordinator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"rota/internal/group"
	"rota/internal/schema"
	"rota/internal/storage"
)

// Config says what a Coordinator runs on.
type Config struct {
	Partitions int32        // of __consumer_offsets; 50
	Group      group.Config // default group.DefaultConfig
	// Open returns the log of partition p of __consumer_offsets.
	Open func(p int32) (*storage.Log, error)
	// NextEpoch takes the next number of the durable leader epoch counter.
	NextEpoch func() (int32, error)
	// Now is the present. Default: the process's monotonic and wall clocks.
	Now func() group.Now
	// ExpireInterval is offsets.retention.check.interval.ms, 10 min.
	ExpireInterval time.Duration
	// NewMemberID makes the unique part of a member id. Default: a random UUID.
	NewMemberID func() string
	// Events receives what happened to a group, after the batch it belongs to
	// is durable. It must not block. Default: dropped.
	Events func(groupID string, events []group.Event)
	// CrashDir receives the file of a panic; empty: none is written.
	CrashDir string
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Partitions == 0 {
		c.Partitions = 50
	}
	if c.Group == (group.Config{}) {
		c.Group = group.DefaultConfig()
	}
	if c.Now == nil {
		c.Now = processClock()
	}
	if c.ExpireInterval == 0 {
		c.ExpireInterval = 10 * time.Minute
	}
	if c.NewMemberID == nil {
		c.NewMemberID = randomUUID
	}
	if c.Events == nil {
		c.Events = func(string, []group.Event) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// settings are what may change while the coordinator runs.
type settings struct {
	group          group.Config
	expireInterval time.Duration
}

// groupShell is the shell of groups.
type groupShell = shell[group.Request, group.Response, group.Event]

// Coordinator runs the groups of one broker: one shard for each partition of
// __consumer_offsets, each a pure state machine that one goroutine at a time
// drives.
type Coordinator struct {
	groupShell
	newMemberID func() string
	settings    atomic.Pointer[settings]
	endings     endings
}

// Start begins to load every shard and returns. Requests that arrive before
// their shard is loaded are refused as Kafka refuses them.
func Start(c Config) (*Coordinator, error) {
	if c.Open == nil || c.NextEpoch == nil {
		return nil, errors.New("coordinator: Open and NextEpoch are needed")
	}
	open := func(p int32) (partitionLog, error) {
		l, err := c.Open(p)
		if err != nil {
			return nil, err
		}
		return storedLog{l}, nil
	}
	return start(c, open, nil), nil
}

func start(config Config, open func(int32) (partitionLog, error), newMachine func(string, *group.Config) GroupMachine) *Coordinator {
	config = config.withDefaults()
	c := &Coordinator{newMemberID: config.NewMemberID}
	c.settings.Store(&settings{config.Group, config.ExpireInterval})
	c.groupShell = groupShell{
		config: shellConfig{config.Partitions, config.NextEpoch, config.Now, config.CrashDir, config.Log},
		idName: "group", open: open, publish: func(_ origin, id string, events []group.Event) { config.Events(id, events) }, refuse: group.Refuse, crashText: groupCrash,
		newKind: func() groupKindOf { return newGroupKind(newMachine) },
	}
	c.configure = func(s *Shard[group.Request, group.Response, group.Event]) {
		set := c.settings.Load()
		if k, ok := s.kind.(*groupKind); ok {
			k.config = set.group
		}
		s.SetInterval(set.expireInterval)
	}
	c.prepare()
	c.start()
	return c
}

// refusedAtOnce is the code of a request that no shard need see, else 0.
func (c *Coordinator) refusedAtOnce(groupID string, req group.Request) group.Code {
	if c.closing.Load() {
		return codeCoordinatorNotAvailable
	}
	return refusedBefore(groupID, req, &c.settings.Load().group)
}

// Submit runs one request on the group. done is called exactly once, from a
// goroutine that must not be held up, when the answer may leave: at once and
// before Submit returns, when records are durable, or much later for a parked
// join. The order of Submit calls of one goroutine for one group is the order
// of their effects. A Join's NewMemberID is filled in here. The request belongs
// to the coordinator from here on: what it refers to must not be changed.
func (c *Coordinator) Submit(groupID string, req group.Request, done func(group.Response)) {
	if code := c.refusedAtOnce(groupID, req); code != 0 {
		done(group.Refuse(req, code))
		return
	}
	if j, ok := req.(group.Join); ok && j.MemberID == "" {
		req = c.named(&j)
	}
	c.submit(c.PartitionOf(groupID), groupID, req, done)
}

// named is a join of a member that has no id yet, with one that it may get.
func (c *Coordinator) named(j *group.Join) group.Request {
	name := j.ClientID
	if j.InstanceID != nil {
		name = *j.InstanceID
	}
	j.NewMemberID = name + "-" + c.newMemberID()
	return *j
}

// PartitionOf is the partition of __consumer_offsets that keeps the group.
func (c *Coordinator) PartitionOf(groupID string) int32 {
	return schema.PartitionOf(groupID, c.config.Partitions)
}

// List returns the groups of every shard, by id. The code is
// COORDINATOR_LOAD_IN_PROGRESS, without groups, if one of them is still
// loading; shards that are not served here are left out.
func (c *Coordinator) List(ctx context.Context) ([]group.Summary, group.Code, error) {
	parts := make([][]group.Summary, len(c.runners))
	code, err := c.list(ctx, func(p int32, s *Shard[group.Request, group.Response, group.Event]) { parts[p] = groupSummaries(s) })
	if code != 0 || err != nil {
		return nil, code, err
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b group.Summary) int { return cmp.Compare(a.ID, b.ID) })
	return all, 0, nil
}

// ForgetTopic writes the tombstones of a deleted topic in every group. done is
// called once, when those of all shards are durable, or with the first error,
// which is ErrNotServing if a shard does not serve. Shards that are loading do
// it when they have loaded.
func (c *Coordinator) ForgetTopic(name string, id storage.TopicID, done func(error)) {
	c.everywhere(group.ForgetTopic{Topic: name, ID: id}, group.Forgotten{}, done)
}

// SetGroupConfig replaces the group settings (dynamic broker configuration).
func (c *Coordinator) SetGroupConfig(g group.Config, expireInterval time.Duration) {
	c.settings.Store(&settings{g, expireInterval})
	c.reconfigure()
}
