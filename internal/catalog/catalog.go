package catalog

import (
	"context"
	"errors"
	"log/slog"

	"rota/internal/storage"
)

// Topic is one topic as it is now. It must not be changed.
type Topic struct {
	Name       string
	ID         storage.TopicID
	Partitions int32
	// Config holds what was set on the topic, by Kafka's names.
	Config   map[string]string
	Internal bool
}

// View is the catalog at one moment. It never changes: take a new one to see
// what has.
type View struct {
	// Topics that exist, by name. Those being deleted are not listed.
	byName map[string]*Topic
	byID   map[storage.TopicID]*Topic
	sorted []*Topic
	// Broker holds the dynamic broker configuration, by Kafka's names.
	broker map[string]string
}

// Topic finds a topic by name.
func (v *View) Topic(name string) (*Topic, bool) { t, ok := v.byName[name]; return t, ok }

// TopicByID finds a topic by id.
func (v *View) TopicByID(id storage.TopicID) (*Topic, bool) { t, ok := v.byID[id]; return t, ok }

// Topics lists all topics, by name.
func (v *View) Topics() []*Topic { return v.sorted }

// Broker returns the dynamic broker configuration.
func (v *View) Broker() map[string]string { return v.broker }

var (
	// ErrTopicExists: a topic of that name exists, or is being deleted.
	ErrTopicExists = errors.New("topic already exists")
	// ErrUnknownTopic: there is no such topic.
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrInvalidPartitions: a partition count that does not grow, or is not positive.
	ErrInvalidPartitions = errors.New("invalid number of partitions")
)

// Config says what a Catalog runs on.
type Config struct {
	// Log is the catalog's own partition log.
	Log   *storage.Log
	Epoch int32 // for its writer
	// NewID makes topic ids and the cluster id. Default: random UUIDs.
	NewID func() storage.TopicID
	Slog  *slog.Logger
}

// Catalog is the broker's topics, configurations, cluster id and producer id
// blocks: records of an internal compacted log, and the View they add up to.
// Every change is durable when its method returns, and only then seen in View.
// Methods may be called from any goroutine.
type Catalog struct{}

// LogPartition names the partition log in which the catalog keeps itself.
var LogPartition = storage.Partition{Topic: storage.TopicID{15: 1}}

// Open replays the log. A new one gets a cluster id.
func Open(ctx context.Context, c Config) (*Catalog, error) { panic("not built") }

// View returns the catalog as it is now.
func (c *Catalog) View() *View { panic("not built") }

// ClusterID is made once and never changes: 22 characters of base64url, as Kafka's.
func (c *Catalog) ClusterID() string { panic("not built") }

// Create adds a topic. Config has been validated.
func (c *Catalog) Create(ctx context.Context, name string, partitions int32, config map[string]string, internal bool) (*Topic, error) {
	panic("not built")
}

// Grow raises a topic's partition count.
func (c *Catalog) Grow(ctx context.Context, id storage.TopicID, partitions int32) (*Topic, error) {
	panic("not built")
}

// Configure sets (or with nil removes) configuration entries of a topic.
func (c *Catalog) Configure(ctx context.Context, id storage.TopicID, change map[string]*string) (*Topic, error) {
	panic("not built")
}

// ConfigureBroker sets (or with nil removes) dynamic broker configuration.
func (c *Catalog) ConfigureBroker(ctx context.Context, change map[string]*string) error {
	panic("not built")
}

// BeginDelete records that a topic is being deleted: it leaves the View, its
// name stays taken, and a start finds it in Deleting until EndDelete.
func (c *Catalog) BeginDelete(ctx context.Context, id storage.TopicID) (*Topic, error) {
	panic("not built")
}

// EndDelete removes what BeginDelete left.
func (c *Catalog) EndDelete(ctx context.Context, id storage.TopicID) error { panic("not built") }

// Deleting lists the topics between BeginDelete and EndDelete.
func (c *Catalog) Deleting() []*Topic { panic("not built") }

// ProducerID returns an id that was never given before, from a block reserved
// by a durable record.
func (c *Catalog) ProducerID(ctx context.Context) (int64, error) { panic("not built") }

// Close ends the writer.
func (c *Catalog) Close() error { panic("not built") }
