package schema

import (
	"encoding/binary"
	"fmt"
)

// typeTransaction is the record type of __transaction_state.
const typeTransaction = 0

// TransactionKey is the key of a record of __transaction_state.
type TransactionKey struct{ TransactionalID string }

// ParseTransactionKey decodes a key. unknown is set for a type that this
// package does not know, whose records readers skip. A key that is cut off is an
// ErrMalformed.
func ParseTransactionKey(b []byte) (k TransactionKey, unknown *int16, err error) {
	c := cursor{b: b}
	if kind := c.int16("record type"); c.why == "" && kind != typeTransaction {
		return k, &kind, nil
	}
	k.TransactionalID = c.string("transactional id")
	return k, nil, c.failed("transaction key")
}

// AppendTransactionKey appends a key.
func AppendTransactionKey(dst []byte, k TransactionKey) []byte {
	return appendString(binary.BigEndian.AppendUint16(dst, typeTransaction), k.TransactionalID)
}

// TransactionState is the state of a transactional id in its record.
type TransactionState int8

// The states that are recorded. 6 (dead) and 7 (about to fence) never are.
const (
	TransactionEmpty TransactionState = iota
	TransactionOngoing
	TransactionPrepareCommit
	TransactionPrepareAbort
	TransactionCompleteCommit
	TransactionCompleteAbort
)

var transactionStateNames = [...]string{
	TransactionEmpty: "Empty", TransactionOngoing: "Ongoing",
	TransactionPrepareCommit: "PrepareCommit", TransactionPrepareAbort: "PrepareAbort",
	TransactionCompleteCommit: "CompleteCommit", TransactionCompleteAbort: "CompleteAbort",
}

// String returns the state's name on the wire.
func (s TransactionState) String() string {
	if int(s) < len(transactionStateNames) && s >= 0 {
		return transactionStateNames[s]
	}
	return "unknown"
}

// TransactionValue is what is recorded of a transactional id.
type TransactionValue struct {
	ProducerID int64
	// PreviousProducerID is the one before the last change of the record, None
	// if not known (version 0).
	PreviousProducerID int64
	// NextProducerID is set while a transaction ends that exhausts the epochs of
	// ProducerID: it takes over when the markers are written. None otherwise.
	NextProducerID int64
	ProducerEpoch  int16
	TimeoutMillis  int32
	State          TransactionState
	// Partitions have part in the transaction, sorted by topic, in ascending
	// order. There are none in TransactionEmpty.
	Partitions []TransactionPartitions
	UpdatedAt  int64 // Unix time in milliseconds
	StartedAt  int64 // the same; None before the first transaction
	// ClientVersion is the level of transaction.version that the client used
	// for the change (KIP-890).
	ClientVersion int16
}

// TransactionPartitions are partitions of one topic.
type TransactionPartitions struct {
	Topic      string
	Partitions []int32
}

const (
	highestTransactionValue = 1
	// smallestTransactionTopic is what a topic takes at least in version 1:
	// two lengths and a tag section.
	smallestTransactionTopic = 3
)

// Tags of version 1.
const (
	tagPreviousProducerID = 0
	tagNextProducerID     = 1
	tagClientVersion      = 2
)

// ParseTransactionValue decodes a value of versions 0 and 1. Unknown tagged
// fields, NextProducerEpoch of KIP-939 among them, are skipped. Anything else
// is an ErrMalformed.
func ParseTransactionValue(b []byte) (TransactionValue, error) {
	c := cursor{b: b}
	version, err := c.version("transaction value", highestTransactionValue)
	if err != nil {
		return TransactionValue{}, err
	}
	c.flexible = version >= 1
	v := TransactionValue{PreviousProducerID: None, NextProducerID: None}
	v.ProducerID = c.int64("producer id")
	v.ProducerEpoch = c.int16("producer epoch")
	v.TimeoutMillis = c.int32("timeout")
	v.State = TransactionState(c.int8("state"))
	if n := c.nullableCount(smallestTransactionTopic, "topics"); n > 0 {
		v.Partitions = make([]TransactionPartitions, n)
	}
	for i := range v.Partitions {
		t := &v.Partitions[i]
		t.Topic = c.string("topic")
		if n := c.count(4, "partitions"); n > 0 {
			t.Partitions = make([]int32, n)
		}
		for j := range t.Partitions {
			t.Partitions[j] = c.int32("partition")
		}
		c.tags(nil)
	}
	v.UpdatedAt = c.int64("update time")
	v.StartedAt = c.int64("start time")
	c.tags(func(tag uint32, data []byte) {
		f := cursor{b: data}
		switch tag {
		case tagPreviousProducerID:
			v.PreviousProducerID = f.int64("previous producer id")
		case tagNextProducerID:
			v.NextProducerID = f.int64("next producer id")
		case tagClientVersion:
			v.ClientVersion = f.int16("client transaction version")
		}
		if f.why != "" {
			c.fail(f.why)
		}
	})
	if err := c.failed("transaction value"); err != nil {
		return TransactionValue{}, err
	}
	if v.State < TransactionEmpty || v.State > TransactionCompleteAbort {
		return TransactionValue{}, fmt.Errorf("transaction value: %w: state %d is unknown", ErrMalformed, v.State)
	}
	return v, nil
}

// AppendTransactionValue appends a value of version 0 or 1, as Kafka does at
// levels 0 and 1 or higher of transaction.version. Version 0 has no room for the
// other producer ids and for the client's level.
func AppendTransactionValue(dst []byte, v *TransactionValue, version int16) []byte {
	flexible := version >= 1
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.ProducerID))
	dst = binary.BigEndian.AppendUint16(dst, uint16(v.ProducerEpoch))
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.TimeoutMillis))
	dst = append(dst, byte(v.State))
	switch {
	case v.State != TransactionEmpty:
		dst = appendTransactionTopics(dst, v.Partitions, flexible)
	case flexible:
		dst = append(dst, 0) // null
	default:
		dst = append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.UpdatedAt))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.StartedAt))
	if !flexible {
		return dst
	}
	count := len(dst)
	dst = append(dst, 0)
	tag := func(n byte, size byte) { dst[count]++; dst = append(dst, n, size) }
	if v.PreviousProducerID != None {
		tag(tagPreviousProducerID, 8)
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.PreviousProducerID))
	}
	if v.NextProducerID != None {
		tag(tagNextProducerID, 8)
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.NextProducerID))
	}
	if v.ClientVersion != 0 {
		tag(tagClientVersion, 2)
		dst = binary.BigEndian.AppendUint16(dst, uint16(v.ClientVersion))
	}
	return dst
}

func appendTransactionTopics(dst []byte, topics []TransactionPartitions, flexible bool) []byte {
	length := func(n int) {
		if flexible {
			dst = binary.AppendUvarint(dst, uint64(n)+1)
		} else {
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		}
	}
	length(len(topics))
	for _, t := range topics {
		if flexible {
			length(len(t.Topic))
			dst = append(dst, t.Topic...)
		} else {
			dst = appendString(dst, t.Topic)
		}
		length(len(t.Partitions))
		for _, p := range t.Partitions {
			dst = binary.BigEndian.AppendUint32(dst, uint32(p))
		}
		if flexible {
			dst = append(dst, 0) // no tags
		}
	}
	return dst
}
