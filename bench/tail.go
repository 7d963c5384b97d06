package main

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// runTail sends records at a fixed rate and has consumers wait for them: the
// time from when a record was due until a consumer has it.
func runTail(s *session) error {
	if err := createTopic(s.ctx, s.addr(), "tail", 1); err != nil {
		return err
	}
	if err := produceLoop("tail", 1).heat(s); err != nil {
		return err
	}
	for _, c := range []struct{ rate, perBatch, consumers int }{
		{1000, 1, 1},
		{200, 50, 10},
	} {
		if _, err := s.follow(c.rate, c.perBatch, c.consumers, s.warmUp()); err != nil {
			return err
		}
		r, err := s.follow(c.rate, c.perBatch, c.consumers, s.o.d)
		if err != nil {
			return err
		}
		s.add(r)
	}
	return nil
}

// follow measures one rate of requests with batches of perBatch records.
func (s *session) follow(rate, perBatch, consumers int, d time.Duration) (row, error) {
	c, err := dial(s.addr())
	if err != nil {
		return row{}, err
	}
	defer c.close()
	ends, err := c.ends("tail", 1)
	if err != nil {
		return row{}, err
	}
	start := ends[0]
	gap := time.Second / time.Duration(rate)
	total := int(d / gap)
	begin := time.Now().Add(100 * time.Millisecond)
	due := func(k int) time.Time { return begin.Add(time.Duration(k) * gap) }
	req := produceRequest("tail", batch(perBatch, recordBytes), 0)
	bytes := frame(req, 1)
	var l latencies
	var wg sync.WaitGroup
	errs := make(chan error, consumers+2)
	m := s.meter()
	for range consumers {
		wg.Go(func() {
			own, err := receive(s.addr(), start, total, perBatch, due)
			l.add(own)
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Go(func() {
		if err := c.send(bytes, total, due); err != nil {
			errs <- err
		}
	})
	wg.Go(func() {
		if _, err := c.collect(req, total, due); err != nil {
			errs <- err
		}
	})
	wg.Wait()
	if err := first(errs); err != nil {
		return row{}, err
	}
	name := fmt.Sprintf("raw, %d/s in batches of %d, acks=all, to %d waiting consumers", rate*perBatch, perBatch, consumers)
	if consumers == 1 {
		name = fmt.Sprintf("raw, %d/s one by one, acks=all, to a waiting consumer", rate)
	}
	return l.fill(m.each(row{Name: name}, int64(total*perBatch*consumers), "rec/s")), nil
}

// receive follows the topic from an offset on until it has total batches.
func receive(addr string, start int64, total, perBatch int, due func(int) time.Time) ([]time.Duration, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	own := make([]time.Duration, 0, total)
	at, ends := []int64{start}, []int64{math.MaxInt64}
	var buf []byte
	for len(own) < total {
		req := fetchRequest("tail", at, ends)
		if _, err := c.c.Write(frame(req, 1)); err != nil {
			return own, err
		}
		if buf, err = c.next(req, buf); err != nil {
			return own, err
		}
		if _, err := advance(req, buf, at); err != nil {
			return own, err
		}
		now := time.Now()
		for have := int(at[0]-start) / perBatch; len(own) < have; {
			own = append(own, now.Sub(due(len(own))))
		}
	}
	return own, nil
}
