package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const recordBytes = 1024

func createTopic(addr, topic string, partitions int32) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 5
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, t)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// runProduce fills 8 partitions with franz-go as fast as they take it, then reads
// everything back with a new client.
func runProduce(ctx context.Context, o *options, t target) ([]result, error) {
	if err := createTopic(t.addr, "produce", 8); err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(t.addr), kgo.DefaultProduceTopic("produce"), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(100_000), kgo.ProducerLinger(5*time.Millisecond), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var acked, failed atomic.Int64
	value := make([]byte, recordBytes)
	for i := range value {
		value[i] = byte(rand.N(256))
	}
	send := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			for range 500 {
				cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
					if err != nil {
						failed.Add(1)
						return
					}
					acked.Add(1)
				})
			}
		}
		_ = cl.Flush(ctx)
	}
	send(o.d / 5)
	warm, before, began := acked.Load(), cpu(t.pid), time.Now()
	send(o.d)
	n, took, used := acked.Load()-warm, time.Since(began), cpu(t.pid)-before
	if failed.Load() > 0 {
		return nil, fmt.Errorf("%d records were refused", failed.Load())
	}
	produced := result{Name: "produce 1 KiB, 8 partitions", Rate: float64(n) / took.Seconds(), Unit: "rec/s", CPU: used / float64(n) * 1e6}
	consumed, err := consumeAll(ctx, t, "produce", acked.Load())
	return []result{produced, consumed}, err
}

func consumeAll(ctx context.Context, t target, topic string, want int64) (result, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(t.addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return result{}, err
	}
	defer cl.Close()
	before, began := cpu(t.pid), time.Now()
	var n int64
	for n < want {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return result{}, fmt.Errorf("after %d of %d records: %w", n, want, err)
		}
		n += int64(fetches.NumRecords())
	}
	took := time.Since(began)
	return result{Name: "consume from the start", Rate: float64(n) / took.Seconds(), Unit: "rec/s", CPU: (cpu(t.pid) - before) / float64(n) * 1e6}, nil
}

// runLatency sends single records at fixed rates, whatever the answers do.
func runLatency(ctx context.Context, o *options, t target) ([]result, error) {
	if err := createTopic(t.addr, "latency", 8); err != nil {
		return nil, err
	}
	var all []result
	for _, rate := range []int{200, 1000, 10_000} {
		r, err := openLoop(ctx, t, rate, o.d)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// openLoop spreads the rate over a few connections. Each request is timed from
// when it was due.
func openLoop(_ context.Context, t target, rate int, d time.Duration) (result, error) {
	conns := min(8, max(1, rate/100))
	var l latencies
	var wg sync.WaitGroup
	errs := make(chan error, 2*conns)
	begin := time.Now().Add(50 * time.Millisecond)
	gap := time.Duration(conns) * time.Second / time.Duration(rate)
	total := int(d/gap) + 1
	before := cpu(t.pid)
	for i := range conns {
		c, err := dial(t.addr)
		if err != nil {
			return result{}, err
		}
		defer c.close()
		req := produceRequest("latency", int32(i), batch(recordBytes))
		bytes := frame(req, 1)
		offset := gap * time.Duration(i) / time.Duration(conns)
		due := func(k int) time.Time { return begin.Add(offset + time.Duration(k)*gap) }
		wg.Go(func() {
			for k := range total {
				time.Sleep(time.Until(due(k)))
				if _, err := c.c.Write(bytes); err != nil {
					errs <- err
					return
				}
			}
		})
		wg.Go(func() {
			var buf []byte
			own := make([]time.Duration, 0, total)
			for k := range total {
				var err error
				if buf, err = c.next(req, buf); err != nil {
					errs <- err
					return
				}
				if k > total/10 { // warm
					own = append(own, time.Since(due(k)))
				}
				resp := kmsg.NewPtrProduceResponse()
				resp.Version = req.Version
				if err := resp.ReadFrom(buf); err != nil {
					errs <- err
					return
				}
				if err := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
					errs <- err
					return
				}
			}
			l.add(own)
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return result{}, err
	default:
	}
	r := result{Name: fmt.Sprintf("ack latency at %d/s, open loop", rate), Rate: float64(rate), Unit: "/s", CPU: (cpu(t.pid) - before) / float64(total*conns) * 1e6}
	l.fill(&r)
	return r, nil
}

func produceRequest(topic string, partition int32, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 8, -1, 30_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, batch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// batch is a batch of one record with a value of n random bytes.
func batch(n int) []byte {
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(rand.N(256))
	}
	rec := kmsg.Record{Value: value}
	rec.Length = int32(len(rec.AppendTo(nil))) - 1 // as encoded with a zero length byte
	body := rec.AppendTo(nil)
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: body,
	}
	b.Length = int32(len(b.AppendTo(nil))) - 12
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
