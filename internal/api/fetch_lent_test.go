package api_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/record"
)

// Records that are read only when they leave arrive as others do, in every
// version, beside partitions whose records are few, in memory, or none.
func TestFetchOfLentRecordsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 4)
		want := map[int32][]byte{}
		produce := func(partition int32, n, size int) {
			for range n {
				batch := batchOf(strings.Repeat("v", size), "x")
				base := c.produced(9, topic, partition, batch).BaseOffset
				record.SetBaseOffset(batch, base)
				record.SetLeaderEpoch(batch, leaderEpoch(r, topic.ID, partition))
				want[partition] = append(want[partition], batch...)
			}
		}
		produce(0, 12, 40_000)
		produce(1, 1, 10)
		produce(2, 3, 90_000)
		r.check(r.store.Settle(context.Background()))
		produce(3, 3, 50_000) // stays in memory
		eachVersion(r, kmsg.Fetch, func(v int16) {
			for _, isolation := range []int8{0, 1} {
				before := r.flaky.lends.Load()
				req := fetchOf(from{topic: topic}, from{topic: topic, partition: 1}, from{topic: topic, partition: 2}, from{topic: topic, partition: 3})
				req.IsolationLevel = isolation
				resp := ask[*kmsg.FetchResponse](c, v, req)
				for _, p := range resp.Topics[0].Partitions {
					if p.ErrorCode != 0 || !bytes.Equal(p.RecordBatches, want[p.Partition]) {
						t.Errorf("v%d: partition %d: error %d, %d bytes, want %d", v, p.Partition, p.ErrorCode, len(p.RecordBatches), len(want[p.Partition]))
					}
				}
				if n := r.flaky.lends.Load() - before; n != 2 {
					t.Errorf("v%d: %d partitions are lent", v, n)
				}
			}
		})
	})
}

// The limits of a request hold for what is lent: whole batches, the first
// partitions first.
func TestLimitsOfLentRecords(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 3)
		size := 0
		for partition := range int32(3) {
			for range 10 {
				batch := batchOf(strings.Repeat("v", 30_000))
				size = len(batch)
				c.produced(9, topic, partition, batch)
			}
		}
		r.check(r.store.Settle(context.Background()))
		req := fetchOf(from{topic: topic, max: int32(4*size + 5)}, from{topic: topic, partition: 1, offset: 3}, from{topic: topic, partition: 2})
		req.MaxBytes = int32(12 * size)
		resp := ask[*kmsg.FetchResponse](c, 11, req)
		for i, want := range []int{4, 7, 1} {
			if got := len(resp.Topics[0].Partitions[i].RecordBatches); got != want*size {
				t.Errorf("partition %d: %d bytes, want %d batches of %d", i, got, want, size)
			}
		}
	})
}
