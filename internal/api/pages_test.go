package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// pageRequest asks for a page; no topics means all.
func pageRequest(limit int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	return req
}

// pages reads page after page and says what is in each.
func (c *client) pages(req *kmsg.DescribeTopicPartitionsRequest) [][]string {
	c.Helper()
	var all [][]string
	for {
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, 0, req)
		var page []string
		for _, t := range resp.Topics {
			if t.ErrorCode != 0 {
				page = append(page, fmt.Sprintf("%s: error %d", *t.Topic, t.ErrorCode))
			}
			for _, p := range t.Partitions {
				page = append(page, fmt.Sprintf("%s-%d", *t.Topic, p.Partition))
			}
		}
		all = append(all, page)
		if resp.NextCursor == nil {
			return all
		}
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: resp.NextCursor.Topic, Partition: resp.NextCursor.Partition}
	}
}

func TestDescribeTopicPartitionsPageByPage(t *testing.T) {
	inBubble(t, map[string]string{"offsets.topic.num.partitions": "1"}, func(r *rig) {
		for name, partitions := range map[string]int32{"a": 2, "b": 3, "c": 1} {
			r.topic(name, partitions)
		}
		offsets := broker.OffsetsTopic + "-0"
		for _, test := range []struct {
			name   string
			limit  int32
			topics []string
			want   [][]string
		}{
			{"all on one page", 2000, nil, [][]string{{offsets, "a-0", "a-1", "b-0", "b-1", "b-2", "c-0"}}},
			{"the last one is full", 7, nil, [][]string{{offsets, "a-0", "a-1", "b-0", "b-1", "b-2", "c-0"}}},
			{"in the middle of a topic", 4, nil, [][]string{{offsets, "a-0", "a-1", "b-0"}, {"b-1", "b-2", "c-0"}}},
			{"between topics", 3, nil, [][]string{{offsets, "a-0", "a-1"}, {"b-0", "b-1", "b-2"}, {"c-0"}}},
			{"a limit of nothing is one", 0, []string{"a"}, [][]string{{"a-0"}, {"a-1"}}},
			{"some, in disorder and twice", 3, []string{"c", "a", "c"}, [][]string{{"a-0", "a-1", "c-0"}}},
			{"some that are not there", 9, []string{"nosuch", "a", "b/ad"}, [][]string{{"a-0", "a-1", "b/ad: error 17", "nosuch: error 3"}}},
		} {
			if diff := cmp.Diff(test.want, r.client("c").pages(pageRequest(test.limit, test.topics...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

func TestDescribeTopicPartitionsTellsWhatMetadataTells(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		epoch, err := r.broker.LeaderEpoch(topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := kmsg.NewDescribeTopicPartitionsResponseTopic()
		want.Topic, want.TopicID = new("t"), topic.ID
		want.AuthorizedOperations = 0b0000_1101_1111_1000
		want.Partitions = []kmsg.DescribeTopicPartitionsResponseTopicPartition{{LeaderID: 1, LeaderEpoch: epoch, Replicas: []int32{1}, ISR: []int32{1}}}
		got := ask[*kmsg.DescribeTopicPartitionsResponse](r.client("c"), 0, pageRequest(10, "t"))
		equal(t, got, &kmsg.DescribeTopicPartitionsResponse{Topics: []kmsg.DescribeTopicPartitionsResponseTopic{want}})
		if p := got.Topics[0].Partitions[0]; p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
			t.Error("a list is null that Java's admin client reads without asking")
		}
	})
}

// A cursor points to what may be gone when it is used.
func TestCursorsThatPointNowhere(t *testing.T) {
	inBubble(t, map[string]string{"offsets.topic.num.partitions": "1"}, func(r *rig) {
		r.topic("a", 1)
		r.topic("c", 2)
		for _, test := range []struct {
			name   string
			topics []string
			cursor kmsg.DescribeTopicPartitionsRequestCursor
			want   [][]string
		}{
			{"a topic that was deleted", nil, kmsg.DescribeTopicPartitionsRequestCursor{Topic: "b", Partition: 5}, [][]string{{"c-0", "c-1"}}},
			{"the last topic, deleted", nil, kmsg.DescribeTopicPartitionsRequestCursor{Topic: "d", Partition: 5}, [][]string{nil}},
			{"behind the last partition", nil, kmsg.DescribeTopicPartitionsRequestCursor{Topic: "a", Partition: 5}, [][]string{{"c-0", "c-1"}}},
			{"a topic that is not asked for", []string{"a", "c"}, kmsg.DescribeTopicPartitionsRequestCursor{Topic: "b"}, [][]string{{"a: error 42", "c: error 42"}}},
			{"a negative partition", []string{"a"}, kmsg.DescribeTopicPartitionsRequestCursor{Topic: "a", Partition: -1}, [][]string{{"a: error 42"}}},
		} {
			req := pageRequest(100, test.topics...)
			req.Cursor = &test.cursor
			if diff := cmp.Diff(test.want, r.client("c").pages(req)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}
