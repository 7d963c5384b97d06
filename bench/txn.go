package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const addPartitionsToTxn = 24

// transactionsOf has so many producers commit transactions of ten records, and
// then as many send the same records without a transaction: the difference in
// time is what a transaction adds.
func transactionsOf(counts ...int) func(*session) error {
	return func(s *session) error {
		ok, err := s.advertises(addPartitionsToTxn)
		if err != nil {
			return err
		}
		for _, n := range counts {
			name := fmt.Sprintf("franz-go, %d producers, transactions of 10 records", n)
			if !ok {
				s.skip(name, "this broker does not serve transactions")
				continue
			}
			if err := createTopic(s.ctx, s.addr(), "txn", 6); err != nil {
				return err
			}
			if err := s.tens(name, n, "txn/s", oneTransaction, func(i int) []kgo.Opt {
				return []kgo.Opt{kgo.TransactionalID(fmt.Sprintf("bench-%d-%d", n, i))}
			}); err != nil {
				return err
			}
			if err := s.tens(withoutTransaction(n), n, "flushes/s", tenRecords, func(int) []kgo.Opt { return nil }); err != nil {
				return err
			}
		}
		return nil
	}
}

// withoutTransaction is the row to compare a row of transactions with.
func withoutTransaction(n int) string {
	return fmt.Sprintf("franz-go, %d producers, 10 records without a transaction", n)
}

// advertises says whether the broker serves a request at all.
func (s *session) advertises(key int16) (bool, error) {
	c, err := dial(s.addr())
	if err != nil {
		return false, err
	}
	defer c.close()
	resp, err := c.do(kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return false, err
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == key {
			return true, nil
		}
	}
	return false, nil
}

// tens measures producers that do one thing after the other: of ten records.
func (s *session) tens(name string, n int, unit string, one func(context.Context, *kgo.Client) error, of func(i int) []kgo.Opt) error {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var l latencies
	var wg sync.WaitGroup
	var done atomic.Int64
	var counts atomic.Bool
	errs := make(chan error, n)
	for i := range n {
		cl, err := kgo.NewClient(append(of(i), kgo.SeedBrokers(s.addr()), kgo.DefaultProduceTopic("txn"), kgo.ProducerLinger(0),
			kgo.ProducerBatchCompression(kgo.NoCompression()))...)
		if err != nil {
			return err
		}
		defer cl.Close()
		wg.Go(func() {
			var own []time.Duration
			for ctx.Err() == nil {
				began := time.Now()
				if err := one(s.ctx, cl); err != nil {
					errs <- err
					return
				}
				if counts.Load() {
					done.Add(1)
					own = append(own, time.Since(began))
				}
			}
			l.add(own)
		})
	}
	sleep(ctx, s.warmUp())
	counts.Store(true)
	m := s.meter()
	sleep(ctx, s.o.d)
	r := m.each(row{Name: name}, done.Load(), unit)
	stop()
	wg.Wait()
	if err := first(errs); err != nil {
		return err
	}
	s.add(l.fill(r))
	return nil
}

func oneTransaction(ctx context.Context, cl *kgo.Client) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	if err := tenRecords(ctx, cl); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, kgo.TryCommit)
}

// tenRecords sends ten records and waits until they are acknowledged.
func tenRecords(ctx context.Context, cl *kgo.Client) error {
	value := make([]byte, 100)
	for range 10 {
		cl.Produce(ctx, &kgo.Record{Value: value}, nil)
	}
	return cl.Flush(ctx)
}
