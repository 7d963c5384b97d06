package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runCommit measures durable commits of stand-alone consumers, each connection
// with a group of its own.
func runCommit(_ context.Context, o *options, t target) ([]result, error) {
	if err := createTopic(t.addr, "commit", 1); err != nil {
		return nil, err
	}
	var all []result
	for _, n := range []int{1, 16, 64} {
		r, err := commits(o, t, n)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

func commits(o *options, t target, n int) (result, error) {
	r, err := closedLoop(t.addr, n, o.d, t.pid, func(i int) kmsg.Request {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 7, fmt.Sprintf("commit-%d", i), -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "commit"
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Offset = 42
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		return req
	}, func(resp kmsg.Response) error {
		return kerr.ErrorForCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	})
	r.Name = fmt.Sprintf("durable commits, %d connections", n)
	return r, err
}

// runCommitBusy has a closed-loop producer beside the commits.
func runCommitBusy(ctx context.Context, o *options, t target) ([]result, error) {
	if err := createTopic(t.addr, "commit", 1); err != nil {
		return nil, err
	}
	busy, stop := context.WithCancel(ctx)
	produced := make(chan []result, 1)
	errs := make(chan error, 1)
	go func() {
		long := *o
		long.d = 3 * o.d
		r, err := runProduce(busy, &long, t)
		errs <- err
		produced <- r
	}()
	time.Sleep(o.d / 2)
	r, err := commits(o, t, 16)
	r.Name += " while producing"
	stop()
	<-errs
	<-produced
	return []result{r}, err
}

// runHeartbeat has 64 members, each in a group of its own, that only beat.
func runHeartbeat(_ context.Context, o *options, t target) ([]result, error) {
	const n = 64
	members := make([]*member, n)
	round := time.Now().UnixNano() // members of an earlier round are still in its groups
	for i := range members {
		m, err := newMember(t.addr, fmt.Sprintf("beat-%d-%d", round, i))
		if err != nil {
			return nil, err
		}
		defer m.c.close()
		if err := m.join(); err != nil {
			return nil, err
		}
		if err := m.sync(); err != nil {
			return nil, err
		}
		members[i] = m
	}
	r, err := closedLoop(t.addr, n, o.d, t.pid, func(i int) kmsg.Request { return members[i].beat() },
		func(resp kmsg.Response) error {
			return kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode)
		})
	r.Name = fmt.Sprintf("heartbeats, %d connections", n)
	return []result{r}, err
}

// member is a classic group member that speaks raw requests.
type member struct {
	c          *conn
	group      string
	id         string
	generation int32
	leader     bool
	all        []string
}

func newMember(addr, group string) (*member, error) {
	c, err := dial(addr)
	return &member{c: c, group: group}, err
}

func (m *member) join() error {
	for {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.ProtocolType = 5, m.group, m.id, "bench"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 60_000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "any", make([]byte, 32)
		req.Protocols = append(req.Protocols, p)
		r, err := m.c.do(req)
		if err != nil {
			return err
		}
		resp := r.(*kmsg.JoinGroupResponse)
		m.id = resp.MemberID
		if resp.ErrorCode == kerr.MemberIDRequired.Code {
			continue
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		m.generation, m.leader = resp.Generation, resp.LeaderID == m.id
		m.all = m.all[:0]
		for _, o := range resp.Members {
			m.all = append(m.all, o.MemberID)
		}
		return nil
	}
}

func (m *member) sync() error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, m.group, m.id, m.generation
	if m.leader {
		for _, id := range m.all {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = id, make([]byte, 32)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	r, err := m.c.do(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.SyncGroupResponse).ErrorCode)
}

func (m *member) beat() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, m.group, m.id, m.generation
	return req
}

// live joins until it is in a stable generation, then beats every interval and
// follows rebalances until ctx ends.
func (m *member) live(ctx context.Context, interval time.Duration, stable func(generation int32)) error {
	for ctx.Err() == nil {
		if err := m.join(); err != nil {
			return err
		}
		if err := m.sync(); err != nil {
			if errors.Is(err, kerr.RebalanceInProgress) {
				continue
			}
			return err
		}
		stable(m.generation)
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(interval):
			}
			r, err := m.c.do(m.beat())
			if err != nil {
				return err
			}
			if code := r.(*kmsg.HeartbeatResponse).ErrorCode; code == kerr.RebalanceInProgress.Code {
				break
			} else if err := kerr.ErrorForCode(code); err != nil {
				return err
			}
		}
	}
	return nil
}

// runGroup forms a group of many members at once and adds one.
func runGroup(ctx context.Context, o *options, t target) ([]result, error) {
	const interval = 500 * time.Millisecond
	n := o.members
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	at := map[int32]int{} // generation -> members stable in it
	reached := make(chan int32, 16)
	var want atomic.Int64
	want.Store(int64(n))
	stable := func(g int32) {
		mu.Lock()
		defer mu.Unlock()
		at[g]++
		if at[g] == int(want.Load()) {
			reached <- g
		}
	}
	members := make([]*member, n+1)
	for i := range members {
		m, err := newMember(t.addr, "formation")
		if err != nil {
			return nil, err
		}
		defer m.c.close()
		members[i] = m
	}
	errs := make(chan error, n+1)
	var wg sync.WaitGroup
	run := func(m *member) {
		wg.Go(func() {
			if err := m.live(ctx, interval, stable); err != nil && ctx.Err() == nil {
				errs <- err
			}
		})
	}
	await := func() (time.Duration, error) {
		began := time.Now()
		select {
		case <-reached:
			return time.Since(began), nil
		case err := <-errs:
			return 0, err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	before := cpu(t.pid)
	for _, m := range members[:n] {
		run(m)
	}
	formed, err := await()
	if err != nil {
		return nil, err
	}
	mid := cpu(t.pid)
	want.Store(int64(n + 1))
	run(members[n])
	added, err := await()
	used := cpu(t.pid) - mid
	stop()
	for _, m := range members {
		m.c.close()
	}
	wg.Wait()
	mu.Lock()
	generations := make([]int32, 0, len(at))
	for g := range at {
		generations = append(generations, g)
	}
	mu.Unlock()
	slices.Sort(generations)
	return []result{
		{Name: fmt.Sprintf("%d members formed", n), Detail: fmt.Sprintf("%d ms, broker CPU %.2f s", formed.Milliseconds(), mid-before)},
		{Name: "one more absorbed", Detail: fmt.Sprintf("%d ms with heartbeats every %d ms, broker CPU %.2f s; generations %v", added.Milliseconds(), interval.Milliseconds(), used, generations)},
	}, err
}
