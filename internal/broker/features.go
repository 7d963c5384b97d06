package broker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
)

// Feature is something whose level an operator may choose for the cluster
// (KIP-584).
type Feature struct {
	Name     string
	Min, Max int16
	// Level is the finalized one; 0 turns the feature off.
	Level int16
}

// TransactionVersion is the feature that says how producers end transactions:
// from level 2 on each end gives them a new epoch, and partitions are added by
// writing to them (KIP-890). Clients that know it follow it.
const TransactionVersion = "transaction.version"

// featurePrefix is put before the name of a feature where the catalog keeps
// its level, among the dynamic configuration of brokers.
const featurePrefix = "feature/"

// Features lists the features there are.
func (b *Broker) Features() []Feature { return features(b.Catalog.View()) }

func features(v *catalog.View) []Feature {
	f := Feature{Name: TransactionVersion, Min: 0, Max: 2, Level: 2}
	if set, ok := v.Broker()[featurePrefix+f.Name]; ok {
		if level, err := strconv.ParseInt(set, 10, 16); err == nil && level >= int64(f.Min) && level <= int64(f.Max) {
			f.Level = int16(level)
		}
	}
	return []Feature{f}
}

// FeatureUpdate is a change of a feature's level.
type FeatureUpdate struct {
	Name  string
	Level int16
	// Downgrade says that the level may fall, and only that.
	Downgrade    bool
	ValidateOnly bool
}

// UpdateFeature changes the level of a feature. It returns when the change is
// durable and clients hear of it. Errors: a *RefusalError.
func (b *Broker) UpdateFeature(ctx context.Context, u FeatureUpdate) error {
	if err := b.takeTurn(ctx); err != nil {
		return err
	}
	defer b.endTurn()
	for _, f := range b.Features() {
		if f.Name != u.Name {
			continue
		}
		switch {
		case u.Level < f.Min || u.Level > f.Max:
			return Refuse(kerr.InvalidUpdateVersion, "%s has the levels %d to %d.", f.Name, f.Min, f.Max)
		case u.Level < f.Level && !u.Downgrade:
			return Refuse(kerr.InvalidUpdateVersion, "%s is at level %d: a lower one needs a downgrade.", f.Name, f.Level)
		case u.Level > f.Level && u.Downgrade:
			return Refuse(kerr.InvalidUpdateVersion, "%s is at level %d: %d is no downgrade.", f.Name, f.Level, u.Level)
		case u.ValidateOnly || u.Level == f.Level:
			return nil
		}
		level := strconv.Itoa(int(u.Level))
		if err := b.Catalog.ConfigureBroker(context.WithoutCancel(ctx), map[string]*string{featurePrefix + f.Name: &level}); err != nil {
			return fmt.Errorf("change the level of %s: %w", f.Name, err)
		}
		b.applyTransactions()
		return nil
	}
	return Refuse(kerr.InvalidUpdateVersion, "This broker does not have the feature %s.", u.Name)
}
