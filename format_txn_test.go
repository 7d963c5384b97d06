package rota_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
)

// The fixture's transactions: of each round some commit and some abort, in
// partition 0 of "moved", with an offset of group "movers" in each. In partition
// 2 one is open for ever, or until its coordinator aborts it.
const fixtureTransactions = 6

func movedValue(round, n int) string { return fmt.Sprintf("round %d transaction %d", round, n) }

func commits(n int) bool { return n%3 != 1 }

func transactional(t *testing.T, b *rota.Broker, id string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func fillTransactions(t *testing.T, b *rota.Broker, cl *kgo.Client, round int) {
	t.Helper()
	producer := transactional(t, b, "mover")
	defer producer.Close()
	for n := range fixtureTransactions {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r := &kgo.Record{Topic: "moved", Value: fmt.Appendf(nil, "%s record %d", movedValue(round, n), i)}
			if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := producer.EndTransaction(t.Context(), kgo.TransactionEndTry(commits(n))); err != nil {
			t.Fatal(err)
		}
		moveOffset(t, cl, int64(100*round+n), commits(n))
	}
}

// moveOffset commits an offset in a transaction of its own.
func moveOffset(t *testing.T, cl *kgo.Client, offset int64, commit bool) {
	t.Helper()
	id := "mover of offsets"
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version, init.TransactionalID, init.TransactionTimeoutMillis = 1, &id, 60_000
	producer := ask(t, cl, init).(*kmsg.InitProducerIDResponse)

	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.Version, add.TransactionalID, add.Group = 1, id, "movers"
	add.ProducerID, add.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
	added := ask(t, cl, add).(*kmsg.AddOffsetsToTxnResponse)

	put := kmsg.NewPtrTxnOffsetCommitRequest()
	put.Version, put.TransactionalID, put.Group, put.Generation = 2, id, "movers", -1
	put.ProducerID, put.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = "orders"
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, new("moved")
	topic.Partitions = append(topic.Partitions, p)
	put.Topics = append(put.Topics, topic)
	committed := ask(t, cl, put).(*kmsg.TxnOffsetCommitResponse)

	end := kmsg.NewPtrEndTxnRequest()
	end.Version, end.TransactionalID, end.Commit = 1, id, commit
	end.ProducerID, end.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
	ended := ask(t, cl, end).(*kmsg.EndTxnResponse)
	for _, code := range []int16{producer.ErrorCode, added.ErrorCode, committed.Topics[0].Partitions[0].ErrorCode, ended.ErrorCode} {
		if err := kerr.ErrorForCode(code); err != nil {
			t.Fatal(err)
		}
	}
}

func leaveOpen(t *testing.T, b *rota.Broker) {
	t.Helper()
	producer := transactional(t, b, "leaver")
	t.Cleanup(producer.Close)
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	r := &kgo.Record{Topic: "moved", Partition: 2, Value: []byte("never")}
	if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func checkTransactions(t *testing.T, b *rota.Broker, cl *kgo.Client) {
	t.Helper()
	var committed, all []string
	last := int64(0)
	for round := range 2 {
		for n := range fixtureTransactions {
			for i := range 3 {
				v := fmt.Sprintf("%s record %d", movedValue(round, n), i)
				all = append(all, v)
				if commits(n) {
					committed = append(committed, v)
				}
			}
			if commits(n) {
				last = int64(100*round + n)
			}
		}
	}
	if diff := cmp.Diff(committed, moved(t, b, kgo.ReadCommitted(), 0, len(committed))); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all, moved(t, b, kgo.ReadUncommitted(), 0, len(all))); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"never"}, moved(t, b, kgo.ReadUncommitted(), 2, 1)); diff != "" {
		t.Errorf("of the open transaction (-want +got):\n%s", diff)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group, fetch.RequireStable = 7, "movers", true
	offsets := ask(t, cl, fetch).(*kmsg.OffsetFetchResponse)
	if len(offsets.Topics) != 1 || offsets.Topics[0].Partitions[0].Offset != last {
		t.Errorf("offsets are %+v, want %d", offsets.Topics, last)
	}
}

// moved reads n records of a partition of "moved".
func moved(t *testing.T, b *rota.Broker, level kgo.IsolationLevel, partition int32, n int) (values []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.FetchIsolationLevel(level),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"moved": {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for len(values) < n {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("after %q: %v", values, err)
		}
		f.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}
