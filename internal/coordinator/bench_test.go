package coordinator

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// BenchmarkCommit measures durable commits over a store on the memory medium:
// each client has one request open and one group of its own. The log grows, so
// the store is renewed from time to time, outside of the measurement.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		for _, shards := range []int32{1, 50} {
			b.Run(fmt.Sprintf("clients=%d/shards=%d", clients, shards), func(b *testing.B) {
				h := newBenchHouse(b, shards)
				b.ReportAllocs()
				b.ResetTimer()
				var work sync.WaitGroup
				for i := range clients {
					n := b.N / clients
					if i < b.N%clients {
						n++
					}
					work.Go(func() { h.commits(fmt.Sprint("group-", i), n) })
				}
				work.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
}

type benchHouse struct {
	store *storage.Store
	c     *Coordinator
}

func newBenchHouse(b *testing.B, shards int32) *benchHouse {
	b.Helper()
	store, err := storage.Open(context.Background(), storagetest.NewMemory(), storage.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := Start(Config{
		Partitions: shards, Group: group.DefaultConfig(), NextEpoch: store.NextEpoch,
		Open: func(p int32) (*storage.Log, error) {
			return store.Create(storage.Partition{Topic: storage.TopicID{9}, Index: p}, storage.LogConfig{Internal: true})
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	<-c.Loaded()
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		if err := store.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return &benchHouse{store, c}
}

// commits sends n commits, each when the one before is answered.
func (h *benchHouse) commits(id string, n int) {
	next := make(chan struct{}, 1)
	done := func(group.Response) { next <- struct{}{} }
	for i := range n {
		h.c.Submit(id, commit(int64(i)), done)
		<-next
	}
}

// BenchmarkHeartbeat measures what needs no log, in a group of 1,000 members.
func BenchmarkHeartbeat(b *testing.B) {
	h := newBenchHouse(b, 1)
	const members = 1000
	ids := make([]string, members)
	joined := make(chan group.Joined, members)
	for range ids {
		j := join("", time.Minute)
		j.Version = 3
		h.c.Submit("g", j, func(r group.Response) { joined <- r.(group.Joined) })
	}
	generation := int32(0)
	for i := range ids {
		j := <-joined
		ids[i], generation = j.MemberID, j.Generation
	}
	b.ReportAllocs()
	b.ResetTimer()
	bad := 0
	for i := range b.N {
		h.c.Submit("g", group.Heartbeat{MemberID: ids[i%members], Generation: generation}, func(r group.Response) {
			if r.(group.Beat).Code != 0 {
				bad++
			}
		})
	}
	if bad > 0 {
		b.Errorf("%d heartbeats were refused", bad)
	}
}

// BenchmarkStart measures an empty broker's 50 shards, from Start until all
// have loaded.
func BenchmarkStart(b *testing.B) {
	store, err := storage.Open(context.Background(), storagetest.NewMemory(), storage.Config{})
	if err != nil {
		b.Fatal(err)
	}
	logs := make([]*storage.Log, 50)
	for p := range logs {
		logs[p], err = store.Create(storage.Partition{Topic: storage.TopicID{9}, Index: int32(p)}, storage.LogConfig{Internal: true})
		if err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		c, err := Start(Config{
			Group: group.DefaultConfig(), NextEpoch: store.NextEpoch,
			Open: func(p int32) (*storage.Log, error) { return logs[p], nil },
		})
		if err != nil {
			b.Fatal(err)
		}
		<-c.Loaded()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N), "B/start")
}
