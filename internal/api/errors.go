package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/coordinator"
	"rota/internal/record"
	"rota/internal/storage"
)

// faults says which Kafka error stands for which of ours. The first one that
// matches counts.
var faults = []struct {
	err   error
	kafka *kerr.Error
}{
	{storage.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
	{storage.ErrTooLarge, kerr.MessageTooLarge},
	{storage.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
	{storage.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
	{storage.ErrInvalidTimestamp, kerr.InvalidTimestamp},
	{storage.ErrNotVerified, kerr.InvalidTxnState},
	{storage.ErrTransactionOpen, kerr.InvalidTxnState},
	{storage.ErrCoordinatorFenced, kerr.TransactionCoordinatorFenced},
	{storage.ErrNotVerified, kerr.InvalidTxnState},
	{storage.ErrTransactionOpen, kerr.InvalidTxnState},
	{storage.ErrCoordinatorFenced, kerr.TransactionCoordinatorFenced},
	{storage.ErrFull, kerr.KafkaStorageError},
	// The append was taken back, and the partition has a new leader epoch or
	// is gone: clients that look again find out which.
	{storage.ErrFlushFailed, kerr.NotLeaderForPartition},
	{storage.ErrFenced, kerr.NotLeaderForPartition},
	{storage.ErrClosed, kerr.NotLeaderForPartition},
	{coordinator.ErrNotServing, kerr.NotLeaderForPartition},

	{record.ErrTooLarge, kerr.MessageTooLarge},
	{record.ErrUnsupportedCompression, kerr.UnsupportedCompressionType},
	{record.ErrTimestampType, kerr.InvalidTimestamp},
	{record.ErrInvalid, kerr.InvalidRecord},
	{record.ErrShort, kerr.InvalidRecord},
	{record.ErrCorrupt, kerr.CorruptMessage},

	{catalog.ErrTopicExists, kerr.TopicAlreadyExists},
	{catalog.ErrUnknownTopic, kerr.UnknownTopicOrPartition},
	{catalog.ErrInvalidPartitions, kerr.InvalidPartitions},

	{context.Canceled, kerr.RequestTimedOut},
	{context.DeadlineExceeded, kerr.RequestTimedOut},
}

// kafkaError maps what the rooms below answer to the error that the client is
// told. It is the only place that does. known is false for a fault that no
// client can be blamed for or told about: UNKNOWN_SERVER_ERROR then.
func kafkaError(err error) (kafka *kerr.Error, known bool) {
	if errors.As(err, &kafka) {
		return kafka, true // also of a *broker.RefusalError
	}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return f.kafka, true
		}
	}
	if _, damaged := errors.AsType[*storage.CorruptError](err); damaged {
		return kerr.KafkaStorageError, true
	}
	return kerr.UnknownServerError, false
}

// errorCode is the code of kafkaError; a fault is logged, since the code says
// nothing about it. nil is 0.
func (s *Server) errorCode(err error) int16 {
	if err == nil {
		return 0
	}
	kafka, known := kafkaError(err)
	if !known {
		s.Log.Error("request failed", "err", err)
	}
	return kafka.Code
}

// sentence is what a response with room for a message says about err, nil if
// the code says it all.
func sentence(err error) *string {
	if r, ok := errors.AsType[*broker.RefusalError](err); ok {
		return &r.Message
	}
	if _, kafka := errors.AsType[*kerr.Error](err); kafka || err == nil {
		return nil
	}
	text := err.Error()
	return &text
}
