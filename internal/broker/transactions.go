package broker

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/coordinator"
	"rota/internal/storage"
	"rota/internal/txn"
)

// TransactionsTopic is where the coordinator keeps its transactional ids.
const TransactionsTopic = "__transaction_state"

// transactionsTopicConfig is what __transaction_state is made with.
func transactionsTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":         "compact",
		"compression.type":       "uncompressed",
		"max.message.bytes":      "16777216",
		"message.timestamp.type": "CreateTime",
		"segment.bytes":          "104857600",
	}
}

// TransactionsConfig is what Transactions run on, but for clocks and logs. It
// comes after OpenTopics.
func (b *Broker) TransactionsConfig() coordinator.TransactionsConfig {
	c := coordinator.TransactionsConfig{
		Partitions: int32(b.Settings().Int("transaction.state.log.num.partitions")),
		Txn:        b.TransactionConfig(),
		Create:     b.createTransactionsTopic,
		Open:       func(p int32) (*storage.Log, error) { return b.logOf(TransactionsTopic, p) },
		NextEpoch:  b.Store.NextEpoch,
		ProducerID: b.Catalog.ProducerID,
		Mark:       b.mark,

		ExpireInterval: b.Settings().Millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
	}
	if t, ok := b.Catalog.View().Topic(TransactionsTopic); ok {
		c.Exists, c.Partitions = true, t.Partitions
	}
	return c
}

// TransactionConfig is what the settings of now mean for the rules of
// transactions.
func (b *Broker) TransactionConfig() txn.Config {
	s := b.Settings()
	c := txn.DefaultConfig()
	c.MaxTimeout = s.Millis("transaction.max.timeout.ms")
	c.IDExpiration = s.Millis("transactional.id.expiration.ms")
	c.AbortInterval = s.Millis("transaction.abort.timed.out.transaction.cleanup.interval.ms")
	c.Wait = s.Millis("add.partitions.to.txn.retry.backoff.max.ms")
	c.TwoPhaseCommit = s.Bool("transaction.two.phase.commit.enable")
	for _, f := range b.Features() {
		if f.Name == TransactionVersion {
			c.Version = f.Level
		}
	}
	if t, ok := b.Catalog.View().Topic(TransactionsTopic); ok {
		c.MaxRecordBytes = b.LogConfig(t).MaxMessageBytes
	}
	return c
}

// applyTransactions makes the settings of now hold in the transaction
// coordinator.
func (b *Broker) applyTransactions() {
	if b.Transactions != nil {
		b.Transactions.SetConfig(b.TransactionConfig(), b.Settings().Millis("transaction.remove.expired.transaction.cleanup.interval.ms"))
	}
}

// createTransactionsTopic makes __transaction_state, if it is not there.
func (b *Broker) createTransactionsTopic(ctx context.Context) error {
	if _, ok := b.Catalog.View().Topic(TransactionsTopic); ok {
		return nil
	}
	count := int32(b.Settings().Int("transaction.state.log.num.partitions"))
	_, err := b.CreateTopic(ctx, TransactionsTopic, count, transactionsTopicConfig(), true)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}

// mark appends the marker that ends a transaction in a partition. A partition
// that is no more needs none.
func (b *Broker) mark(tp txn.TopicPartition, m storage.Marker, done func(error)) {
	if tp.Topic == OffsetsTopic {
		b.Coordinator.EndTransaction(tp.Partition, m, done)
		return
	}
	_, log, err := b.Partition(b.Catalog.View(), TopicRef{Name: tp.Topic}, tp.Partition)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		done(nil)
	case err != nil:
		done(err)
	default:
		log.AppendMarker(m, done)
	}
}
