package broker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/group"
)

// ConfigEntry is one setting as a client may see it.
type ConfigEntry struct {
	Name string
	// Value is nil if the setting has none.
	Value *string
	// ReadOnly settings cannot be changed while the broker runs.
	ReadOnly bool
	Source   Source
	Kind     catalog.Kind
	Doc      string
	// Synonyms lists every value that was set or is a default, the one that
	// holds first.
	Synonyms []Sourced
}

// Settings is the broker's configuration as it is now.
func (b *Broker) Settings() *Settings { return b.settings.Load() }

// GroupConfig is what the settings of now mean for the rules of groups.
func (b *Broker) GroupConfig() group.Config {
	largest := 0 // no bound
	if t, ok := b.Catalog.View().Topic(OffsetsTopic); ok {
		largest = b.LogConfig(t).MaxMessageBytes
	}
	return b.Settings().Group(largest)
}

// DescribeBroker lists the broker's settings by name. all lists every one as
// it holds on this broker, else those that were set on all brokers while they
// ran.
func (b *Broker) DescribeBroker(all bool) []ConfigEntry {
	s := b.Settings()
	var entries []ConfigEntry
	for _, p := range properties {
		e := ConfigEntry{Name: p.Name, ReadOnly: !p.Dynamic, Kind: p.Kind, Doc: p.Doc, Source: Default}
		e.Synonyms = s.Sources(p.Name)
		if value, ok := s.cluster[p.Name]; !all && !ok {
			continue
		} else if !all {
			e.Synonyms = []Sourced{{Name: p.Name, Value: value, Source: DynamicDefault}}
		}
		if len(e.Synonyms) > 0 {
			e.Value, e.Source = &e.Synonyms[0].Value, e.Synonyms[0].Source
		}
		entries = append(entries, e)
	}
	return entries
}

// AlterBroker changes dynamic settings: of this broker if node is true, else
// of all. It returns when the change is durable and in force. Errors: a
// *RefusalError.
func (b *Broker) AlterBroker(ctx context.Context, node bool, a Alteration) error {
	if err := b.takeTurn(ctx); err != nil {
		return err
	}
	defer b.endTurn()
	s := b.Settings()
	set, prefix := s.cluster, ""
	if node {
		set, prefix = s.node, s.nodePrefix
	}
	diff, err := a.against(set, func(name string) (string, bool) {
		p, ok := PropertyNamed(name)
		if !ok {
			return "", false
		}
		return s.String(name), p.Kind == catalog.KindList
	})
	if err != nil {
		return err
	}
	if err := checkDynamic(diff); err != nil {
		return err
	}
	change := make(map[string]*string, len(diff))
	for name, value := range diff {
		change[prefix+name] = value
	}
	next, err := s.with(merged(b.Catalog.View().Broker(), change))
	if err != nil {
		return Refuse(kerr.InvalidRequest, "%s", err)
	}
	if a.ValidateOnly || len(change) == 0 {
		return nil
	}
	if err := b.Catalog.ConfigureBroker(context.WithoutCancel(ctx), change); err != nil {
		return fmt.Errorf("change broker settings: %w", err)
	}
	b.settings.Store(next)
	b.applySettings()
	return nil
}

// checkDynamic refuses settings that are unknown, that only a start can
// change, or whose value is wrong.
func checkDynamic(diff map[string]*string) error {
	for name, value := range diff {
		p, ok := PropertyNamed(name)
		if !ok {
			return Refuse(kerr.InvalidRequest, "There is no broker setting %s.", name)
		}
		if !p.Dynamic {
			return Refuse(kerr.InvalidRequest, "%s can be changed only by a restart of the broker.", name)
		}
		if value == nil {
			continue
		}
		if err := p.Check(*value); err != nil {
			return Refuse(kerr.InvalidRequest, "%s", err)
		}
	}
	return nil
}

// applySettings makes the settings of now hold everywhere.
func (b *Broker) applySettings() {
	for _, t := range b.Catalog.View().Topics() {
		b.applyTopic(t)
	}
	b.applyGroups()
	b.applyTransactions()
}

// applyGroups makes the settings of now hold in the coordinator.
func (b *Broker) applyGroups() {
	b.Coordinator.SetGroupConfig(b.GroupConfig(), b.Settings().Millis("offsets.retention.check.interval.ms"))
}

// OwnNode reports whether name, as a client writes it, is the id of this
// broker.
func (b *Broker) OwnNode(name string) bool {
	id, err := strconv.ParseInt(name, 10, 32)
	return err == nil && int32(id) == b.Config.NodeID
}
