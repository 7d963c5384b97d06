package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	consumePartitions = 6
	franzConsumed     = "franz-go, catch-up, 6 partitions"
	rawConsumed       = "raw fetches of 1 MiB a partition, catch-up, 1 connection"
)

// runConsume fills six partitions and reads them from the start: with franz-go,
// with prepared requests, and from a disk whose pages nobody has in memory.
func runConsume(s *session) error {
	if err := createTopic(s.ctx, s.addr(), "consume", consumePartitions); err != nil {
		return err
	}
	n, err := fill(s.ctx, s.addr(), "consume", consumePartitions, int64(s.sized(1_000_000, 300_000)))
	if err != nil {
		return err
	}
	s.settle()
	franz := func() error { return consumeAll(s.ctx, s.addr(), "consume", n) }
	raw := func() error { return s.fetchAll("consume", consumePartitions, 1) }
	for end := time.Now().Add(s.warmUp()); time.Now().Before(end); {
		if err := raw(); err != nil {
			return err
		}
	}
	if err := franz(); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		cold bool
		read func() error
	}{
		{franzConsumed, false, franz},
		{rawConsumed, false, raw},
		{"the same, from disk", true, raw},
	} {
		if err := s.reading(c.name, n, c.cold, c.read); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// reading measures as many whole reads as fit, one if the disk is to be read.
func (s *session) reading(name string, n int64, cold bool, read func() error) error {
	if cold {
		s.forget()
	}
	m, passes := s.meter(), int64(0)
	for end := time.Now().Add(s.o.d); passes == 0 || !cold && time.Now().Before(end); passes++ {
		if err := read(); err != nil {
			return err
		}
	}
	s.add(m.each(row{Name: name}, passes*n, "rec/s"))
	return nil
}

// settle waits until the broker has nothing left to do.
func (s *session) settle() {
	for range 40 {
		before := cpu(s.b.pid())
		sleep(s.ctx, 500*time.Millisecond)
		if cpu(s.b.pid())-before < 0.03 || s.ctx.Err() != nil {
			return
		}
	}
}

// forget makes the system write the broker's files and drop them from memory.
func (s *session) forget() {
	const dontNeed = 4
	_ = filepath.WalkDir(s.b.data(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		_ = f.Sync()
		_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
		return nil
	})
}

// consumeAll reads n records with a new franz-go client.
func consumeAll(ctx context.Context, addr, topic string, n int64) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	for got := int64(0); got < n; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d of %d records: %w", got, n, err)
		}
		got += int64(fetches.NumRecords())
	}
	return nil
}

// fetchAll has n connections read the whole topic with raw requests.
func (s *session) fetchAll(topic string, partitions int32, n int) error {
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	ends, err := c.ends(topic, partitions)
	c.close()
	if err != nil {
		return err
	}
	errs := make(chan error, n)
	var wg sync.WaitGroup
	var records atomic.Int64
	for range n {
		wg.Go(func() {
			errs <- fetchUntil(s.addr(), topic, ends, &records)
		})
	}
	wg.Wait()
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func fetchUntil(addr, topic string, ends []int64, records *atomic.Int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	at := make([]int64, len(ends))
	var buf []byte
	for {
		req := fetchRequest(topic, at, ends)
		if req == nil {
			return nil
		}
		if _, err := c.c.Write(frame(req, 1)); err != nil {
			return err
		}
		if buf, err = c.next(req, buf); err != nil {
			return err
		}
		n, err := advance(req, buf, at)
		if err != nil {
			return err
		}
		records.Add(n)
	}
}

// fetchRequest asks for what lies before the ends, with the bounds that Java's
// consumer has by default. It is nil if nothing does.
func fetchRequest(topic string, at, ends []int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, -1, 500, 1, 50<<20
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for p := range at {
		if at[p] < ends[p] {
			rp := kmsg.NewFetchRequestTopicPartition()
			rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = int32(p), at[p], 1<<20, -1
			t.Partitions = append(t.Partitions, rp)
		}
	}
	if len(t.Partitions) == 0 {
		return nil
	}
	req.Topics = append(req.Topics, t)
	return req
}

// advance moves the offsets past the whole batches of an answer and returns how
// many records they have.
func advance(req *kmsg.FetchRequest, body []byte, at []int64) (int64, error) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(body); err != nil {
		return 0, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, err
	}
	var n int64
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return n, err
			}
			for b := p.RecordBatches; len(b) >= 61; {
				length := 12 + int(binary.BigEndian.Uint32(b[8:]))
				if length > len(b) {
					break
				}
				next := int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:])) + 1
				n += next - at[p.Partition]
				at[p.Partition] = next
				b = b[length:]
			}
		}
	}
	return n, nil
}
