package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The workload that a restart has to load.
const (
	loadGroups     = 50_000
	loadPartitions = 20 // offsets of each group
)

// runLoad commits a million offsets in 50,000 groups, restarts the broker and
// measures how long it takes until all groups are listed, and what they cost.
// Then each group commits again, to load a log that is half superseded.
func runLoad(_ context.Context, o *options, _ target) ([]result, error) {
	b, err := startBroker(o)
	if err != nil {
		return nil, err
	}
	defer func() { os.RemoveAll(b.dir) }()
	if err := createTopic(b.addr, "load", loadPartitions); err != nil {
		b.stop()
		return nil, err
	}
	var all []result
	for round := range 2 {
		began := time.Now()
		if err := commitAll(b.addr, int64(round)); err != nil {
			b.stop()
			return nil, err
		}
		filled := time.Since(began)
		after, r, err := reload(o, b)
		if err != nil {
			return nil, err
		}
		b = after
		r.Name = fmt.Sprintf("load of %d offsets in %d groups", loadGroups*loadPartitions, loadGroups)
		if round > 0 {
			r.Name += ", each committed twice"
		}
		r.Detail += fmt.Sprintf("; written in %.1f s", filled.Seconds())
		all = append(all, r)
	}
	b.stop()
	return all, nil
}

// commitAll commits the offsets of all groups, on several connections.
func commitAll(addr string, round int64) error {
	const connections = 16
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() { errs[i] = commitSome(addr, i, connections, round) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func commitSome(addr string, first, step int, round int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	for i := first; i < loadGroups; i += step {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 7, fmt.Sprintf("consumers-of-load-%05d", i), -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "load"
		for p := range int32(loadPartitions) {
			rp := kmsg.NewOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch = p, 1000*round+int64(i), 1
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
		resp, err := c.do(req)
		if err != nil {
			return err
		}
		for _, p := range resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// reload stops the broker and starts it on the same folder.
func reload(o *options, b *running) (*running, result, error) {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
	os.Remove(b.dir + "/ready")
	began := time.Now()
	b, err := startIn(o, b.dir)
	if err != nil {
		return nil, result{}, err
	}
	ready := time.Since(began)
	c, err := dial(b.addr)
	if err != nil {
		b.stop()
		return nil, result{}, err
	}
	defer c.close()
	for {
		resp, err := c.do(&kmsg.ListGroupsRequest{Version: 4})
		if err != nil {
			b.stop()
			return nil, result{}, err
		}
		list := resp.(*kmsg.ListGroupsResponse)
		if list.ErrorCode == kerr.CoordinatorLoadInProgress.Code {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		took := time.Since(began)
		if list.ErrorCode != 0 || len(list.Groups) != loadGroups {
			b.stop()
			return nil, result{}, fmt.Errorf("list of groups: code %d, %d groups", list.ErrorCode, len(list.Groups))
		}
		pid := b.cmd.Process.Pid
		anonymous, resident := memory(pid)
		return b, result{
			Rate: loadGroups * loadPartitions / took.Seconds(), Unit: "/s",
			Detail: fmt.Sprintf("%.2f s from process start to the last group, %.2f s to ready, %.2f s CPU, anonymous %.0f MiB, resident %.0f MiB",
				took.Seconds(), ready.Seconds(), cpu(pid), anonymous, resident),
		}, nil
	}
}
