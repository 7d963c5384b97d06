package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runIdleGroups fills a broker with groups of one member and ten offsets each
// and reports what it holds when they are idle.
func runIdleGroups(_ context.Context, o *options, t target) ([]result, error) {
	const conns, offsets = 64, 10
	if err := createTopic(t.addr, "idle", offsets); err != nil {
		return nil, err
	}
	began, before := time.Now(), cpu(t.pid)
	errs := make([]error, conns)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() { errs[i] = fillGroups(t.addr, i, conns, o.groups, offsets) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	time.Sleep(15 * time.Second) // idle: the tail has gone to segments, and memory back to the system
	anonymous, resident := memory(t.pid)
	return []result{{
		Name: fmt.Sprintf("%d idle groups, %d offsets each", o.groups, offsets),
		Detail: fmt.Sprintf("anonymous %.0f MiB, resident %.0f MiB; made in %.1f s, broker CPU %.1f s",
			anonymous, resident, took.Seconds(), cpu(t.pid)-before),
	}}, nil
}

// fillGroups makes every n-th group over one connection.
func fillGroups(addr string, first, n, total int, offsets int32) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	for i := first; i < total; i += n {
		m := &member{c: c, group: fmt.Sprintf("idle-%06d", i)}
		if err := m.join(); err != nil {
			return err
		}
		if err := m.sync(); err != nil {
			return err
		}
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation, req.MemberID = 7, m.group, m.generation, m.id
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "idle"
		for p := range offsets {
			rp := kmsg.NewOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset = p, int64(i)
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
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
