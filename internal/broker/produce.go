package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/record"
	"rota/internal/storage"
)

var (
	errNoTransactionalID = Refuse(kerr.TransactionalIDAuthorizationFailed, "The request has no transactional id.")

	errControlBatch  = Refuse(kerr.InvalidRecord, "Control batches are not for producers.")
	errInternalTopic = Refuse(kerr.InvalidTopicException, "Internal topics are written by the broker only.")
	errOldZstd       = Refuse(kerr.UnsupportedCompressionType, "Zstandard needs Produce version 7 or later.")
)

// Produce is a batch on its way to a partition.
type Produce struct {
	Topic     TopicRef
	Partition int32
	Batch     []byte
	Ack       storage.Ack
	// Zstd says that the version of the request knows the codec (KIP-110).
	Zstd bool
	// Transaction is that of the request, nil if it has no transactional id.
	Transaction *Transaction
}

// Append appends a producer's batch. done is called as storage.Log.Append
// calls it. Errors, beside those of the log: a *RefusalError, a *kerr.Error of
// Partition.
func (b *Broker) Append(v *catalog.View, p *Produce, done func(storage.Appended)) {
	t, log, unknown := b.Partition(v, p.Topic, p.Partition)
	h, malformed := record.ParseHeader(p.Batch)
	var err error
	switch {
	case unknown != nil:
		err = unknown
	case t.Internal:
		err = errInternalTopic
	case malformed == nil: // else the log says it better
		err = checkAttributes(p, h.Attributes)
	}
	switch {
	case err != nil:
		refuseAppend(done, err)
	case malformed == nil && h.Attributes.Transactional():
		b.appendTransactional(log, t.Name, &h, p, done)
	default:
		log.Append(p.Batch, p.Ack, done)
	}
}

// checkAttributes refuses batches whose kind is the trouble. What else may be
// wrong with one is found by the log.
func checkAttributes(p *Produce, a record.Attributes) error {
	switch {
	case a.Control():
		return errControlBatch
	case a.Transactional() && p.Transaction == nil:
		return errNoTransactionalID
	case a.Compression() == record.Zstd && !p.Zstd:
		return errOldZstd
	}
	return nil
}
