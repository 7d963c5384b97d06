package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// report is one line that a consumer process prints for the demo.
type report struct {
	Kind       string  `json:"kind"` // assigned, lost, or seen
	Generation int32   `json:"generation,omitempty"`
	Partitions []int32 `json:"partitions,omitempty"`
	Partition  int32   `json:"partition"`
	First      int64   `json:"first"`
	Last       int64   `json:"last"`
}

// consume is a process of its own, so that it can be killed like one: it reads
// its share of the topic, reports what it has seen, and commits after that.
func consume(broker, topic, group, name string) error {
	var mu sync.Mutex // callbacks and the poll loop both report
	out := json.NewEncoder(os.Stdout)
	say := func(r report) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(r)
	}
	var owned []int32
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(broker),
		kgo.ClientID(name),
		kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup(group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, got map[string][]int32) {
			owned = append(owned, got[topic]...)
			slices.Sort(owned)
			_, generation := cl.GroupMetadata()
			say(report{Kind: "assigned", Generation: generation, Partitions: slices.Clone(owned)})
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
			_ = cl.CommitUncommittedOffsets(ctx)
			owned = slices.DeleteFunc(owned, func(p int32) bool { return slices.Contains(gone[topic], p) })
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
			owned = slices.DeleteFunc(owned, func(p int32) bool { return slices.Contains(gone[topic], p) })
			say(report{Kind: "lost", Partitions: gone[topic]})
		}),
	)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for ctx.Err() == nil {
		fetches := cl.PollRecords(ctx, 5000)
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if n := len(p.Records); n > 0 {
				say(report{Kind: "seen", Partition: p.Partition, First: p.Records[0].Offset, Last: p.Records[n-1].Offset})
			}
		})
		if err := cl.CommitUncommittedOffsets(ctx); err != nil && ctx.Err() == nil {
			// The next owner reads these records again: at least once.
			fprintln(os.Stderr, name, "could not commit:", err)
		}
		cl.AllowRebalance()
	}
	return nil
}
