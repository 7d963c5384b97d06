package catalog

import (
	"context"
	"maps"
	"slices"

	"rota/internal/schema"
	"rota/internal/storage"
)

// Create adds a topic. The name and config have been validated. Errors:
// ErrTopicExists, ErrInvalidPartitions.
func (c *Catalog) Create(ctx context.Context, name string, partitions int32, config map[string]string, internal bool) (*Topic, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.endTurn()
	if c.View().taken(name) {
		return nil, ErrTopicExists
	}
	if partitions <= 0 {
		return nil, ErrInvalidPartitions
	}
	t := &Topic{Name: name, ID: c.newTopicID(), Partitions: partitions, Config: merged(config, nil), Internal: internal}
	if err := c.append(topicChange(t, false)); err != nil {
		return nil, err
	}
	c.put(t)
	return t, nil
}

// Grow raises a topic's partition count. Errors: ErrUnknownTopic,
// ErrInvalidPartitions.
func (c *Catalog) Grow(ctx context.Context, id storage.TopicID, partitions int32) (*Topic, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.endTurn()
	t, ok := c.View().TopicByID(id)
	if !ok {
		return nil, ErrUnknownTopic
	}
	if partitions <= t.Partitions {
		return nil, ErrInvalidPartitions
	}
	t = t.clone()
	t.Partitions = partitions
	if err := c.append(topicChange(t, false)); err != nil {
		return nil, err
	}
	c.put(t)
	return t, nil
}

// Configure sets (or with nil removes) configuration entries of a topic. The
// result has been validated. Errors: ErrUnknownTopic.
func (c *Catalog) Configure(ctx context.Context, id storage.TopicID, entries map[string]*string) (*Topic, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.endTurn()
	t, ok := c.View().TopicByID(id)
	if !ok {
		return nil, ErrUnknownTopic
	}
	config := merged(t.Config, entries)
	if maps.Equal(config, t.Config) {
		return t, nil
	}
	t = t.clone()
	t.Config = config
	if err := c.append(topicChange(t, false)); err != nil {
		return nil, err
	}
	c.put(t)
	return t, nil
}

// ConfigureBroker sets (or with nil removes) dynamic broker configuration, all
// or nothing. It has been validated.
func (c *Catalog) ConfigureBroker(ctx context.Context, entries map[string]*string) error {
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	old := c.View().Broker()
	config := merged(old, entries)
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		before, was := old[name]
		after, is := config[name]
		switch {
		case was == is && before == after:
		case is:
			changes = append(changes, change{schema.SettingKey{Name: name}, schema.AppendSettingValue(nil, schema.SettingValue{Value: after})})
		default:
			changes = append(changes, change{key: schema.SettingKey{Name: name}})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if err := c.append(changes...); err != nil {
		return err
	}
	c.view.Store(c.View().withBroker(config))
	return nil
}

// BeginDelete records that a topic is being deleted: it leaves the View, its
// name stays taken, and a start finds it in Deleting until EndDelete. Errors:
// ErrUnknownTopic.
func (c *Catalog) BeginDelete(ctx context.Context, id storage.TopicID) (*Topic, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.endTurn()
	t, ok := c.View().TopicByID(id)
	if !ok {
		return nil, ErrUnknownTopic
	}
	if err := c.append(topicChange(t, true)); err != nil {
		return nil, err
	}
	c.view.Store(c.View().whileDeleting(t))
	return t, nil
}

// EndDelete removes what BeginDelete left: the name is free. Errors:
// ErrUnknownTopic.
func (c *Catalog) EndDelete(ctx context.Context, id storage.TopicID) error {
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	t, ok := c.View().deletingByID(id)
	if !ok {
		return ErrUnknownTopic
	}
	if err := c.append(change{key: schema.TopicKey{ID: id}}); err != nil {
		return err
	}
	c.view.Store(c.View().deleted(t))
	return nil
}

// topicChange is the record of a topic.
func topicChange(t *Topic, deleting bool) change {
	v := schema.TopicValue{Name: t.Name, Partitions: t.Partitions, Internal: t.Internal, Deleting: deleting}
	for _, name := range slices.Sorted(maps.Keys(t.Config)) {
		v.Config = append(v.Config, schema.Setting{Name: name, Value: t.Config[name]})
	}
	return change{schema.TopicKey{ID: t.ID}, schema.AppendTopicValue(nil, v)}
}

// merged is config with the entries set, or removed where they are nil.
func merged(config map[string]string, entries map[string]*string) map[string]string {
	after := make(map[string]string, len(config)+len(entries))
	maps.Copy(after, config)
	for name, value := range entries {
		if value == nil {
			delete(after, name)
		} else {
			after[name] = *value
		}
	}
	return after
}
