package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producing is one way to produce with franz-go.
type producing struct {
	name       string
	partitions int32
	codec      kgo.CompressionCodec
	acks       kgo.Acks
	value      func(int) []byte
}

func plain(partitions int32) producing {
	return producing{fmt.Sprintf("franz-go, 1 KiB, acks=all, %d partitions", partitions), partitions, kgo.NoCompression(), kgo.AllISRAcks(), random}
}

var (
	lz4Produce = producing{"franz-go, 1 KiB of log lines, lz4, acks=all, 6 partitions", 6, kgo.Lz4Compression(), kgo.AllISRAcks(), text}
	acks1      = producing{"franz-go, 1 KiB, acks=1, 6 partitions", 6, kgo.NoCompression(), kgo.LeaderAck(), random}
	lz4Acks1   = producing{"franz-go, 1 KiB of log lines, lz4, acks=1, 6 partitions", 6, kgo.Lz4Compression(), kgo.LeaderAck(), text}
)

const rawProduced = "raw, batches of 64 KiB, acks=all, 6 partitions"

// producers runs each way in turn on one broker, then the raw driver.
func producers(ways ...producing) func(*session) error {
	return func(s *session) error {
		for i, w := range ways {
			if err := s.produce(fmt.Sprintf("produce-%d", i), w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		return nil
	}
}

// produce has franz-go produce as fast as the broker takes it.
func (s *session) produce(topic string, w producing) error {
	if err := createTopic(s.ctx, s.addr(), topic, w.partitions); err != nil {
		return err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.addr()), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(w.codec), kgo.RequiredAcks(w.acks),
		kgo.MaxBufferedRecords(max(10_000, 100*int(w.partitions))), kgo.ProducerLinger(5 * time.Millisecond), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
	}
	if w.acks != kgo.AllISRAcks() {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	var acked atomic.Int64
	errs := make(chan error, 1)
	done := func(_ *kgo.Record, err error) {
		if err == nil {
			acked.Add(1)
			return
		}
		select {
		case errs <- err:
		default:
		}
	}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	value := w.value(recordBytes)
	// What earlier work has left to the system is written now: otherwise this
	// one is measured standing still behind it, on whichever broker.
	syscall.Sync()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			cl.Produce(s.ctx, &kgo.Record{Value: value}, done)
		}
	}()
	sleep(s.ctx, s.warmUp())
	m, before := s.meter(), acked.Load()
	// A broker that stands still for the whole time has a rate too, a low one.
	for tries := 0; tries < 6 && (tries == 0 || acked.Load() == before); tries++ {
		sleep(s.ctx, s.o.d)
	}
	r := m.each(row{Name: w.name}, acked.Load()-before, "rec/s")
	stop()
	<-ended
	if err := cl.Flush(s.ctx); err != nil {
		return err
	}
	if err := first(errs); err != nil {
		return err
	}
	s.add(r)
	return nil
}

// runProduceRaw has six connections send prepared batches, which costs the
// driver next to nothing.
func runProduceRaw(s *session) error {
	if err := createTopic(s.ctx, s.addr(), "raw", 6); err != nil {
		return err
	}
	body := batch(64, recordBytes)
	l := closedLoop{n: 6, pipeline: 3, check: checkProduce, request: func(i int) kmsg.Request {
		return produceRequest("raw", body, int32(i))
	}}
	r, err := l.run(s, rawProduced, "rec/s", 64)
	if err != nil {
		return err
	}
	s.add(r)
	return nil
}
