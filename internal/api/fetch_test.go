package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/record"
	"rota/internal/storage"
)

func TestFetchInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 2)
		batch := batchOf("a", "b", "c")
		c.produced(9, topic, 1, batch)
		record.SetLeaderEpoch(batch, leaderEpoch(r, topic.ID, 1))
		eachVersion(r, kmsg.Fetch, func(v int16) {
			for _, isolation := range []int8{0, 1} {
				req := fetchOf(from{topic: topic, partition: 0}, from{topic: topic, partition: 1, offset: 2}, from{topic: topic, partition: 9})
				req.IsolationLevel = isolation
				resp := ask[*kmsg.FetchResponse](c, v, req)
				entry := func(p int32, code int16, end, start int64, records []byte) kmsg.FetchResponseTopicPartition {
					e := kmsg.NewFetchResponseTopicPartition()
					e.Partition, e.ErrorCode, e.HighWatermark, e.LastStableOffset, e.LogStartOffset = p, code, end, end, start
					e.RecordBatches = records
					if isolation == 1 && code == 0 {
						e.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
					}
					return e
				}
				equal(t, resp, &kmsg.FetchResponse{Topics: []kmsg.FetchResponseTopic{{
					Topic: "t", TopicID: topic.ID, Partitions: []kmsg.FetchResponseTopicPartition{
						entry(0, 0, 0, 0, []byte{}), entry(1, 0, 3, 0, batch), entry(9, 3, -1, -1, []byte{}),
					},
				}}})
			}
		})
	})
}

// leaderEpoch is the leader epoch of a partition.
func leaderEpoch(r *rig, id storage.TopicID, partition int32) int32 {
	r.Helper()
	log, ok := r.store.Log(storage.Partition{Topic: id, Index: partition})
	if !ok {
		r.Fatalf("no log of partition %d", partition)
	}
	return log.Bounds().Epoch
}

// B41: the records are never null, and the answer is of the form of its
// version to the last byte.
func TestRecordsAreNeverNull(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic, absent := r.topic("t", 2), *r.topic("u", 1)
		c.produced(9, topic, 1, batchOf("x"))
		absent.Name, absent.ID = "absent", storage.TopicID{7}
		for _, v := range []int16{4, 11, 12, 13, 16, 18} {
			for name, s := range map[string]struct {
				from from
				code int16
				wait bool
			}{
				"empty partition":    {from{topic: topic}, 0, true},
				"offset is the end":  {from{topic: topic, partition: 1, offset: 1}, 0, true},
				"beyond the end":     {from{topic: topic, partition: 1, offset: 2}, 1, false},
				"before the start":   {from{topic: topic, partition: 1, offset: -5}, 1, false},
				"absent partition":   {from{topic: topic, partition: 5}, 3, false},
				"negative partition": {from{topic: topic, partition: -1}, 3, false},
				"absent topic":       {from{topic: &absent}, 3, false},
			} {
				if v >= 13 && name == "absent topic" {
					s.code = 100
				}
				var body []byte
				took := take(func() { body = c.body(v, patient(fetchOf(s.from), 1, 200*time.Millisecond)) })
				if v >= 12 {
					body = body[1:] // the header's tags
				}
				resp := kmsg.FetchResponse{Version: v}
				if err := resp.ReadFrom(body); err != nil {
					t.Fatalf("%s v%d: %v", name, v, err)
				}
				p := resp.Topics[0].Partitions[0]
				if p.RecordBatches == nil || len(p.RecordBatches) != 0 || p.ErrorCode != s.code || p.AbortedTransactions != nil {
					t.Errorf("%s v%d: %+v, want error %d", name, v, p, s.code)
				}
				if again := resp.AppendTo(nil); string(again) != string(body) {
					t.Errorf("%s v%d: answer is %x, in the form of its version %x", name, v, body, again)
				}
				if waited := took == 200*time.Millisecond; waited != s.wait {
					t.Errorf("%s v%d: answered after %v", name, v, took)
				}
			}
		}
	})
}

func TestFetchWaitsForMinBytes(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		producer, consumer := r.client("p"), r.client("c")
		topic := r.topic("t", 2)
		size := int32(len(batchOf("x")))
		consumer.send(12, patient(fetchOf(from{topic: topic}, from{topic: topic, partition: 1}), 2*size, time.Minute))
		consumer.parked()
		producer.produced(9, topic, 0, batchOf("x"))
		consumer.parked()
		if took := take(func() { producer.produced(9, topic, 1, batchOf("x")) }); took > time.Second {
			t.Fatalf("the producer waited %v", took)
		}
		parts := partsOf(received[*kmsg.FetchResponse](consumer))
		if diff := cmp.Diff([]fetchedPart{{"t", 0, 0, 1, 0, int(size)}, {"t", 1, 0, 1, 0, int(size)}}, parts); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		for name, req := range map[string]*kmsg.FetchRequest{
			"MinBytes 0":        patient(fetchOf(from{topic: topic, offset: 1}), 0, time.Minute),
			"MaxWait 0":         patient(fetchOf(from{topic: topic, offset: 1}), 1, 0),
			"MaxWait negative":  patient(fetchOf(from{topic: topic, offset: 1}), 1, -time.Second),
			"no partitions":     patient(fetchOf(), 1, time.Minute),
			"enough is there":   patient(fetchOf(from{topic: topic}), size, time.Minute),
			"one has an error":  patient(fetchOf(from{topic: topic, offset: 1}, from{topic: topic, partition: 9}), 1, time.Minute),
			"another, as large": patient(fetchOf(from{topic: topic, offset: 1}, from{topic: topic, partition: 1}), size, time.Minute),
		} {
			if took := take(func() { ask[*kmsg.FetchResponse](consumer, 12, req) }); took != 0 {
				t.Errorf("%s: answered after %v", name, took)
			}
		}
	})
}

// Check 6: a long poll holds up the replies behind it, and they come in order.
func TestRequestsBehindALongPoll(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		c.send(12, patient(fetchOf(from{topic: topic}), 1<<20, 500*time.Millisecond))
		c.send(9, produceRequest(topic, 0, -1, batchOf("x")))
		c.send(4, heartbeatRequest("g", "m", 1))
		c.send(9, metadataRequest("t"))
		took := take(func() {
			// The batch is appended while the poll waits, and is in its answer.
			if parts := partsOf(received[*kmsg.FetchResponse](c)); parts[0].Bytes == 0 {
				t.Errorf("fetch: %+v", parts)
			}
		})
		if took != 500*time.Millisecond {
			t.Errorf("the poll took %v", took)
		}
		if p := received[*kmsg.ProduceResponse](c).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 0 {
			t.Errorf("produce: %+v", p)
		}
		received[*kmsg.HeartbeatResponse](c)
		received[*kmsg.MetadataResponse](c)
	})
}

func TestAFetchThatWaitsHearsOfEverything(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		admin := r.client("admin")
		topic := r.topic("t", 1)
		admin.produced(9, topic, 0, batchOf("x", "y"))
		wait := func() *client {
			c := r.client("c")
			c.send(12, patient(fetchOf(from{topic: topic, offset: 2}), 1, time.Hour))
			c.parked()
			return c
		}
		// The topic goes.
		c := wait()
		if took := take(func() { admin.deleteTopic(5, "t") }); took > time.Minute {
			t.Fatalf("deletion took %v", took)
		}
		if p := partsOf(received[*kmsg.FetchResponse](c))[0]; p.Code != 6 && p.Code != 3 {
			t.Errorf("deleted topic: %+v", p)
		}
		// The broker stops: what waits is answered.
		topic = r.topic("t2", 1)
		admin.produced(9, topic, 0, batchOf("x", "y"))
		c = wait()
		r.restart()
		if p := partsOf(received[*kmsg.FetchResponse](c))[0]; p.Code != 0 || p.HW != 2 {
			t.Errorf("broker stopped: %+v", p)
		}
		c.closed()
		// The client goes: nothing is left behind (the bubble would notice).
		c = wait()
		r.check(c.nc.Close())
		settle()
	})
}

func TestDeleteRecordsMovesTheStartUnderAFetch(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		c.produced(9, topic, 0, batchOf("a"))
		c.produced(9, topic, 0, batchOf("b"))
		done, err := r.broker.DeleteRecords("t", 0, 1)
		r.check(err)
		<-done
		parts := partsOf(ask[*kmsg.FetchResponse](c, 12, fetchOf(from{topic: topic, offset: 1})))
		if p := parts[0]; p.Code != 0 || p.Start != 1 || p.HW != 2 || p.Bytes == 0 {
			t.Errorf("at the start: %+v", p)
		}
		if p := partsOf(ask[*kmsg.FetchResponse](c, 12, fetchOf(from{topic: topic})))[0]; p.Code != 1 {
			t.Errorf("before the start: %+v", p)
		}
	})
}

// B54: a batch larger than the limits.
func TestABatchLargerThanTheLimits(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 2)
		large, small := batchOf(strings.Repeat("x", 900_000)), batchOf("y")
		c.produced(9, topic, 0, large)
		for range 10 {
			c.produced(9, topic, 0, small)
			c.produced(9, topic, 1, small)
		}
		limits := func(parts ...from) *kmsg.FetchRequest {
			req := patient(fetchOf(parts...), 1, time.Second)
			req.MaxBytes = 1000
			return req
		}
		n := len(small)
		for _, s := range []struct {
			name string
			req  *kmsg.FetchRequest
			want []fetchedPart
		}{
			{"large one first", limits(from{topic, 0, 0, 1000}, from{topic, 1, 0, 1000}), []fetchedPart{{"t", 0, 0, 11, 0, len(large)}, {"t", 1, 0, 10, 0, 0}}},
			{"large one second", limits(from{topic, 1, 0, 1000}, from{topic, 0, 0, 1000}), []fetchedPart{{"t", 1, 0, 10, 0, 10 * n}, {"t", 0, 0, 11, 0, 0}}},
			{"partition limit 1", limits(from{topic, 0, 0, 1}, from{topic, 1, 0, 1}), []fetchedPart{{"t", 0, 0, 11, 0, len(large)}, {"t", 1, 0, 10, 0, 0}}},
			{"empty one first", limits(from{topic, 1, 10, 1000}, from{topic, 0, 0, 1000}), []fetchedPart{{"t", 1, 0, 10, 0, 0}, {"t", 0, 0, 11, 0, len(large)}}},
			{"partition limits", fetchOf(from{topic, 0, 1, int32(2*n + 1)}, from{topic, 1, 0, int32(3 * n)}), []fetchedPart{{"t", 0, 0, 11, 0, 2 * n}, {"t", 1, 0, 10, 0, 3 * n}}},
		} {
			var got []fetchedPart
			took := take(func() { got = partsOf(ask[*kmsg.FetchResponse](c, 12, s.req)) })
			if diff := cmp.Diff(s.want, got); diff != "" || took != 0 {
				t.Errorf("%s: after %v (-want +got):\n%s", s.name, took, diff)
			}
		}
		zero := limits(from{topic: topic})
		zero.Topics[0].Partitions[0].PartitionMaxBytes = 0
		if got := partsOf(ask[*kmsg.FetchResponse](c, 12, zero))[0]; got.Bytes != len(large) {
			t.Errorf("partition limit 0: %+v", got)
		}
		if p := c.produced(9, topic, 0, batchOf(strings.Repeat("x", 1048588))); p.ErrorCode != 10 {
			t.Errorf("over max.message.bytes: %+v", p)
		}
		if p := c.produced(9, topic, 0, small); p.BaseOffset != 11 {
			t.Errorf("something was appended: %+v", p)
		}
	})
}

func TestFetchChecksLeaderEpochs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		c.produced(9, topic, 0, batchOf("a", "b"))
		first := leaderEpoch(r, topic.ID, 0)
		r.restart()
		c = r.client("c")
		c.produced(9, topic, 0, batchOf("c"))
		current := leaderEpoch(r, topic.ID, 0)
		if current <= first {
			t.Fatalf("leader epochs %d and %d", first, current)
		}
		fetch := func(v int16, known, last int32, offset int64) (kmsg.FetchResponseTopicPartition, *kmsg.FetchResponse) {
			req := patient(fetchOf(from{topic: topic, offset: offset}), 1, time.Second)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch, req.Topics[0].Partitions[0].LastFetchedEpoch = known, last
			resp := ask[*kmsg.FetchResponse](c, v, req)
			return resp.Topics[0].Partitions[0], resp
		}
		for known, code := range map[int32]int16{-1: 0, current: 0, first: 74, current + 1: 75} {
			for _, v := range []int16{9, 12, 16} {
				p, resp := fetch(v, known, -1, 0)
				if p.ErrorCode != code {
					t.Errorf("v%d knowing epoch %d: %+v, want error %d", v, known, p, code)
				}
				named := p.CurrentLeader.LeaderID == 1 && p.CurrentLeader.LeaderEpoch == current && len(resp.Brokers) == 1 && resp.Brokers[0].Port == 9092
				if want := v >= 16 && code == 74; named != want {
					t.Errorf("v%d error %d: leader %+v, brokers %+v", v, code, p.CurrentLeader, resp.Brokers)
				}
			}
		}
		// The consumer's records and the log part where the epoch ended.
		if p, _ := fetch(12, current, first, 2); p.DivergingEpoch.Epoch != -1 || len(p.RecordBatches) == 0 {
			t.Errorf("at the end of its epoch: %+v", p)
		}
		if p, _ := fetch(12, current, first, 3); p.ErrorCode != 0 || p.DivergingEpoch.Epoch != first || p.DivergingEpoch.EndOffset != 2 || len(p.RecordBatches) != 0 {
			t.Errorf("beyond the end of its epoch: %+v", p)
		}
		if p, _ := fetch(12, current, current, 3); p.ErrorCode != 0 || p.DivergingEpoch.Epoch != -1 {
			t.Errorf("in the current epoch: %+v", p)
		}
	})
}

func TestListOffsetsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 2)
		c.produced(9, topic, 0, batchOf("a", "b", "c")) // at 1000, 1001, 1002
		c.produced(9, topic, 0, batchOf("d"))           // at 1000
		done, err := r.broker.DeleteRecords("t", 0, 1)
		r.check(err)
		<-done
		epoch := leaderEpoch(r, topic.ID, 0)
		eachVersion(r, kmsg.ListOffsets, func(v int16) {
			for _, s := range []struct {
				ts         int64
				since      int16
				offset, at int64
			}{
				{-1, 1, 4, -1},
				{-2, 1, 1, -1},
				{-3, 7, 2, 1002},
				{-4, 8, 1, -1},
				{-5, 9, -1, -1},
				{-6, 11, -1, -1},
				{0, 1, 1, 1001},
				{1002, 1, 2, 1002},
				{1003, 1, -1, -1},
			} {
				want := kmsg.NewListOffsetsResponseTopicPartition()
				want.Offset, want.Timestamp, want.LeaderEpoch = s.offset, s.at, epoch
				if s.offset < 0 {
					want.LeaderEpoch = -1
				}
				if v < s.since {
					want = kmsg.NewListOffsetsResponseTopicPartition()
					want.ErrorCode = 35
				}
				resp := ask[*kmsg.ListOffsetsResponse](c, v, listRequest(s.ts, 0))
				equal(t, resp, &kmsg.ListOffsetsResponse{Topics: []kmsg.ListOffsetsResponseTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{want}}}})
			}
			if p := ask[*kmsg.ListOffsetsResponse](c, v, listRequest(-7, 0)).Topics[0].Partitions[0]; p.ErrorCode != 35 {
				t.Errorf("v%d timestamp -7: %+v", v, p)
			}
		})
		twice := ask[*kmsg.ListOffsetsResponse](c, 5, listRequest(-1, 1, 0, 1)).Topics[0].Partitions
		if twice[0].ErrorCode != 42 || twice[1].ErrorCode != 0 || twice[2].ErrorCode != 42 {
			t.Errorf("a partition named twice: %+v", twice)
		}
		if p := ask[*kmsg.ListOffsetsResponse](c, 5, listRequest(-1, 7)).Topics[0].Partitions[0]; p.ErrorCode != 3 || p.Offset != -1 {
			t.Errorf("absent partition: %+v", p)
		}
		for known, code := range map[int32]int16{epoch - 1: 74, epoch: 0, epoch + 1: 75} {
			req := listRequest(-1, 0)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = known
			if p := ask[*kmsg.ListOffsetsResponse](c, 4, req).Topics[0].Partitions[0]; p.ErrorCode != code && epoch > 0 {
				t.Errorf("knowing epoch %d: %+v, want error %d", known, p, code)
			}
		}
		if p := ask[*kmsg.ListOffsetsResponse](c, 7, listRequest(-3, 1)).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Offset != -1 || p.Timestamp != -1 {
			t.Errorf("largest timestamp of nothing: %+v", p)
		}
	})
}

// No answer to a read_committed client names a record that it cannot read yet.
func TestListOffsetsReadCommitted(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		p.write(12, topic, 0, "a") // at 1000
		p.end(5, true)
		p.write(12, topic, 0, "b", "c") // at 1000 and 1001
		for _, s := range []struct {
			ts                     int64
			uncommitted, committed int64
		}{
			{-1, 4, 2},
			{-2, 0, 0},
			{-4, 0, 0},
			{1000, 0, 0},
			{1001, 1, 1}, // the marker, of the wall clock
		} {
			for level, want := range []int64{s.uncommitted, s.committed} {
				req := listRequest(s.ts, 0)
				req.IsolationLevel = int8(level)
				if got := ask[*kmsg.ListOffsetsResponse](p.client, 8, req).Topics[0].Partitions[0]; got.Offset != want || got.ErrorCode != 0 {
					t.Errorf("timestamp %d, isolation level %d: %+v, want offset %d", s.ts, level, got, want)
				}
			}
		}
		// The newest record belongs to an open transaction.
		far := time.Now().Add(time.Hour).UnixMilli()
		var b record.Builder
		b.Reset(nil)
		b.SetProducer(p.producerID, p.epoch, 2)
		b.SetTransactional()
		b.Append(far, nil, []byte("d"))
		req := produceRequest(topic, 0, -1, b.Finish())
		req.TransactionID = &p.id
		if got := ask[*kmsg.ProduceResponse](p.client, 12, req).Topics[0].Partitions[0]; got.ErrorCode != 0 {
			t.Fatalf("%+v", got)
		}
		newest := func(level int8, ts int64) int64 {
			req := listRequest(ts, 0)
			req.IsolationLevel = level
			return ask[*kmsg.ListOffsetsResponse](p.client, 8, req).Topics[0].Partitions[0].Offset
		}
		for _, ts := range []int64{-3, far} {
			if open, committed := newest(0, ts), newest(1, ts); open != 4 || committed != -1 {
				t.Errorf("timestamp %d: %d, and %d with read_committed", ts, open, committed)
			}
		}
		p.end(5, true)
		if got := newest(1, -3); got != 4 {
			t.Errorf("the newest record is committed, and the answer %d", got)
		}
	})
}

func listRequest(ts int64, partitions ...int32) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t"}}
	for _, p := range partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = p, ts
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, one)
	}
	return req
}

func TestOffsetForLeaderEpochInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		c.produced(9, topic, 0, batchOf("a", "b"))
		first := leaderEpoch(r, topic.ID, 0)
		r.restart()
		c = r.client("c")
		c.produced(9, topic, 0, batchOf("c"))
		current := leaderEpoch(r, topic.ID, 0)
		eachVersion(r, kmsg.OffsetForLeaderEpoch, func(v int16) {
			for _, s := range []struct {
				partition, known, asked int32
				code                    int16
				epoch                   int32
				end                     int64
			}{
				{0, -1, first, 0, first, 2},
				{0, current, current, 0, current, 3},
				{0, current, current + 5, 0, -1, -1},
				{0, -1, first - 1, 0, first - 1, 0}, // ended before the first record
				{0, -1, -1, 0, -1, -1},
				{0, first, first, 74, -1, -1},
				{0, current + 1, first, 75, -1, -1},
				{4, -1, first, 3, -1, -1},
			} {
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{
					{Partition: s.partition, CurrentLeaderEpoch: s.known, LeaderEpoch: s.asked},
				}}}
				p := ask[*kmsg.OffsetForLeaderEpochResponse](c, v, req).Topics[0].Partitions[0]
				if p.ErrorCode != s.code || p.LeaderEpoch != s.epoch || p.EndOffset != s.end || p.Partition != s.partition {
					t.Errorf("v%d: %+v: %+v", v, s, p)
				}
			}
		})
	})
}

// Consumers on the same partition hear of a batch together, and each gets all
// of it.
func TestManyConsumersWaitOnOnePartition(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		var consumers []*client
		for range 50 {
			c := r.client("c")
			c.send(12, patient(fetchOf(from{topic: topic}), 1, time.Hour))
			consumers = append(consumers, c)
		}
		settle()
		r.client("p").produced(9, topic, 0, batchOf("x"))
		for _, c := range consumers {
			if p := partsOf(received[*kmsg.FetchResponse](c))[0]; p.Bytes != len(batchOf("x")) {
				t.Errorf("%+v", p)
			}
		}
	})
}
