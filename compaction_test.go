package rota_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
	"rota/internal/hooks"
)

// A client finds the last value of each key of a compacted topic, passes over
// what compaction has left of the rest, and goes on producing.
func TestCompactedTopic(t *testing.T) {
	var rooms hooks.Rooms
	ctx := hooks.With(t.Context(), &hooks.Hooks{Started: func(r hooks.Rooms) { rooms = r }})
	b, err := rota.Start(ctx, rota.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	createCompacted(t, cl)
	produce := func(key string, value []byte) {
		t.Helper()
		if err := cl.ProduceSync(ctx, &kgo.Record{Key: []byte(key), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		want := map[string]string{}
		for i := range 300 {
			key := fmt.Sprint("key ", i%20)
			want[key] = fmt.Sprint(round, " ", i)
			produce(key, []byte(want[key]))
		}
		for i := range 3 { // tombstones, the last record one of them
			key := fmt.Sprint("key ", i)
			delete(want, key)
			produce(key, nil)
		}
		for range 2 {
			if err := rooms.Store.Clean(ctx); err != nil {
				t.Fatal(err)
			}
		}
		end := fmt.Sprint("end ", round)
		produce(end, []byte("."))
		got, records := readTo(t, b.Addr(), end)
		for i := range round { // the ends of earlier rounds
			want[fmt.Sprint("end ", i)] = "."
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if records != len(want) {
			t.Errorf("%d records before the end, want %d", records, len(want))
		}
	}
}

func createCompacted(t *testing.T, cl *kgo.Client) {
	t.Helper()
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	for name, value := range map[string]string{"cleanup.policy": "compact", "segment.bytes": "1048576", "delete.retention.ms": "0"} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		topic.Configs = append(topic.Configs, c)
	}
	create.Topics = append(create.Topics, topic)
	resp, err := create.RequestWith(t.Context(), cl)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("create: %v, %+v", err, resp)
	}
}

// readTo consumes from the start up to the key end, and returns the state that
// the records before it add up to, and how many there are.
func readTo(t *testing.T, addr, end string) (state map[string]string, records int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	state = map[string]string{}
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("after %d records: %v", records, err)
		}
		for r := range fetches.RecordsAll() {
			if string(r.Key) == end {
				return state, records
			}
			records++
			if r.Value == nil {
				delete(state, string(r.Key))
			} else {
				state[string(r.Key)] = string(r.Value)
			}
		}
	}
}
