package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// feed produces the records and asks the broker how far the group is.
type feed struct {
	cl       *kgo.Client
	admin    *kadm.Client
	produced int
	took     time.Duration
	ends     map[int32]int64 // offset after the last acknowledged record
}

func newFeed(addr string) (*feed, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("demo"), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(2*time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	return &feed{cl: cl, admin: kadm.NewClient(cl), ends: map[int32]int64{}}, nil
}

func (f *feed) close() { f.cl.Close() }

func (f *feed) createTopic(ctx context.Context) error {
	r, err := f.admin.CreateTopic(ctx, partitions, 1, nil, topic)
	return errors.Join(err, r.Err)
}

// produce sends n records with acks=all and waits for every acknowledgement.
func (f *feed) produce(ctx context.Context, s *story, n int) error {
	began := time.Now()
	value := make([]byte, recordSize)
	done := make(chan *kgo.Record, n)
	var failed error
	for i := range n {
		f.cl.Produce(ctx, &kgo.Record{Key: fmt.Appendf(nil, "%d", f.produced+i), Value: value}, func(r *kgo.Record, err error) {
			if err != nil {
				failed = err // callbacks come one at a time
			}
			done <- r
		})
	}
	for range n {
		r := <-done
		f.ends[r.Partition] = max(f.ends[r.Partition], r.Offset+1)
	}
	if failed != nil {
		return fmt.Errorf("produce: %w", failed)
	}
	took := time.Since(began)
	f.produced += n
	f.took += took
	s.say("%d records produced and acknowledged durable: %.0f records/s", n, float64(n)/took.Seconds())
	return nil
}

// waitForLagZero asks the broker, not the consumers.
func (f *feed) waitForLagZero(ctx context.Context, s *story) error {
	for {
		lags, err := f.admin.Lag(ctx, groupID)
		if err == nil {
			err = lags.Error()
		}
		if err != nil {
			return fmt.Errorf("ask for the lag: %w", err)
		}
		lag := lags[groupID].Lag.Total()
		if lag == 0 {
			s.say("the group is %s; its lag is 0 on all %d partitions", lags[groupID].State, partitions)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lag is still %d: %w", lag, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
