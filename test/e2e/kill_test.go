package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

// TestKillLoop kills the broker 20 times under load. What was acknowledged is
// there afterwards, in order and once, and no commit goes back.
func TestKillLoop(t *testing.T) {
	const kills, partitions = 20, 3
	b := rig.Start(t)
	ctx := withTimeout(t, 4*time.Minute)
	createTopic(ctx, t, b.Addr, "t", partitions)

	load, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	acked := make([][]int64, partitions) // by partition: offset of each acknowledged value, in order of production
	progress := make(chan struct{}, 1)
	for p := range int32(partitions) {
		cl := client(t, b.Addr, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(1000))
		wg.Go(func() {
			for i := 0; load.Err() == nil; i++ {
				r := &kgo.Record{Topic: "t", Partition: p, Value: fmt.Appendf(nil, "%d-%d", p, i)}
				if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
					t.Errorf("partition %d, value %d: %v", p, i, err)
					return
				}
				mu.Lock()
				acked[p] = append(acked[p], r.Offset)
				mu.Unlock()
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	committer := kadm.NewClient(client(t, b.Addr))
	committed := int64(-1)
	wg.Go(func() {
		for i := int64(0); load.Err() == nil; i++ {
			var o kadm.Offsets
			o.AddOffset("t", 0, i, -1)
			if err := committer.CommitAllOffsets(ctx, "g", o); err != nil {
				continue // the broker is down; the next one counts
			}
			mu.Lock()
			committed = i
			mu.Unlock()
		}
	})

	for range kills {
		for range 40 { // some acknowledgements between kills
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatal("no progress")
			}
		}
		b.Restart()
	}
	stop()
	wg.Wait()

	got := make([]map[int64]string, partitions)
	for p := range got {
		got[p] = map[int64]string{}
	}
	end, err := committer.ListEndOffsets(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, b.Addr, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var want int64
	end.Each(func(o kadm.ListedOffset) { want += o.Offset })
	for n := int64(0); n < want; {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) { got[r.Partition][r.Offset] = string(r.Value); n++ })
	}
	total := 0
	for p := range partitions {
		seen := map[string]int64{}
		for o := int64(0); o < int64(len(got[p])); o++ {
			v, ok := got[p][o]
			if !ok {
				t.Fatalf("partition %d has no offset %d", p, o)
			}
			if first, twice := seen[v]; twice {
				t.Errorf("partition %d: %s is at %d and at %d", p, v, first, o)
			}
			seen[v] = o
		}
		for i, o := range acked[p] {
			if got[p][o] != fmt.Sprintf("%d-%d", p, i) {
				t.Errorf("partition %d: value %d was acknowledged at %d, where %q is", p, i, o, got[p][o])
			}
		}
		total += len(acked[p])
	}
	offsets, err := committer.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := offsets.Lookup("t", 0); !ok || o.At < committed {
		t.Errorf("offset %d was committed, %d is there", committed, o.At)
	}
	t.Logf("%d kills, %d records and a commit of %d survived", kills, total, committed)
}
