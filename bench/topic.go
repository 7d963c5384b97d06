package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordBytes is the size of a record's value.
const recordBytes = 1024

// sleep waits, or less if ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// retry repeats what a broker that has just started refuses for a while.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || !kerr.IsRetriable(err) || ctx.Err() != nil {
			return err
		}
		sleep(ctx, time.Millisecond)
	}
}

// createTopic creates a topic and waits until every partition is served.
func createTopic(ctx context.Context, addr, topic string, partitions int32) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	err = retry(ctx, func() error { return c.createTopic(topic, partitions) })
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create %s: %w", topic, err)
	}
	return retry(ctx, func() error {
		_, err := c.ends(topic, partitions)
		return err
	})
}

func (c *conn) createTopic(topic string, partitions int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 60_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, t)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// ends is the end offset of each partition.
func (c *conn) ends(topic string, partitions int32) ([]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = 4
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, -1
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	ends := make([]int64, partitions)
	for _, p := range resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return nil, err
		}
		ends[p.Partition] = p.Offset
	}
	return ends, nil
}

// produceRequest puts the same batch into each partition.
func produceRequest(topic string, batch []byte, partitions ...int32) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 8, -1, 30_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p, batch
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// checkProduce is the first error in the answer to a Produce.
func checkProduce(resp kmsg.Response) error {
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// random is n bytes that do not compress.
func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.N(256))
	}
	return b
}

// text is n bytes that compress as log lines do.
func text(n int) []byte {
	var s strings.Builder
	for s.Len() < n {
		fmt.Fprintf(&s, `{"ts":%d,"level":"info","path":"/orders/%d","ms":%d,"msg":"request answered"}`+"\n",
			1764000000+rand.N(100_000), rand.N(1_000_000), rand.N(500))
	}
	return []byte(s.String()[:n])
}

// batch is an uncompressed batch of records with n random bytes each.
func batch(records, n int) []byte {
	var body []byte
	for i := range records {
		rec := kmsg.Record{OffsetDelta: int32(i), Value: random(n)}
		rec.Length = int32(len(rec.AppendTo(nil))) - 1 // as encoded with a zero length byte
		body = rec.AppendTo(body)
	}
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now, LastOffsetDelta: int32(records) - 1,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(records), Records: body,
	}
	b.Length = int32(len(b.AppendTo(nil))) - 12
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// fill writes about n records to the partitions of a topic, 64 in a batch, and
// returns how many there are.
func fill(ctx context.Context, addr, topic string, partitions int32, n int64) (int64, error) {
	const perBatch, window = 64, 8
	rounds := max(1, n/perBatch/int64(partitions))
	body := batch(perBatch, recordBytes)
	errs := make(chan error, partitions)
	for p := range partitions {
		go func() { errs <- fillOne(ctx, addr, produceRequest(topic, body, p), rounds, window) }()
	}
	var err error
	for range partitions {
		if e := <-errs; e != nil {
			err = e
		}
	}
	return rounds * perBatch * int64(partitions), err
}

// fillOne sends a request again and again, with a window of them in the air.
func fillOne(ctx context.Context, addr string, req *kmsg.ProduceRequest, rounds int64, window int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	bytes := frame(req, 1)
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = req.Version
	var buf []byte
	for sent, got := int64(0), int64(0); got < rounds; got++ {
		for ; sent < rounds && sent-got < int64(window); sent++ {
			if _, err := c.c.Write(bytes); err != nil {
				return err
			}
		}
		if buf, err = c.next(req, buf); err != nil {
			return err
		}
		if err := resp.ReadFrom(buf); err != nil {
			return err
		}
		if err := checkProduce(resp); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
