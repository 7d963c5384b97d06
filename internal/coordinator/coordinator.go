package coordinator

import (
	"context"
	"log/slog"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
)

// Config says what a Coordinator runs on.
type Config struct {
	Partitions int32 // of __consumer_offsets; 50
	Group      group.Config
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
	Log      *slog.Logger
}

// Coordinator runs the groups of one broker: one shard for each partition of
// __consumer_offsets, each a goroutine over a pure state machine.
type Coordinator struct{}

// Start begins to load every shard and returns. Requests that arrive before
// their shard is loaded are refused as Kafka refuses them.
func Start(c Config) (*Coordinator, error) { panic("not built") }

// Loaded is closed when every shard has loaded, or failed to.
func (c *Coordinator) Loaded() <-chan struct{} { panic("not built") }

// Submit runs one request on the group. done is called exactly once, from a
// goroutine that must not be held up, when the answer may leave: at once, when
// records are durable, or much later for a parked join. The order of Submit
// calls of one goroutine for one group is the order of their effects.
// A Join's NewMemberID is filled in here.
func (c *Coordinator) Submit(groupID string, req group.Request, done func(group.Response)) {
	panic("not built")
}

// List returns the groups of every shard, and COORDINATOR_LOAD_IN_PROGRESS if
// one of them is still loading.
func (c *Coordinator) List(ctx context.Context) ([]group.Summary, group.Code, error) {
	panic("not built")
}

// ForgetTopic writes the tombstones of a deleted topic in every group. done is
// called when those of all shards are durable, or with the first error.
func (c *Coordinator) ForgetTopic(name string, id storage.TopicID, done func(error)) {
	panic("not built")
}

// PartitionOf is the partition of __consumer_offsets that keeps the group.
func (c *Coordinator) PartitionOf(groupID string) int32 { panic("not built") }

// Move unloads the shard of partition p and loads it again under a new leader
// epoch, as if another broker had taken over.
func (c *Coordinator) Move(p int32) error { panic("not built") }

// SetGroupConfig replaces the group settings (dynamic broker configuration).
func (c *Coordinator) SetGroupConfig(g group.Config, expireInterval time.Duration) {
	panic("not built")
}

// Drain answers every parked request with NOT_COORDINATOR; later ones get the
// same. Appends in flight end first.
func (c *Coordinator) Drain(ctx context.Context) error { panic("not built") }

// Close stops every shard and waits for it.
func (c *Coordinator) Close() error { panic("not built") }
