package broker

import (
	"rota/internal/storage"
)

// WriteMarker ends a producer's transaction in one partition, whatever the
// transaction coordinator thinks of it: an operator's last resort (KIP-664).
// done is called once, when the marker is durable, or with an error: a
// *RefusalError, a *kerr.Error of Partition, those of storage.Log.AppendMarker
// and coordinator.Coordinator.EndTransaction.
func (b *Broker) WriteMarker(topic string, index int32, m storage.Marker, done func(error)) {
	t, log, err := b.Partition(b.Catalog.View(), TopicRef{Name: topic}, index)
	switch {
	case err != nil:
		done(err)
	case t.Name == OffsetsTopic:
		b.Coordinator.EndTransaction(index, m, done)
	case t.Internal: // its shards are its only writers
		done(errInternalTopic)
	default:
		log.AppendMarker(m, done)
	}
}
