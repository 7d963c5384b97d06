package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitRequest commits an offset for each of the first partitions of a topic,
// as a consumer that is in no group generation.
func commitRequest(group, topic string, partitions int, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 7, group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	for p := range partitions {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = int32(p), offset
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// checkCommit is the first error in the answer to an OffsetCommit.
func checkCommit(resp kmsg.Response) error {
	for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// findCoordinator waits until the groups' coordinators serve, which makes a new
// broker create its offsets topic.
func (s *session) findCoordinator(groups ...string) error {
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	for _, g := range groups {
		err := retry(s.ctx, func() error {
			find := kmsg.NewPtrFindCoordinatorRequest()
			find.Version, find.CoordinatorKey = 3, g
			resp, err := c.do(find)
			if err != nil {
				return err
			}
			if err := kerr.ErrorForCode(resp.(*kmsg.FindCoordinatorResponse).ErrorCode); err != nil {
				return err
			}
			fetch := kmsg.NewPtrOffsetFetchRequest()
			fetch.Version, fetch.Group = 5, g
			if resp, err = c.do(fetch); err != nil {
				return err
			}
			err = kerr.ErrorForCode(resp.(*kmsg.OffsetFetchResponse).ErrorCode)
			if errors.Is(err, kerr.GroupIDNotFound) {
				return nil // what kfake says of a new group
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("coordinator of %s: %w", g, err)
		}
	}
	return nil
}

// commitsOn measures commits on so many connections, each with a group of its
// own and one request in the air.
func commitsOn(partitions int, connections ...int) func(*session) error {
	return func(s *session) error {
		if err := s.prepareCommits(partitions, connections[len(connections)-1]); err != nil {
			return err
		}
		if err := commitLoop(connections[len(connections)-1], partitions).heat(s); err != nil {
			return err
		}
		for _, n := range connections {
			r, err := s.commits(n, partitions, "")
			if err != nil {
				return err
			}
			s.add(r)
		}
		return nil
	}
}

func commitGroup(i int) string { return fmt.Sprintf("commit-%d", i) }

func (s *session) prepareCommits(partitions, groups int) error {
	if err := createTopic(s.ctx, s.addr(), "commit", int32(partitions)); err != nil {
		return err
	}
	for i := range groups {
		if err := s.findCoordinator(commitGroup(i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) commits(n, partitions int, suffix string) (row, error) {
	name := fmt.Sprintf("raw, %d connections", n)
	if partitions > 1 {
		name += fmt.Sprintf(", %d partitions a request", partitions)
	}
	return commitLoop(n, partitions).run(s, name+suffix, "commits/s", 1)
}

func commitLoop(n, partitions int) closedLoop {
	return closedLoop{n: n, check: checkCommit, request: func(i int) kmsg.Request {
		return commitRequest(commitGroup(i), "commit", partitions, 42)
	}}
}

// runCommitBusy has a producer that saturates the broker beside the commits.
func runCommitBusy(s *session) error {
	if err := s.prepareCommits(1, 16); err != nil {
		return err
	}
	if err := createTopic(s.ctx, s.addr(), "busy", 6); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := fill(ctx, s.addr(), "busy", 6, 1<<40)
		ended <- err
	}()
	r, err := s.commits(16, 1, " while a producer saturates the broker")
	stop()
	if e := <-ended; e != nil && !errors.Is(e, context.Canceled) {
		return e
	}
	r.CPUMillion = 0 // most of it is the producer's
	s.add(r)
	return err
}
