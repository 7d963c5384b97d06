package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runCommitClean measures commits on a quiet broker, and again while it
// compacts a topic of half a gigabyte.
func runCommitClean(ctx context.Context, o *options, _ target) ([]result, error) {
	own := *o
	own.set = append(own.set, "log.cleaner.backoff.ms=100", "log.cleanup.policy=compact", "log.segment.bytes=33554432",
		"log.cleaner.min.compaction.lag.ms=3600000")
	b, err := startBroker(&own)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	t := target{b.addr, b.cmd.Process.Pid}
	if err := createTopic(b.addr, "clean", 4); err != nil {
		return nil, err
	}
	if err := createTopic(b.addr, "commit", 1); err != nil {
		return nil, err
	}
	if err := fillKeyed(ctx, b.addr, "clean"); err != nil {
		return nil, err
	}
	time.Sleep(12 * time.Second) // until it is settled
	quiet, err := commits(o, t, 16)
	if err != nil {
		return nil, err
	}
	if err := allowCompaction(b.addr, "clean"); err != nil {
		return nil, err
	}
	busy, err := commits(o, t, 16)
	busy.Name += " while compacting"
	return []result{quiet, busy}, err
}

// fillKeyed writes 500 records of 1 KiB to each of a thousand keys.
func fillKeyed(ctx context.Context, addr, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer cl.Close()
	errs := make(chan error, 1)
	for i := range 500_000 {
		cl.Produce(ctx, &kgo.Record{Key: fmt.Appendf(nil, "key %d", i%1000), Value: make([]byte, recordBytes)}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case errs <- err:
				default:
				}
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// allowCompaction lets the broker compact a topic's young records.
func allowCompaction(addr, topic string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	zero := "0"
	resp, err := c.do(&kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.compaction.lag.ms", Value: &zero}},
	}}})
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
}
