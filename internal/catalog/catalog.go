package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
)

var (
	// ErrTopicExists says that a topic of that name exists, or is being deleted.
	ErrTopicExists = errors.New("topic already exists")
	// ErrUnknownTopic says that there is no such topic.
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrInvalidPartitions refuses a partition count that does not grow, or is
	// not positive.
	ErrInvalidPartitions = errors.New("invalid number of partitions")
)

// Config says what a Catalog runs on.
type Config struct {
	// Log is the catalog's own partition log.
	Log   *storage.Log
	Epoch int32 // for its writer
	// NewID makes topic ids and the cluster id. Default: random UUIDs.
	NewID func() storage.TopicID
	// Now is the wall clock, for the timestamps of records. Default time.Now.
	Now func() time.Time
	// Slog receives what an operator must know. Default: discarded.
	Slog *slog.Logger
}

// LogPartition names the partition log in which the catalog keeps itself.
var LogPartition = storage.Partition{Topic: storage.TopicID{15: 1}}

// LogConfig is the configuration of that log.
func LogConfig() storage.LogConfig {
	return storage.LogConfig{
		Internal: true, Compact: true, DirtyRatio: 0.5, DeleteRetention: 24 * time.Hour,
		RetentionBytes: -1, RetentionAge: -1, Compression: -1,
	}
}

// Catalog is the broker's topics, configurations, cluster id and producer id
// blocks: records of an internal compacted log, and the View they add up to.
// Every change is durable when its method returns, and only then seen in View.
// Methods may be called from any goroutine.
//
// Methods that change something give up with the context's error while they
// wait for their turn. From the append on they wait for its outcome. Other
// errors: the package's own, and those of storage.Writer.Append.
type Catalog struct {
	log   *storage.Log
	newID func() storage.TopicID
	now   func() time.Time

	view      atomic.Pointer[View]
	clusterID string // never changes after Open
	ids       producerIDs

	// turn is held by whoever changes something. The fields below are theirs.
	turn   chan struct{}
	writer *storage.Writer
	closed bool
	buf    []byte
}

// Open replays the log. A new one gets a cluster id. Errors: those of reading
// the log, and records that cannot be decoded.
func Open(ctx context.Context, c Config) (*Catalog, error) {
	if c.NewID == nil {
		c.NewID = randomID
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Slog == nil {
		c.Slog = slog.New(slog.DiscardHandler)
	}
	r, err := replay(ctx, c.Log, c.Slog)
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	cat := &Catalog{
		log: c.Log, newID: c.NewID, now: c.Now,
		clusterID: r.clusterID,
		ids:       producerIDs{next: r.nextProducerID, end: r.nextProducerID},
		turn:      make(chan struct{}, 1),
		writer:    c.Log.Writer(c.Epoch),
	}
	cat.view.Store(r.view())
	if cat.clusterID != "" {
		return cat, nil
	}
	cat.clusterID = newClusterID(c.NewID)
	err = cat.append(change{schema.ClusterKey{}, schema.AppendClusterValue(nil, schema.ClusterValue{ID: cat.clusterID})})
	if err != nil {
		return nil, fmt.Errorf("write cluster id: %w", err)
	}
	return cat, nil
}

// View returns the catalog as it is now.
func (c *Catalog) View() *View { return c.view.Load() }

// ClusterID is made once and never changes: 22 characters of base64url, as Kafka's.
func (c *Catalog) ClusterID() string { return c.clusterID }

// Bounds are the ends of the catalog's log, and its leader epoch.
func (c *Catalog) Bounds() storage.Bounds { return c.log.Bounds() }

// Deleting lists the topics between BeginDelete and EndDelete, by name.
func (c *Catalog) Deleting() []*Topic { return c.view.Load().deleting }

// Close waits for the change under way and ends the writer. Later changes get
// storage.ErrClosed. The View stays.
func (c *Catalog) Close() error {
	c.turn <- struct{}{}
	c.closed = true
	<-c.turn
	return nil
}

// takeTurn waits until nobody else changes anything.
func (c *Catalog) takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.closed {
		c.endTurn()
		return storage.ErrClosed
	}
	return nil
}

func (c *Catalog) endTurn() { <-c.turn }

// change is one record to append. A nil value is a tombstone.
type change struct {
	key   schema.CatalogKey
	value []byte
}

// append makes the changes durable as one batch. The caller holds the turn.
func (c *Catalog) append(changes ...change) error {
	var b record.Builder
	b.Reset(c.buf[:0])
	now := c.now().UnixMilli()
	for _, ch := range changes {
		b.Append(now, schema.AppendCatalogKey(nil, ch.key), ch.value)
	}
	c.buf = b.Finish()
	done := make(chan error, 1)
	heard := func(err error) { done <- err }
	_, err := c.writer.Append(c.buf, heard)
	if errors.Is(err, storage.ErrFenced) {
		// A failed flush raises the log's epoch and ends every handle. This
		// is the log's only writer, so it may go on under the new epoch: what
		// the failed flush took with it has never been published.
		c.writer = c.log.Writer(c.log.Bounds().Epoch)
		_, err = c.writer.Append(c.buf, heard)
	}
	if err != nil {
		return err
	}
	return <-done
}

// put publishes a view with the topic, in place of its former self.
func (c *Catalog) put(t *Topic) { c.view.Store(c.view.Load().with(t)) }

// clone copies the topic, so that the copy may be changed before it is published.
func (t *Topic) clone() *Topic {
	n := *t
	n.Config = maps.Clone(t.Config)
	return &n
}
