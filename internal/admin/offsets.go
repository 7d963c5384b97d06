package admin

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Places in a partition, in place of the milliseconds of a time.
const (
	End   int64 = -1
	Start int64 = -2
)

// At is a place in a partition: an offset, and the timestamp of the record
// there if a time was asked for.
type At struct {
	Offset    int64
	Timestamp int64 // -1: none
	Err       error
}

// Offsets asks for an offset of each partition: Start, End, or the first with a
// timestamp of at least so many milliseconds, which is -1 if there is none.
func (c *Cluster) Offsets(ctx context.Context, of map[string][]int32, place int64) (map[TopicPartition]At, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	n := 0
	for topic, partitions := range of {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		t.Partitions = make([]kmsg.ListOffsetsRequestTopicPartition, len(partitions))
		for i, partition := range partitions {
			p := &t.Partitions[i]
			p.Default()
			p.Partition, p.Timestamp = partition, place
		}
		n += len(partitions)
		req.Topics = append(req.Topics, t)
	}
	offsets := make(map[TopicPartition]At, n)
	if n == 0 {
		return offsets, nil
	}
	take := func(_ int32, resp *kmsg.ListOffsetsResponse) error {
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				offsets[TopicPartition{t.Topic, p.Partition}] = At{
					p.Offset, p.Timestamp,
					refused(p.ErrorCode, nil, "offsets of %s-%d", t.Topic, p.Partition),
				}
			}
		}
		return nil
	}
	node, alone, err := c.onlyBroker(ctx)
	if err != nil {
		return nil, err
	}
	if alone {
		// Nobody else can lead a partition: finding out who does takes most of
		// the time where there are many.
		resp, err := askBroker[*kmsg.ListOffsetsResponse](ctx, c, node, req)
		if err != nil {
			return nil, err
		}
		return offsets, take(node, resp)
	}
	return offsets, askAll(ctx, c, req, take)
}

// PartitionsOf lists the partitions of topics.
func (c *Cluster) PartitionsOf(ctx context.Context, names ...string) (map[string][]int32, error) {
	topics, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	return partitionsOf(topics), nil
}
