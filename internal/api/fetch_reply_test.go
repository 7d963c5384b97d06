package api

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/storage"
)

// What fetchWriter writes for a partition is what kmsg writes, in every
// version, wherever the records have to be moved to.
func TestFetchWriterWritesWhatKmsgWrites(t *testing.T) {
	code := func(err error) int16 {
		if k, ok := errors.AsType[*kerr.Error](err); ok {
			return k.Code
		}
		return 0
	}
	for version := fetchAPI().Min; version <= fetchAPI().Max; version++ {
		for name, got := range map[string]broker.FetchedPartition{
			"plain":            {Index: 3, HighWatermark: 10, LastStable: 9, LogStart: 2, LeaderEpoch: 4},
			"nothing aborted":  {Index: 3, HighWatermark: 10, LastStable: 9, LogStart: 2, LeaderEpoch: 4, Aborted: []storage.Aborted{}},
			"aborted":          {Index: math.MaxInt32, HighWatermark: math.MaxInt64, Aborted: []storage.Aborted{{ProducerID: 1, FirstOffset: 2}, {ProducerID: 3, FirstOffset: 4}}},
			"many aborted":     {Aborted: make([]storage.Aborted, 200)},
			"diverging":        {HighWatermark: 10, Diverging: &broker.Divergence{Epoch: 3, EndOffset: 7}},
			"another leader":   {Index: 1, Err: kerr.NotLeaderForPartition, HighWatermark: -1, LastStable: -1, LogStart: -1, LeaderEpoch: 5},
			"leader not known": {Index: 1, Err: kerr.NotLeaderForPartition, HighWatermark: -1, LastStable: -1, LogStart: -1, LeaderEpoch: -1},
			"another error":    {Index: 1, Err: kerr.OffsetOutOfRange, HighWatermark: -1, LastStable: -1, LogStart: -1, LeaderEpoch: 5},
		} {
			for _, records := range []int{0, 1, 100, 126, 127, 128, 20_000} {
				for _, limit := range []int{0, 1, 100, 1 << 20, math.MaxInt32} {
					want := kmsg.NewFetchResponseTopicPartition()
					want.Partition, want.ErrorCode = got.Index, code(got.Err)
					want.HighWatermark, want.LastStableOffset, want.LogStartOffset = got.HighWatermark, got.LastStable, got.LogStart
					want.RecordBatches = bytes.Repeat([]byte{'r'}, records)
					if got.Aborted != nil {
						want.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
						for _, a := range got.Aborted {
							want.AbortedTransactions = append(want.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
						}
					}
					if d := got.Diverging; d != nil {
						want.DivergingEpoch.Epoch, want.DivergingEpoch.EndOffset = d.Epoch, d.EndOffset
					}
					w := fetchWriter{version: version, flexible: version >= 12, node: 1, code: code}
					if version >= 16 && want.ErrorCode == 6 && got.LeaderEpoch >= 0 {
						want.CurrentLeader.LeaderID, want.CurrentLeader.LeaderEpoch = 1, got.LeaderEpoch
					}
					room := w.room(limit)
					dst := append([]byte("before"), make([]byte, room)...)
					dst = append(dst, want.RecordBatches...)
					dst = w.enclose(dst, len("before"), room, &got)
					if wanted := append([]byte("before"), partitionBytes(version, want)...); !bytes.Equal(dst, wanted) {
						t.Fatalf("%s v%d, %d records, limit %d:\n got %x\nwant %x", name, version, records, limit, dst, wanted)
					}
				}
			}
		}
	}
}

// partitionBytes is the part of a response that is the partition's.
func partitionBytes(version int16, p kmsg.FetchResponseTopicPartition) []byte {
	resp := kmsg.FetchResponse{Version: version, Topics: []kmsg.FetchResponseTopic{{}}}
	empty := resp.AppendTo(nil)
	resp.Topics[0].Partitions = []kmsg.FetchResponseTopicPartition{p}
	full := resp.AppendTo(nil)
	tail := 0 // the tags of the topic and of the response
	if resp.IsFlexible() {
		tail = 2
	}
	return full[len(empty)-tail : len(full)-tail]
}
