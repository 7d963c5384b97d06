package api_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/record"
)

// topicWith makes a topic of one partition with one setting.
func (r *rig) topicWith(name, setting, value string) *catalog.Topic {
	r.Helper()
	t, err := r.broker.CreateTopic(context.Background(), name, 1, map[string]string{setting: value}, false)
	r.check(err)
	return t
}

// batchOf makes a batch with one record for each value.
func batchOf(values ...string) []byte {
	return producerBatch(-1, -1, -1, values...)
}

// producerBatch makes a batch of an idempotent producer.
func producerBatch(id int64, epoch int16, sequence int32, values ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(id, epoch, sequence)
	for i, v := range values {
		b.Append(int64(1000+i), []byte("k"), []byte(v))
	}
	return b.Finish()
}

// produceRequest asks for one batch to be appended, by name and by id.
func produceRequest(t *catalog.Topic, partition int32, acks int16, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: t.Name, TopicID: t.ID, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}}}}
	return req
}

// produced sends one batch with acks=-1 and returns what its partition is
// answered with.
func (c *client) produced(version int16, t *catalog.Topic, partition int32, batch []byte) kmsg.ProduceResponseTopicPartition {
	c.Helper()
	resp := ask[*kmsg.ProduceResponse](c, version, produceRequest(t, partition, -1, batch))
	return resp.Topics[0].Partitions[0]
}

// from is one partition of a Fetch.
type from struct {
	topic     *catalog.Topic
	partition int32
	offset    int64
	max       int32 // 1 MiB if 0
}

// fetchOf makes a Fetch without session that answers at once, by name and by id.
func fetchOf(parts ...from) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.SessionEpoch = -1, 50<<20, -1
	for _, f := range parts {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = f.partition, f.offset, 1<<20
		if f.max != 0 {
			p.PartitionMaxBytes = f.max
		}
		if n := len(req.Topics); n > 0 && req.Topics[n-1].Topic == f.topic.Name {
			req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, p)
			continue
		}
		req.Topics = append(req.Topics, kmsg.FetchRequestTopic{Topic: f.topic.Name, TopicID: f.topic.ID, Partitions: []kmsg.FetchRequestTopicPartition{p}})
	}
	return req
}

// patient makes a Fetch wait.
func patient(req *kmsg.FetchRequest, minBytes int32, wait time.Duration) *kmsg.FetchRequest {
	req.MinBytes, req.MaxWaitMillis = minBytes, int32(wait/time.Millisecond)
	return req
}

// fetchedPart is what a test looks at in the answer for one partition.
type fetchedPart struct {
	Topic     string
	Partition int32
	Code      int16
	HW, Start int64
	Bytes     int
}

// partsOf lists the partitions of an answer in its order.
func partsOf(resp *kmsg.FetchResponse) []fetchedPart {
	var parts []fetchedPart
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			parts = append(parts, fetchedPart{t.Topic, p.Partition, p.ErrorCode, p.HighWatermark, p.LogStartOffset, len(p.RecordBatches)})
		}
	}
	return parts
}

// take is how long f takes in the bubble.
func take(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// body sends a request and returns the bytes of its answer behind the
// correlation id.
func (c *client) body(version int16, req kmsg.Request) []byte {
	c.Helper()
	c.send(version, req)
	frame, ok := <-c.frames
	if !ok {
		c.Fatal("the broker closed the connection")
	}
	return frame[4:]
}

// sendRaw sends bytes as they are behind a size.
func (c *client) sendRaw(frame ...[]byte) {
	c.Helper()
	all := bytes.Join(frame, nil)
	if _, err := c.nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(all))), all...)); err != nil {
		c.Fatal(err)
	}
}

// settle waits until every goroutine of the bubble has nothing to do.
func settle() { synctest.Wait() }
