package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
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

// processClock counts from now on.
func processClock() func() group.Now {
	origin := time.Now()
	return func() group.Now {
		now := time.Now()
		return group.Now{Mono: now.Sub(origin), Wall: now.UnixMilli()}
	}
}

// randomUUID is a version 4 UUID in its usual form.
func randomUUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var s [36]byte
	at := 0
	for i, b := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			s[at] = '-'
			at++
		}
		hex.Encode(s[at:], []byte{b})
		at += 2
	}
	return string(s[:])
}

// settings are what may change while the coordinator runs.
type settings struct {
	group          group.Config
	expireInterval time.Duration
}

// Coordinator runs the groups of one broker: one shard for each partition of
// __consumer_offsets, each a pure state machine that one goroutine at a time
// drives.
type Coordinator struct {
	config     Config
	open       func(p int32) (partitionLog, error)
	newMachine func(id string, c *group.Config) Machine // nil: group.New
	settings   atomic.Pointer[settings]
	runners    []*runner

	ctx    context.Context // ends when the coordinator does
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines that load and report

	loaded  chan struct{}
	loading atomic.Int32 // shards that have not loaded yet
	closing atomic.Bool
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

func start(config Config, open func(int32) (partitionLog, error), newMachine func(string, *group.Config) Machine) *Coordinator {
	c := &Coordinator{config: config.withDefaults(), open: open, newMachine: newMachine, loaded: make(chan struct{})}
	c.settings.Store(&settings{c.config.Group, c.config.ExpireInterval})
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.runners = make([]*runner, c.config.Partitions)
	for p := range c.runners {
		c.runners[p] = &runner{c: c, p: int32(p), gone: make(chan struct{})}
	}
	c.loading.Store(c.config.Partitions)
	c.background(c.loadAll)
	return c
}

// loadAll loads every shard under one leader epoch, as many at a time as the
// machine has processors.
func (c *Coordinator) loadAll(ctx context.Context) {
	epoch, err := c.takeEpoch(ctx)
	if err != nil {
		return
	}
	var next atomic.Int32
	worker := func(ctx context.Context) {
		for {
			p := next.Add(1) - 1
			if p >= c.config.Partitions || ctx.Err() != nil {
				return
			}
			r := c.runners[p]
			r.put(input{control: func(r *runner) { r.lead(epoch) }})
			r.load(ctx, epoch, nil)
		}
	}
	for range min(runtime.GOMAXPROCS(0), int(c.config.Partitions)) - 1 {
		c.background(worker)
	}
	worker(ctx)
}

// background runs f on a goroutine that Close waits for. It is called by
// Start, by what it has started, and by runners that have not shut.
func (c *Coordinator) background(f func(context.Context)) {
	c.work.Go(func() {
		f(c.ctx)
	})
}

// loadedOne counts the first load of a shard.
func (c *Coordinator) loadedOne() {
	if c.loading.Add(-1) == 0 {
		close(c.loaded)
	}
}

// Loaded is closed when every shard has loaded, or failed to.
func (c *Coordinator) Loaded() <-chan struct{} { return c.loaded }

// Submit runs one request on the group. done is called exactly once, from a
// goroutine that must not be held up, when the answer may leave: at once and
// before Submit returns, when records are durable, or much later for a parked
// join. The order of Submit calls of one goroutine for one group is the order
// of their effects. A Join's NewMemberID is filled in here. The request belongs
// to the coordinator from here on: what it refers to must not be changed.
func (c *Coordinator) Submit(groupID string, req group.Request, done func(group.Response)) {
	if c.closing.Load() {
		done(group.Refuse(req, codeCoordinatorNotAvailable))
		return
	}
	if code := refusedBefore(groupID, req, &c.settings.Load().group); code != 0 {
		done(group.Refuse(req, code))
		return
	}
	if j, ok := req.(group.Join); ok && j.MemberID == "" {
		j.NewMemberID = j.ClientID + "-" + c.config.NewMemberID()
		if j.InstanceID != nil {
			j.NewMemberID = *j.InstanceID + "-" + c.config.NewMemberID()
		}
		req = j
	}
	if !c.runners[c.PartitionOf(groupID)].put(input{id: groupID, req: req, done: done}) {
		done(group.Refuse(req, codeCoordinatorNotAvailable))
	}
}

// PartitionOf is the partition of __consumer_offsets that keeps the group.
func (c *Coordinator) PartitionOf(groupID string) int32 {
	return schema.PartitionOf(groupID, c.config.Partitions)
}

// List returns the groups of every shard, by id. The code is
// COORDINATOR_LOAD_IN_PROGRESS, without groups, if one of them is still
// loading; shards that are not served here are left out.
func (c *Coordinator) List(ctx context.Context) ([]group.Summary, group.Code, error) {
	if c.closing.Load() {
		return nil, codeCoordinatorNotAvailable, nil
	}
	type part struct {
		groups []group.Summary
		code   group.Code
	}
	parts := make(chan part, len(c.runners))
	for _, r := range c.runners {
		asked := r.put(input{control: func(r *runner) {
			var p part
			switch r.state {
			case active:
				p.code = codeCoordinatorLoadInProgress // if the shard panics
				r.guard(func(r *runner) { p = part{groups: r.shard.Summaries()} })
			case loading, stopped:
				p.code = r.state.refusal()
			case failed, away, draining:
			}
			parts <- p
		}})
		if !asked {
			parts <- part{code: codeCoordinatorNotAvailable}
		}
	}
	var all []group.Summary
	for range c.runners {
		select {
		case p := <-parts:
			if p.code != 0 {
				return nil, p.code, nil
			}
			all = append(all, p.groups...)
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	slices.SortFunc(all, func(a, b group.Summary) int { return cmp.Compare(a.ID, b.ID) })
	return all, 0, nil
}

// ForgetTopic writes the tombstones of a deleted topic in every group. done is
// called once, when those of all shards are durable, or with the first error,
// which is ErrNotServing if a shard does not serve. Shards that are loading do
// it when they have loaded.
func (c *Coordinator) ForgetTopic(name string, id storage.TopicID, done func(error)) {
	var mu sync.Mutex
	left, told := len(c.runners), false
	one := func(err error) {
		mu.Lock()
		left--
		tell := !told && (err != nil || left == 0)
		told = told || tell
		mu.Unlock()
		if tell {
			done(err)
		}
	}
	for _, r := range c.runners {
		f := &forget{req: group.ForgetTopic{Topic: name, ID: id}, done: one, r: r}
		if !r.put(input{control: func(r *runner) { r.forget(f) }}) {
			one(ErrNotServing)
		}
	}
}

// Move unloads the shard of partition p and loads it again under a new leader
// epoch, as if another broker had taken over. It returns when the shard has
// loaded. Errors: ErrNotServing if it has not.
func (c *Coordinator) Move(p int32) error {
	if p < 0 || p >= c.config.Partitions {
		return errors.New("coordinator: no such partition")
	}
	r := c.runners[p]
	away, err := c.takeEpoch(c.ctx)
	if err != nil {
		return err
	}
	if _, err := r.ask(func(r *runner) bool { return r.resign(away) }); err != nil {
		return err
	}
	back, err := c.takeEpoch(c.ctx)
	if err != nil {
		return err
	}
	var quarantined map[string]bool
	leads, err := r.ask(func(r *runner) bool {
		quarantined = r.trouble.quarantined
		return r.lead(back)
	})
	if err != nil || !leads {
		return ErrNotServing
	}
	r.load(c.ctx, back, quarantined)
	if serves, err := r.ask(func(r *runner) bool { return r.state == active }); err != nil || !serves {
		return ErrNotServing
	}
	return nil
}

// SetGroupConfig replaces the group settings (dynamic broker configuration).
func (c *Coordinator) SetGroupConfig(g group.Config, expireInterval time.Duration) {
	c.settings.Store(&settings{g, expireInterval})
	for _, r := range c.runners {
		r.put(input{control: func(r *runner) {
			if r.shard != nil {
				set := c.settings.Load()
				r.shard.SetConfig(set.group, set.expireInterval)
			}
		}})
	}
}

// Drain answers every parked request with NOT_COORDINATOR; later ones get the
// same. Appends in flight end first. It returns when that is done, or ctx ends.
func (c *Coordinator) Drain(ctx context.Context) error {
	waits := make([]chan struct{}, len(c.runners))
	for i, r := range c.runners {
		done := make(chan struct{})
		waits[i] = done
		if !r.put(input{control: func(r *runner) { r.drain(done) }}) {
			close(done)
		}
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close stops every shard and waits for it. Parked requests get
// NOT_COORDINATOR, as do those whose records are not durable yet.
func (c *Coordinator) Close() error {
	c.closing.Store(true)
	c.cancel()
	for _, r := range c.runners {
		r.put(input{control: (*runner).stop})
	}
	for _, r := range c.runners {
		<-r.gone
	}
	c.work.Wait()
	return nil
}

// storedLog is a log of package storage.
type storedLog struct{ *storage.Log }

func (l storedLog) Writer(epoch int32) partitionWriter { return l.Log.Writer(epoch) }
