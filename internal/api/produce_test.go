package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/record"
)

func TestProduceInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 2)
		var base int64
		eachVersion(r, kmsg.Produce, func(v int16) {
			req := produceRequest(topic, 1, -1, batchOf("a", "b", "c"))
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 7, Records: batchOf("x")})
			resp := ask[*kmsg.ProduceResponse](c, v, req)
			good, bad := kmsg.NewProduceResponseTopicPartition(), kmsg.NewProduceResponseTopicPartition()
			good.Partition, good.BaseOffset, good.LogStartOffset = 1, base, 0
			bad.Partition, bad.ErrorCode, bad.BaseOffset = 7, 3, -1
			equal(t, resp, &kmsg.ProduceResponse{Topics: []kmsg.ProduceResponseTopic{{
				Topic: "t", TopicID: topic.ID, Partitions: []kmsg.ProduceResponseTopicPartition{good, bad},
			}}})
			base += 3
		})
		if resp := ask[*kmsg.ProduceResponse](c, 9, &kmsg.ProduceRequest{Acks: -1}); len(resp.Topics) != 0 {
			t.Errorf("no topics: %+v", resp)
		}
	})
}

func TestAcks(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		for i, acks := range []int16{-1, 1} {
			resp := ask[*kmsg.ProduceResponse](c, 9, produceRequest(topic, 0, acks, batchOf("x")))
			if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
				t.Errorf("acks %d: %+v", acks, p)
			}
		}
		for _, acks := range []int16{2, -2} {
			resp := ask[*kmsg.ProduceResponse](c, 9, produceRequest(topic, 0, acks, batchOf("x")))
			if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 21 || p.BaseOffset != -1 {
				t.Errorf("acks %d: %+v", acks, p)
			}
		}
		// acks=0 has no answer: the next one belongs to the next request.
		c.send(9, produceRequest(topic, 0, 0, batchOf("x")))
		if p := c.produced(9, topic, 0, batchOf("x")); p.BaseOffset != 3 {
			t.Errorf("base offset %d behind a batch with acks=0, want 3", p.BaseOffset)
		}
		// Its errors end the connection, once what came before is answered.
		c.send(9, produceRequest(topic, 0, -1, batchOf("x")))
		c.send(9, produceRequest(topic, 9, 0, batchOf("x")))
		if p := received[*kmsg.ProduceResponse](c).Topics[0].Partitions[0]; p.BaseOffset != 4 {
			t.Errorf("base offset %d before the error, want 4", p.BaseOffset)
		}
		c.closed()
	})
}

func TestRefusedBatches(t *testing.T) {
	inBubble(t, map[string]string{"message.max.bytes": "2000"}, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		compacted := r.topicWith("compacted", "cleanup.policy", "compact")
		internal, _ := r.cat.View().Topic("__consumer_offsets")
		changed := func(at int, to byte) []byte {
			b := batchOf("some value")
			b[at] = to
			return b
		}
		control := recrc(func(b []byte) { b[22] |= 0x20 })
		transactional := recrc(func(b []byte) { b[22] |= 0x10 })
		appendTime := recrc(func(b []byte) { b[22] |= 0x08 })
		codec7 := recrc(func(b []byte) { b[22] |= 0x07 })
		keyless := func() []byte {
			var b record.Builder
			b.Reset(nil)
			b.Append(1, nil, []byte("v"))
			return b.Finish()
		}()
		for _, s := range []struct {
			name  string
			batch []byte
			code  int16
		}{
			{"no bytes", nil, 87},
			{"cut off", batchOf("x")[:40], 87},
			{"one byte short", batchOf("xyz")[:len(batchOf("xyz"))-1], 87},
			{"two batches", append(batchOf("x"), batchOf("y")...), 87},
			{"magic 1", changed(16, 1), 87},
			{"flipped bit", changed(len(batchOf("some value"))-3, 'X'), 2},
			{"too large", batchOf(strings.Repeat("x", 2000)), 10},
			{"control batch", control, 87},
			{"transactional", transactional, 53},
			{"LogAppendTime", appendTime, 32},
			{"unknown codec", codec7, 76},
		} {
			p := c.produced(9, topic, 0, s.batch)
			if p.ErrorCode != s.code || p.BaseOffset != -1 || p.ErrorMessage == nil {
				t.Errorf("%s: %+v, want error %d", s.name, p, s.code)
			}
		}
		if p := c.produced(9, internal, 0, batchOf("x")); p.ErrorCode != 17 {
			t.Errorf("internal topic: %+v", p)
		}
		if p := c.produced(9, compacted, 0, keyless); p.ErrorCode != 87 || len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 0 {
			t.Errorf("compacted topic, no key: %+v", p)
		}
		unknown := *topic
		unknown.Name, unknown.ID = "nosuch", [16]byte{9}
		if p := c.produced(12, &unknown, 0, batchOf("x")); p.ErrorCode != 3 {
			t.Errorf("unknown name: %+v", p)
		}
		if p := c.produced(13, &unknown, 0, batchOf("x")); p.ErrorCode != 100 {
			t.Errorf("unknown id: %+v", p)
		}
		if p := c.produced(9, topic, 0, batchOf("x")); p.ErrorCode != 0 || p.BaseOffset != 0 {
			t.Errorf("something of all that was appended: %+v", p)
		}
	})
}

// recrc makes a batch, changes it and sets its checksum.
func recrc(change func([]byte)) []byte {
	b := batchOf("some value")
	change(b)
	record.SetMaxTimestamp(b, 1000) // which sets the checksum
	return b
}

// compressed makes a batch with any codec.
func compressed(t testing.TB, codec record.Compression, values ...string) []byte {
	t.Helper()
	b, err := record.Recompress(nil, batchOf(values...), codec, 0, &record.Codec{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// B40: every codec is stored as it was sent, and zstd needs a version that
// knows it.
func TestCodecs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		zstdOnly := r.topicWith("zstd", "compression.type", "zstd")
		var offset int64
		for codec := record.Uncompressed; codec <= record.Zstd; codec++ {
			sent := compressed(t, codec, "one", "two", strings.Repeat("three", 100))
			eachVersion(r, kmsg.Produce, func(v int16) {
				p := c.produced(v, topic, 0, sent)
				if codec == record.Zstd && v < 7 {
					if p.ErrorCode != 76 {
						t.Errorf("zstd with v%d: %+v", v, p)
					}
					return
				}
				if p.ErrorCode != 0 || p.BaseOffset != offset {
					t.Errorf("%v with v%d: %+v", codec, v, p)
				}
				got := ask[*kmsg.FetchResponse](c, 12, fetchOf(from{topic: topic, offset: offset, max: 1})).Topics[0].Partitions[0].RecordBatches
				want := bytes.Clone(sent)
				copy(want[:8], got[:8])       // base offset
				copy(want[12:16], got[12:16]) // leader epoch
				if !bytes.Equal(got, want) || !record.CheckCRC(got) || record.BaseOffset(got) != offset {
					t.Errorf("%v came back changed", codec)
				}
				offset += 3
			})
		}
		if p := c.produced(9, zstdOnly, 0, batchOf("x")); p.ErrorCode != 0 {
			t.Fatalf("%+v", p)
		}
		eachVersion(r, kmsg.Fetch, func(v int16) {
			parts := partsOf(ask[*kmsg.FetchResponse](c, v, fetchOf(from{topic: zstdOnly}, from{topic: topic, offset: offset - 3})))
			want := int16(0)
			if v < 10 {
				want = 76
			}
			if parts[0].Code != want || parts[0].Bytes > 0 != (want == 0) {
				t.Errorf("v%d of a zstd topic: %+v, want error %d", v, parts[0], want)
			}
			if parts[1].Code != 0 || parts[1].Bytes == 0 {
				t.Errorf("v%d of a zstd batch in another topic: %+v", v, parts[1])
			}
		})
	})
}

// B60.7: a few kilobytes that inflate to far more. (That memory stays bounded is
// tested where the codecs are.)
func TestABombIsRefused(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	zeros := make([]byte, 1<<20)
	for range 32 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	inBubble(t, map[string]string{"message.max.bytes": "10000000"}, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		b := append(batchOf("x")[:61], zipped.Bytes()...)
		n := len(b) - 12
		b[8], b[9], b[10], b[11] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		b[22] |= byte(record.Gzip)
		record.SetMaxTimestamp(b, 1000)
		if p := c.produced(9, topic, 0, b); p.ErrorCode != 87 && p.ErrorCode != 10 {
			t.Errorf("%+v", p)
		}
	})
}

// B56: idempotent producers.
func TestIdempotentProducers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		const P, Q, R = 1000, 1001, 1002
		ten := make([]string, 10)
		send := func(id int64, epoch int16, sequence int32) string {
			p := c.produced(9, topic, 0, producerBatch(id, epoch, sequence, ten...))
			if p.ErrorCode != 0 {
				return fmt.Sprintf("error %d", p.ErrorCode)
			}
			return fmt.Sprint(p.BaseOffset)
		}
		check := func(id int64, epoch int16, sequence int32, want string) {
			t.Helper()
			if got := send(id, epoch, sequence); got != want {
				t.Errorf("producer %d epoch %d sequence %d: %s, want %s", id, epoch, sequence, got, want)
			}
		}
		for i := range int32(6) {
			check(P, 0, 10*i, fmt.Sprint(10*i))
		}
		check(P, 0, 50, "50")
		check(P, 0, 10, "10")
		check(P, 0, 0, "error 45")
		check(P, 0, 100, "error 45")
		check(Q, 0, 500, "60")
		check(P, 1, 5, "error 45")
		check(P, 1, 0, "70")
		check(P, 0, 60, "error 47")
		check(R, 0, 2147483640, "80")
		check(R, 0, 2, "90")
		r.restart()
		c = r.client("c")
		check(R, 0, 2147483640, "80")
		check(R, 0, 2, "90")
		check(R, 0, 12, "100")
	})
}

// A batch whose flush failed was not appended: the producer is told that the
// leader is another one, and finds the same broker under a new epoch (KIP-951).
func TestAFailedFlushIsAnsweredWithTheNewLeaderEpoch(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		if p := c.produced(10, topic, 0, producerBatch(7, 0, 0, "x")); p.ErrorCode != 0 {
			t.Fatalf("%+v", p)
		}
		before := ask[*kmsg.MetadataResponse](c, 12, metadataRequest("t")).Topics[0].Partitions[0].LeaderEpoch
		r.flaky.failIn(1)
		resp := ask[*kmsg.ProduceResponse](c, 10, produceRequest(topic, 0, -1, producerBatch(7, 0, 1, "y")))
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != 6 || p.BaseOffset != -1 {
			t.Fatalf("%+v", p)
		}
		if p.CurrentLeader.LeaderID != 1 || len(resp.Brokers) != 1 || resp.Brokers[0].Host != "broker.test" {
			t.Errorf("leader %+v, brokers %+v", p.CurrentLeader, resp.Brokers)
		}
		// The producer asks again until it is served, as producers do.
		for wait := time.Millisecond; ; wait *= 2 {
			p = c.produced(10, topic, 0, producerBatch(7, 0, 1, "y"))
			if p.ErrorCode == 0 || wait > time.Minute {
				break
			}
			time.Sleep(wait)
		}
		if p.ErrorCode != 0 || p.BaseOffset != 1 {
			t.Errorf("asked again: %+v", p)
		}
		after := ask[*kmsg.MetadataResponse](c, 12, metadataRequest("t")).Topics[0].Partitions[0].LeaderEpoch
		if after <= before {
			t.Errorf("leader epoch is %d and was %d", after, before)
		}
	})
}

func TestLogAppendTimeIsAnswered(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topicWith("t", "message.timestamp.type", "LogAppendTime")
		now := time.Now().UnixMilli()
		if p := c.produced(9, topic, 0, batchOf("x")); p.ErrorCode != 0 || p.LogAppendTime != now {
			t.Errorf("%+v, want LogAppendTime %d", p, now)
		}
	})
}

func TestProducesOfAConnectionTakeEffectInOrder(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 1)
		for i := range int32(20) {
			c.send(9, produceRequest(topic, 0, -1, producerBatch(5, 0, i, "x")))
		}
		var bases []int64
		for range 20 {
			bases = append(bases, received[*kmsg.ProduceResponse](c).Topics[0].Partitions[0].BaseOffset)
		}
		var want []int64
		for i := range int64(20) {
			want = append(want, i)
		}
		if diff := cmp.Diff(want, bases); diff != "" {
			t.Errorf("base offsets (-want +got):\n%s", diff)
		}
	})
}
