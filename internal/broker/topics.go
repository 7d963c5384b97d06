package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/storage"
)

// NewTopic describes a topic that is to be made.
type NewTopic struct {
	Name string
	// Partitions is the partition count, -1 for num.partitions.
	Partitions int32
	// ReplicationFactor is what was asked for, -1 for
	// default.replication.factor. One replica is kept whatever it is.
	ReplicationFactor int16
	// Assignment names the replicas of each partition, instead of a partition
	// count and a replication factor. Nil: none was given.
	Assignment []Replicas
	// Config holds topic settings by Kafka's names. A nil value is refused.
	Config map[string]*string
	// Internal topics belong to the broker: clients cannot change them.
	Internal bool
	// ValidateOnly checks everything and makes nothing: the Topic that comes
	// back has no id.
	ValidateOnly bool
	// Made is how many partitions the request has made so far: a request makes
	// no more than MaxPartitions.
	Made int32
}

// Replicas names the brokers that are to keep one partition.
type Replicas struct {
	Partition int32
	Brokers   []int32
}

// CreateTopic adds a topic to the catalog and makes its logs. partitions <= 0
// means num.partitions. It returns when the topic is durable and can be used.
// Errors: a *RefusalError, of TOPIC_ALREADY_EXISTS if the name is taken.
func (b *Broker) CreateTopic(ctx context.Context, name string, partitions int32, config map[string]string, internal bool) (*catalog.Topic, error) {
	n := NewTopic{Name: name, Partitions: max(partitions, 0), ReplicationFactor: -1, Config: map[string]*string{}, Internal: internal}
	if partitions <= 0 {
		n.Partitions = -1
	}
	for k, v := range config {
		n.Config[k] = &v
	}
	return b.Create(ctx, n)
}

// Create adds a topic to the catalog and makes its logs. It returns when the
// topic is durable and can be used. Errors: a *RefusalError.
func (b *Broker) Create(ctx context.Context, n NewTopic) (*catalog.Topic, error) {
	if err := b.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer b.endTurn()
	t, err := b.checkNew(n)
	if err != nil {
		return nil, err
	}
	if err := checkTotal(t.Partitions, n.Made); err != nil || n.ValidateOnly {
		return t, err
	}
	// From here on the work is done to its end whether or not the client
	// waits for it: a topic in the catalog must have its logs.
	ctx = context.WithoutCancel(ctx)
	t, err = b.Catalog.Create(ctx, t.Name, t.Partitions, t.Config, t.Internal)
	if errors.Is(err, catalog.ErrTopicExists) {
		return nil, Refuse(kerr.TopicAlreadyExists, "A topic %s exists already, or is being deleted.", n.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", n.Name, err)
	}
	return t, b.openLogs(t, 0)
}

// checkNew returns the topic that n asks for.
func (b *Broker) checkNew(n NewTopic) (*catalog.Topic, error) {
	if err := CheckTopicName(n.Name); err != nil {
		return nil, err
	}
	view := b.Catalog.View()
	if _, ok := view.Topic(n.Name); ok {
		return nil, Refuse(kerr.TopicAlreadyExists, "A topic %s exists already.", n.Name)
	}
	if reservedName(n.Name) && !n.Internal {
		return nil, Refuse(kerr.InvalidTopicException, "The name %s is kept for a topic of the broker's own.", n.Name)
	}
	if err := checkCollision(view, n.Name); err != nil {
		return nil, err
	}
	config, err := b.checkNewConfig(n.Config)
	if err != nil {
		return nil, err
	}
	t := &catalog.Topic{Name: n.Name, Partitions: n.Partitions, Config: config, Internal: n.Internal}
	if n.Assignment != nil {
		t.Partitions, err = b.checkAssignment(n)
		return t, err
	}
	if t.Partitions == -1 {
		t.Partitions = int32(b.Settings().Int("num.partitions"))
	}
	if t.Partitions <= 0 {
		return nil, Refuse(kerr.InvalidPartitions, "A topic has at least one partition, not %d.", n.Partitions)
	}
	if n.ReplicationFactor < -1 || n.ReplicationFactor == 0 {
		return nil, Refuse(kerr.InvalidReplicationFactor, "The replication factor is a positive number, or -1 for the default, not %d.", n.ReplicationFactor)
	}
	if n.ReplicationFactor == -1 {
		n.ReplicationFactor = int16(b.Settings().Int("default.replication.factor"))
	}
	return t, b.checkFactor(int(n.ReplicationFactor))
}

// checkTotal refuses to make more partitions than one request may, which has
// made some already.
func checkTotal(more, made int32) error {
	if more > MaxPartitions-made {
		return Refuse(kerr.PolicyViolation, "One request makes at most %d partitions, in all its topics.", MaxPartitions)
	}
	return nil
}

// checkFactor refuses more replicas than brokers, if replication.check says so.
func (b *Broker) checkFactor(factor int) error {
	if factor > 1 && b.Settings().Bool("replication.check") {
		return Refuse(kerr.InvalidReplicationFactor, "There is one broker, and the replication factor is %d.", factor)
	}
	return nil
}

// checkAssignment returns the partition count of a topic whose replicas were
// named. They are not kept: this broker leads every partition.
func (b *Broker) checkAssignment(n NewTopic) (int32, error) {
	if n.Partitions != -1 || n.ReplicationFactor != -1 {
		return 0, Refuse(kerr.InvalidRequest, "A request that assigns replicas leaves the partition count and the replication factor at -1.")
	}
	sorted := slices.Clone(n.Assignment)
	slices.SortFunc(sorted, func(a, b Replicas) int { return int(int64(a.Partition) - int64(b.Partition)) })
	for i, r := range sorted {
		if int(r.Partition) != i {
			return 0, Refuse(kerr.InvalidReplicaAssignment, "The assignment must name every partition from 0 to %d once.", len(sorted)-1)
		}
		if len(r.Brokers) != len(sorted[0].Brokers) {
			return 0, Refuse(kerr.InvalidReplicaAssignment, "Partition %d has %d replicas and partition 0 has %d.", i, len(r.Brokers), len(sorted[0].Brokers))
		}
		if err := b.checkReplicas(r); err != nil {
			return 0, err
		}
	}
	return int32(len(sorted)), nil
}

// checkReplicas checks the replicas that were named for one partition.
func (b *Broker) checkReplicas(r Replicas) error {
	if len(r.Brokers) == 0 {
		return Refuse(kerr.InvalidReplicaAssignment, "Partition %d is assigned to no broker.", r.Partition)
	}
	seen := make(map[int32]bool, len(r.Brokers))
	for _, id := range r.Brokers {
		if id < 0 || seen[id] {
			return Refuse(kerr.InvalidReplicaAssignment, "Partition %d is assigned to broker %d twice, or there can be no such broker.", r.Partition, id)
		}
		seen[id] = true
		if id != b.Config.NodeID && b.Settings().Bool("replication.check") {
			return Refuse(kerr.InvalidReplicaAssignment, "Partition %d is assigned to broker %d, and there is only broker %d.", r.Partition, id, b.Config.NodeID)
		}
	}
	return nil
}

// Growth asks for more partitions of a topic.
type Growth struct {
	Name  string
	Count int32
	// Assignment names the replicas of the new partitions. Nil: none was given.
	Assignment [][]int32
	// ValidateOnly checks everything and changes nothing.
	ValidateOnly bool
	// Made is how many partitions the request has made so far: a request makes
	// no more than MaxPartitions.
	Made int32
}

// Grow raises the partition count of a topic and returns how many partitions
// that added, or would add. They are durable then and can be used. Errors: a
// *RefusalError.
func (b *Broker) Grow(ctx context.Context, g Growth) (added int32, err error) {
	if err := b.takeTurn(ctx); err != nil {
		return 0, err
	}
	defer b.endTurn()
	t, ok := b.Catalog.View().Topic(g.Name)
	if !ok {
		return 0, Refuse(kerr.UnknownTopicOrPartition, "There is no topic of that name.")
	}
	if err := b.checkGrowth(t, g); err != nil {
		return 0, err
	}
	added = g.Count - t.Partitions
	if err := checkTotal(added, g.Made); err != nil || g.ValidateOnly {
		return added, err
	}
	ctx = context.WithoutCancel(ctx)
	grown, err := b.Catalog.Grow(ctx, t.ID, g.Count)
	if err != nil {
		return 0, fmt.Errorf("grow topic %s: %w", g.Name, err)
	}
	return added, b.openLogs(grown, t.Partitions)
}

func (b *Broker) checkGrowth(t *catalog.Topic, g Growth) error {
	if t.Internal {
		return Refuse(kerr.InvalidTopicException, "%s belongs to the broker: its partitions say which group is kept where and cannot change.", t.Name)
	}
	switch {
	case g.Count == t.Partitions:
		return Refuse(kerr.InvalidPartitions, "The topic has %d partitions already.", t.Partitions)
	case g.Count < t.Partitions:
		return Refuse(kerr.InvalidPartitions, "The topic has %d partitions, and %d would not be more.", t.Partitions, g.Count)
	case g.Count > MaxPartitions:
		return Refuse(kerr.InvalidPartitions, "A topic has at most %d partitions, not %d.", MaxPartitions, g.Count)
	}
	if g.Assignment == nil {
		return nil
	}
	if added := int(g.Count - t.Partitions); len(g.Assignment) != added {
		return Refuse(kerr.InvalidReplicaAssignment, "The request adds %d partitions and assigns %d.", added, len(g.Assignment))
	}
	for i, brokers := range g.Assignment {
		if err := b.checkReplicas(Replicas{Partition: t.Partitions + int32(i), Brokers: brokers}); err != nil {
			return err
		}
		if err := b.checkFactor(len(brokers)); err != nil {
			return err
		}
	}
	return nil
}

// openLogs makes the logs of a topic's partitions, beginning with from.
func (b *Broker) openLogs(t *catalog.Topic, from int32) error {
	config := b.LogConfig(t)
	for i := from; i < t.Partitions; i++ {
		if _, err := b.Store.Create(storage.Partition{Topic: t.ID, Index: i}, config); err != nil {
			return fmt.Errorf("open log of %s-%d: %w", t.Name, i, err)
		}
	}
	return nil
}

// takeTurn waits until nobody else changes topics or configuration: what one
// request was checked against must hold until it is carried out.
func (b *Broker) takeTurn(ctx context.Context) error {
	select {
	case b.admin <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Broker) endTurn() { <-b.admin }
