package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runConnections opens ten thousand connections that each ask one thing, then
// commits beside them.
func runConnections(s *session) error {
	n := s.sized(10_000, 1000)
	if err := s.prepareCommits(1, 16); err != nil {
		return err
	}
	before := memoryOf(s.b.pid()).resident
	m := s.meter()
	conns := make([]*conn, n)
	const dialers = 16
	errs := make(chan error, dialers)
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < n; i += dialers {
				c, err := dial(s.addr())
				if err == nil {
					conns[i] = c
					_, err = c.do(kmsg.NewPtrApiVersionsRequest())
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.close()
			}
		}
	}()
	if err := first(errs); err != nil {
		return err
	}
	r := m.once(row{Name: fmt.Sprintf("%d connections opened and greeted", n)})
	held := memoryOf(s.b.pid()).resident - before
	r.Note = fmt.Sprintf("%.1f KiB resident each", held*1024/float64(n))
	s.add(r)
	r, err := s.commits(16, 1, fmt.Sprintf(" of commits beside %d idle ones", n))
	if err != nil {
		return err
	}
	s.add(r)
	return nil
}

// runPartitions makes ten thousand partitions, writes to each, and kills the
// broker.
func runPartitions(s *session) error {
	topics, each := s.sized(100, 10), 100
	total := topics * each
	name := func(i int) string { return fmt.Sprintf("wide-%03d", i) }
	all := make([]int32, each)
	for p := range all {
		all[p] = int32(p)
	}
	m := s.meter()
	for i := range topics {
		if err := createTopic(s.ctx, s.addr(), name(i), int32(each)); err != nil {
			return err
		}
	}
	s.add(m.once(row{Name: fmt.Sprintf("%d partitions created in %d topics", total, topics)}))
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	body := batch(1, recordBytes)
	const rounds = 5
	m = s.meter()
	for range rounds {
		for i := range topics {
			resp, err := c.do(produceRequest(name(i), body, all...))
			if err != nil {
				return err
			}
			if err := checkProduce(resp); err != nil {
				return err
			}
		}
	}
	s.add(m.each(row{Name: fmt.Sprintf("raw, a 1 KiB record to each of %d partitions, 100 in a request, 1 connection", total)}, int64(rounds*total), "rec/s"))
	sleep(s.ctx, 5*time.Second)
	s.add(row{Name: fmt.Sprintf("resident memory with %d partitions, idle", total), Memory: memoryOf(s.b.pid()).resident})
	s.b.kill()
	began := time.Now()
	if err := s.b.launch(s.ctx); err != nil {
		return err
	}
	if err := s.served(name, topics, int32(each), rounds); err != nil {
		return err
	}
	s.add(row{Name: fmt.Sprintf("kill -9 with %d partitions: process start to the end offset of each", total), Time: ms(time.Since(began)), CPU: cpu(s.b.pid())})
	return nil
}

// served waits until all partitions have their ends.
func (s *session) served(name func(int) string, topics int, each int32, want int64) error {
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	for i := range topics {
		err := retry(s.ctx, func() error {
			ends, err := c.ends(name(i), each)
			for _, end := range ends {
				if err == nil && end != want {
					return fmt.Errorf("a partition of %s ends at %d instead of %d", name(i), end, want)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runIdleGroups fills a broker with groups of one member and ten offsets each
// and reports what it holds when they are idle.
func runIdleGroups(s *session) error {
	const conns, offsets = 64, 10
	n := s.sized(100_000, 5_000)
	if err := createTopic(s.ctx, s.addr(), "idle", offsets); err != nil {
		return err
	}
	for i := range conns {
		if err := s.findCoordinator(idleGroup(i)); err != nil {
			return err
		}
	}
	m := s.meter()
	errs := make(chan error, conns)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			if err := s.fillGroups(i, conns, n, offsets); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	if err := first(errs); err != nil {
		return err
	}
	s.add(m.each(row{Name: fmt.Sprintf("raw, %d groups of one member with %d offsets made, 64 connections", n, offsets)}, int64(n), "groups/s"))
	sleep(s.ctx, 15*time.Second) // the tail goes to segments, and memory back to the system
	s.add(row{Name: fmt.Sprintf("resident memory with %d groups, idle", n), Memory: memoryOf(s.b.pid()).resident})
	return nil
}

func idleGroup(i int) string { return fmt.Sprintf("idle-%06d", i) }

// fillGroups makes every step-th group over one connection.
func (s *session) fillGroups(from, step, total, offsets int) error {
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	for i := from; i < total; i += step {
		m := &member{c: c, group: idleGroup(i)}
		if err := retry(s.ctx, m.settle); err != nil {
			return err
		}
		req := commitRequest(m.group, "idle", offsets, int64(i))
		req.Generation, req.MemberID = m.generation, m.id
		resp, err := c.do(req)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
			return err
		}
	}
	return nil
}
