package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rota/internal/group"
)

// Clients commit, join and read while appends are held, released, fail, and
// shards move. Every request is answered once, and what was acknowledged is
// there in the end.
func TestNothingAcknowledgedIsLostAndAllIsAnswered(t *testing.T) {
	const shards, clients, requests = 3, 12, 400
	logs := make([]*fakeLog, shards)
	for p := range logs {
		logs[p] = &fakeLog{}
	}
	var epoch atomic.Int32
	c := start(Config{
		Partitions: shards, Group: testConfig(),
		NextEpoch: func() (int32, error) { return epoch.Add(1), nil },
	}, func(p int32) (partitionLog, error) { return logs[p], nil }, nil)
	<-c.Loaded()

	ctx, cancel := context.WithCancel(t.Context())
	var mischief sync.WaitGroup
	mischief.Go(func() { makeMischief(ctx, c, logs) })

	var work sync.WaitGroup
	var open atomic.Int64
	acked := slices.Repeat([]int64{-1}, clients)
	var acks atomic.Int64
	for i := range clients {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			id := fmt.Sprint("g", i)
			for n := range requests {
				var answered sync.WaitGroup
				var refused atomic.Bool
				for k := range 1 + rng.IntN(4) { // pipelined, as one connection may
					offset := int64(n*10 + k)
					answered.Add(1)
					open.Add(1)
					var once atomic.Int32
					c.Submit(id, someRequest(rng, offset), func(r group.Response) {
						if once.Add(1) > 1 {
							t.Error("a request was answered twice")
							return
						}
						if a, ok := r.(group.Committed); ok && a.Codes[0] == 0 {
							acked[i] = offset
							acks.Add(1)
						} else if ok {
							refused.Store(true)
						}
						open.Add(-1)
						answered.Done()
					})
				}
				answered.Wait()
				if refused.Load() { // as clients do
					<-time.NewTimer(200 * time.Microsecond).C
				}
			}
		})
	}
	work.Wait()
	cancel()
	mischief.Wait()
	if n := open.Load(); n != 0 {
		t.Errorf("%d requests have no answer", n)
	}
	for i, want := range acked {
		got := fetchServed(t, c, fmt.Sprint("g", i))
		if got < want {
			t.Errorf("client %d: offset %d, and %d was acknowledged", i, got, want)
		}
	}
	if acks.Load() < clients*requests/2 {
		t.Errorf("only %d commits were acknowledged", acks.Load())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func someRequest(rng *rand.Rand, offset int64) group.Request {
	switch rng.IntN(8) {
	case 0:
		return fetch()
	case 1:
		return group.Heartbeat{MemberID: "nobody"}
	case 2:
		return group.Describe{Version: 5}
	}
	return commit(offset)
}

// makeMischief disturbs until ctx ends, and leaves the logs as good as new.
func makeMischief(ctx context.Context, c *Coordinator, logs []*fakeLog) {
	rng := rand.New(rand.NewPCG(7, 7))
	for ctx.Err() == nil {
		p := rng.IntN(len(logs))
		l := logs[p]
		l.set(func(l *fakeLog) { l.hold = true })
		pause := time.NewTimer(time.Duration(rng.IntN(300)) * time.Microsecond)
		<-pause.C
		switch rng.IntN(10) {
		case 0:
			l.fail()
		case 1:
			l.landReversed()
		case 2:
			moved := make(chan error, 1)
			go func() { moved <- c.Move(int32(p)) }()
			l.set(func(l *fakeLog) { l.hold = false })
			l.land(1 << 30)
			<-moved
		default:
			l.land(1 + rng.IntN(3))
		}
		l.set(func(l *fakeLog) { l.hold = false })
		l.land(1 << 30)
	}
}

// fetchServed reads the offset once the shard serves.
func fetchServed(t *testing.T, c *Coordinator, id string) int64 {
	t.Helper()
	for {
		got := make(chan group.FetchedOffsets, 1)
		c.Submit(id, fetch(), func(r group.Response) { got <- r.(group.FetchedOffsets) })
		if f := <-got; f.Code == 0 {
			return f.Offsets[0].Offset
		} else if f.Code != codeCoordinatorLoadInProgress && f.Code != codeNotCoordinator {
			t.Fatalf("fetch: %d", f.Code)
		}
		time.Sleep(time.Millisecond)
	}
}
