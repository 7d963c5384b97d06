package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// restartWith kills a broker that holds so many GiB and measures how long its
// next start takes until every partition has its end again and takes a record.
func restartWith(gib, quick int) func(*session) error {
	return func(s *session) error {
		const partitions = 6
		size := s.sized(gib, quick)
		if err := createTopic(s.ctx, s.addr(), "restart", partitions); err != nil {
			return err
		}
		n, err := fill(s.ctx, s.addr(), "restart", partitions, int64(size)<<20)
		if err != nil {
			return err
		}
		s.b.kill()
		began := time.Now()
		if err := s.b.launch(s.ctx); err != nil {
			return err
		}
		err = retry(s.ctx, func() error {
			c, err := dial(s.addr())
			if err != nil {
				return err
			}
			defer c.close()
			ends, err := c.ends("restart", partitions)
			if err != nil {
				return err
			}
			if slices.Min(ends) != n/partitions || slices.Max(ends) != n/partitions {
				return fmt.Errorf("the partitions end at %v instead of %d", ends, n/partitions)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.produceOnce("restart", 0, 1, 2, 3, 4, 5); err != nil {
			return err
		}
		s.add(row{Name: fmt.Sprintf("kill -9 with %d GiB in 6 partitions: process start to a record acknowledged in each", size), Time: ms(time.Since(began)), CPU: cpu(s.b.pid())})
		return nil
	}
}

// The offsets that a restart has to load.
const offsetsOfGroup = 20

// runRestartOffsets commits a million offsets, kills the broker and measures how
// long it takes until the groups of every partition of the offsets topic can be
// asked for theirs.
func runRestartOffsets(s *session) error {
	groups := s.sized(50_000, 5_000)
	if err := createTopic(s.ctx, s.addr(), "load", offsetsOfGroup); err != nil {
		return err
	}
	if err := s.findCoordinator(loadGroup(0)); err != nil {
		return err
	}
	if err := s.commitAll(groups); err != nil {
		return err
	}
	s.b.kill()
	began := time.Now()
	if err := s.b.launch(s.ctx); err != nil {
		return err
	}
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	const asked = 500 // groups, which leaves no partition of 50 out
	for i := range asked {
		if err := retry(s.ctx, func() error { return c.checkOffsets(i * (groups / asked)) }); err != nil {
			return err
		}
	}
	s.add(row{
		Name: offsetsLoaded(groups),
		Time: ms(time.Since(began)), CPU: cpu(s.b.pid()),
	})
	return nil
}

func offsetsLoaded(groups int) string {
	return fmt.Sprintf("kill -9 with %d offsets in %d groups: process start to the last group's offsets", groups*offsetsOfGroup, groups)
}

func loadGroup(i int) string { return fmt.Sprintf("consumers-of-load-%05d", i) }

// commitAll commits the offsets of all groups, on several connections.
func (s *session) commitAll(groups int) error {
	const connections = 16
	errs := make(chan error, connections)
	var wg sync.WaitGroup
	for first := range connections {
		wg.Go(func() {
			c, err := dial(s.addr())
			if err != nil {
				errs <- err
				return
			}
			defer c.close()
			for i := first; i < groups; i += connections {
				err := retry(s.ctx, func() error {
					resp, err := c.do(commitRequest(loadGroup(i), "load", offsetsOfGroup, int64(i)))
					if err != nil {
						return err
					}
					return checkCommit(resp)
				})
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	return first(errs)
}

// checkOffsets asks for the offsets of a group.
func (c *conn) checkOffsets(i int) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 5, loadGroup(i)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	got := resp.(*kmsg.OffsetFetchResponse)
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return err
	}
	n := 0
	for _, t := range got.Topics {
		for _, p := range t.Partitions {
			if p.Offset == int64(i) {
				n++
			}
		}
	}
	if n != offsetsOfGroup {
		return fmt.Errorf("group %s has %d of its offsets", req.Group, n)
	}
	return nil
}
