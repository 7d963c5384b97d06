package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// latencyAt sends single records at fixed rates, whatever the answers do.
func latencyAt(rates ...int) func(*session) error {
	return func(s *session) error {
		if err := createTopic(s.ctx, s.addr(), "latency", 8); err != nil {
			return err
		}
		if err := produceLoop("latency", 8).heat(s); err != nil {
			return err
		}
		for _, rate := range rates {
			warm := s.warmUp()
			if _, err := s.openLoop(rate, warm); err != nil {
				return err
			}
			r, err := s.openLoop(rate, s.o.d)
			if err != nil {
				return err
			}
			s.add(r)
		}
		return nil
	}
}

// produceLoop has 16 connections produce single records to the partitions of a
// topic.
func produceLoop(topic string, partitions int) closedLoop {
	body := batch(1, recordBytes)
	return closedLoop{n: 16, check: checkProduce, request: func(i int) kmsg.Request {
		return produceRequest(topic, body, int32(i%partitions))
	}}
}

func atRate(rate int) string {
	return fmt.Sprintf("raw, 1 KiB records one by one, acks=all, at %d/s, open loop", rate)
}

// openLoop spreads the rate over a few connections, each to a partition of its
// own. Each request is timed from when it was due.
func (s *session) openLoop(rate int, d time.Duration) (row, error) {
	conns := min(8, max(1, rate/100))
	var l latencies
	var wg sync.WaitGroup
	errs := make(chan error, 2*conns)
	begin := time.Now().Add(50 * time.Millisecond)
	gap := time.Duration(conns) * time.Second / time.Duration(rate)
	total := int(d/gap) + 1
	body := batch(1, recordBytes)
	m := s.meter()
	for i := range conns {
		c, err := dial(s.addr())
		if err != nil {
			return row{}, err
		}
		defer c.close()
		req := produceRequest("latency", body, int32(i))
		bytes := frame(req, 1)
		offset := gap * time.Duration(i) / time.Duration(conns)
		due := func(k int) time.Time { return begin.Add(offset + time.Duration(k)*gap) }
		wg.Go(func() {
			if err := c.send(bytes, total, due); err != nil {
				errs <- err
			}
		})
		wg.Go(func() {
			own, err := c.collect(req, total, due)
			if err != nil {
				errs <- err
				c.close()
			}
			l.add(own)
		})
	}
	wg.Wait()
	if err := first(errs); err != nil {
		return row{}, err
	}
	return l.fill(m.each(row{Name: atRate(rate)}, int64(total*conns), "/s")), nil
}

// send writes the same request total times, each when it is due.
func (c *conn) send(request []byte, total int, due func(int) time.Time) error {
	for k := range total {
		time.Sleep(time.Until(due(k)))
		if _, err := c.c.Write(request); err != nil {
			return err
		}
	}
	return nil
}

// collect reads the answers to total requests.
func (c *conn) collect(req kmsg.Request, total int, due func(int) time.Time) ([]time.Duration, error) {
	var buf []byte
	var err error
	own := make([]time.Duration, 0, total)
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = req.GetVersion()
	for k := range total {
		if buf, err = c.next(req, buf); err != nil {
			return own, err
		}
		own = append(own, time.Since(due(k)))
		if err := resp.ReadFrom(buf); err != nil {
			return own, err
		}
		if err := checkProduce(resp); err != nil {
			return own, err
		}
	}
	return own, nil
}
