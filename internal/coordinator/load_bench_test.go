package coordinator

import (
	"fmt"
	"testing"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
)

// BenchmarkReplay loads a shard with 1,000 groups of 20 offsets each, written
// by one commit each.
func BenchmarkReplay(b *testing.B) {
	const groups, partitions = 1000, 20
	var log [][]byte
	for i := range groups {
		var builder record.Builder
		builder.Reset(nil)
		for p := range int32(partitions) {
			key := schema.AppendOffsetKey(nil, schema.OffsetKey{Group: fmt.Sprintf("consumers-of-load-%05d", i), Topic: "load", Partition: p})
			value := schema.AppendOffsetValue(nil, schema.OffsetValue{Offset: int64(i), LeaderEpoch: 1, CommitTimestamp: 1, ExpireTimestamp: schema.None})
			builder.Append(1, key, value)
		}
		batch := builder.Finish()
		record.SetBaseOffset(batch, int64(i*partitions))
		log = append(log, batch)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := NewGroupShard(GroupShardConfig{Group: testConfig(), Epoch: 1})
		var codec record.Codec
		for _, batch := range log {
			if err := s.Replay(batch, &codec); err != nil {
				b.Fatal(err)
			}
		}
		s.Begin(group.Now{Wall: 1}, false)
		s.Activate(groups * partitions)
		s.Finish()
		s.Take()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/groups/partitions, "ns/offset")
}
