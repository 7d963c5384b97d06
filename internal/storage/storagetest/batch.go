package storagetest

import (
	"fmt"
	"slices"

	"rota/internal/record"
)

// Batch describes a record batch of a test. The zero value of a field is what
// most tests want.
type Batch struct {
	Values      []string
	Timestamp   int64 // of the first record, the others follow each millisecond; 0: 1000
	ProducerID  int64 // 0: not idempotent
	Epoch       int16
	Sequence    int32
	Compression record.Compression
	Keys        bool // each record has its value as key too
	// Transactional makes it part of the producer's transaction.
	Transactional bool
}

// Bytes is the batch as a client would send it.
func (b Batch) Bytes() []byte {
	var builder record.Builder
	builder.Reset(nil)
	if b.ProducerID > 0 {
		builder.SetProducer(b.ProducerID, b.Epoch, b.Sequence)
	}
	if b.Transactional {
		builder.SetTransactional()
	}
	ts := b.Timestamp
	if ts == 0 {
		ts = 1000
	}
	for i, v := range b.Values {
		var key []byte
		if b.Keys {
			key = []byte(v)
		}
		builder.Append(ts+int64(i), key, []byte(v))
	}
	out, err := builder.FinishCompressed(b.Compression, 0, new(record.Codec))
	if err != nil {
		panic(err)
	}
	return out
}

// Values is a Batch with these values.
func Values(values ...string) []byte { return Batch{Values: values}.Bytes() }

// Record is a record that a test has read.
type Record struct {
	Offset  int64
	Epoch   int32 // leader epoch
	Value   string
	Control bool // it is a marker
}

// Records decodes the batches that a read returned, but for control batches.
func Records(data []byte) ([]Record, error) {
	all, err := recordsAndMarkers(data)
	return slices.DeleteFunc(all, func(r Record) bool { return r.Control }), err
}

func recordsAndMarkers(data []byte) ([]Record, error) {
	var all []Record
	for batch, err := range record.Batches(data) {
		if err != nil {
			return all, err
		}
		h, err := record.ParseHeader(batch)
		if err != nil {
			return all, err
		}
		if !record.CheckCRC(batch) {
			return all, fmt.Errorf("batch at offset %d has a wrong checksum", h.BaseOffset)
		}
		for r, err := range new(record.Codec).Records(batch) {
			if err != nil {
				return all, err
			}
			all = append(all, Record{r.Offset, h.LeaderEpoch, string(r.Value), h.Attributes.Control()})
		}
	}
	return all, nil
}
