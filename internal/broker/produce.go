package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/record"
	"rota/internal/storage"
)

// NoTransactions is what clients are told that ask for transactions.
const NoTransactions = "This broker does not support transactions yet."

var (
	errNoTransactions = Refuse(kerr.TransactionalIDAuthorizationFailed, NoTransactions)
	errControlBatch   = Refuse(kerr.InvalidRecord, "Control batches are not for producers.")
	errInternalTopic  = Refuse(kerr.InvalidTopicException, "Internal topics are written by the broker only.")
	errOldZstd        = Refuse(kerr.UnsupportedCompressionType, "Zstandard needs Produce version 7 or later.")
)

// Produce is a batch on its way to a partition.
type Produce struct {
	Topic     TopicRef
	Partition int32
	Batch     []byte
	Ack       storage.Ack
	// Zstd says that the version of the request knows the codec (KIP-110).
	Zstd bool
}

// Append appends a producer's batch. done is called as storage.Log.Append
// calls it. Errors, beside those of the log: a *RefusalError, a *kerr.Error of
// Partition.
func (b *Broker) Append(v *catalog.View, p *Produce, done func(storage.Appended)) {
	t, log, unknown := b.Partition(v, p.Topic, p.Partition)
	var err error
	switch {
	case unknown != nil:
		err = unknown
	case t.Internal:
		err = errInternalTopic
	default:
		err = checkAttributes(p)
	}
	if err != nil {
		done(storage.Appended{Base: -1, LogAppend: -1, Start: -1, Err: err})
		return
	}
	log.Append(p.Batch, p.Ack, done)
}

// checkAttributes refuses batches whose kind is the trouble. What else may be
// wrong with one is found by the log.
func checkAttributes(p *Produce) error {
	h, err := record.ParseHeader(p.Batch)
	switch {
	case err != nil:
		return nil //nolint:nilerr // the log says it better
	case h.Attributes.Control():
		return errControlBatch
	case h.Attributes.Transactional():
		return errNoTransactions
	case h.Attributes.Compression() == record.Zstd && !p.Zstd:
		return errOldZstd
	}
	return nil
}
