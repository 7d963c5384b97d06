package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// topicsOf returns the topics that a file commits to, and how many partitions
// each must have at least.
func topicsOf(f *File) map[string]int32 {
	const fewest = 12
	partitions := map[string]int32{}
	need := func(tp group.TopicPartition) {
		partitions[tp.Topic] = max(partitions[tp.Topic], fewest, tp.Partition+1)
	}
	c := newCompiler(f)
	for i := range f.Blocks {
		st, err := c.compile(&f.Blocks[i].Input)
		if err != nil || st.call == nil {
			continue
		}
		switch r := st.call.request.(type) {
		case group.Commit, group.TxnCommit:
			for _, o := range committedBy(r) {
				need(o.TopicPartition)
			}
		case group.DeleteOffsets:
			for _, tp := range r.Partitions {
				need(tp)
			}
		}
	}
	return partitions
}

// createTopics makes the topics that the file commits to, and waits until they
// can be committed to.
func (p *player) createTopics(ctx context.Context, f *File) error {
	partitions := topicsOf(f)
	if len(partitions) == 0 {
		return nil
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version, request.TimeoutMillis = 4, int32(p.o.Slack.Milliseconds())
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 4
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Version, grow.TimeoutMillis = 1, request.TimeoutMillis
	for topic, n := range partitions {
		grow.Topics = append(grow.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: n})
		request.Topics = append(request.Topics, kmsg.CreateTopicsRequestTopic{Topic: topic, NumPartitions: n, ReplicationFactor: 1})
		metadata.Topics = append(metadata.Topics, kmsg.MetadataRequestTopic{Topic: new(topic)})
	}
	if _, err := p.ask(ctx, p.addr, request); err != nil {
		return err
	}
	// A topic that was there already may be too small; others refuse to grow.
	if _, err := p.ask(ctx, p.addr, grow); err != nil {
		return err
	}
	for deadline := time.Now().Add(p.o.Slack); ; {
		answer, err := p.ask(ctx, p.addr, metadata)
		if err != nil {
			return err
		}
		r, ok := answer.(*kmsg.MetadataResponse)
		if ok && topicsReady(r, partitions) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready: %+v", answer)
		}
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return err
		}
	}
}

func topicsReady(r *kmsg.MetadataResponse, partitions map[string]int32) bool {
	ready := 0
	for _, t := range r.Topics {
		if t.ErrorCode != 0 || t.Topic == nil || len(t.Partitions) < int(partitions[*t.Topic]) {
			return false
		}
		if slices.ContainsFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.ErrorCode != 0 }) {
			return false
		}
		ready++
	}
	return ready == len(partitions)
}

func (p *player) deleteTopic(ctx context.Context, topic string) error {
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.Version, request.TimeoutMillis, request.TopicNames = 4, int32(p.o.Slack.Milliseconds()), []string{topic}
	answer, err := p.ask(ctx, p.addr, request)
	if err != nil {
		return err
	}
	r, ok := answer.(*kmsg.DeleteTopicsResponse)
	if !ok || len(r.Topics) != 1 {
		return errors.New("an answer to DeleteTopics that does not fit")
	}
	return kerr.ErrorForCode(r.Topics[0].ErrorCode)
}
