package rota_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"rota"
)

var makeFixture = flag.String("make-fixture", "", "write testdata/format/NAME.tar.gz with a folder of this version")

// Folders of released versions open for ever. Each fixture is a copy of a
// folder in use, as a power cut would have left it: some of it in segments,
// the rest in the journal.
func TestFoldersOfEarlierVersionsOpen(t *testing.T) {
	if *makeFixture != "" {
		writeFixture(t, filepath.Join("testdata", "format", *makeFixture+".tar.gz"))
	}
	fixtures, err := filepath.Glob(filepath.Join("testdata", "format", "*.tar.gz"))
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, name := range fixtures {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tar.gz"), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, name, dir)
			for range 2 { // what this version has made of it must open too
				b, cl := startOn(t, dir)
				topics := []string{"__consumer_offsets", "orders"}
				if filepath.Base(name) != "v1.tar.gz" { // which knew no transactions
					topics = []string{"__consumer_offsets", "__transaction_state", "moved", "orders"}
					checkTransactions(t, b, cl)
				}
				checkFixture(t, b, cl, topics)
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func startOn(t *testing.T, dir string) (*rota.Broker, *kgo.Client) {
	t.Helper()
	b, err := rota.Start(t.Context(), rota.Config{DataDir: dir, Properties: map[string]string{
		"group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1", "offsets.retention.minutes": "2000000000",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequestRetries(20),
		kgo.MaxVersions(kversion.V2_4_0())) // one form of each request
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return b, cl
}

// fixtureValue is what stands at an offset of the fixture's topic.
func fixtureValue(partition int32, offset int) string {
	return fmt.Sprintf("value %d of partition %d %s", offset, partition, strings.Repeat("-", offset%50))
}

const (
	fixturePartitions = 3
	fixtureRecords    = 400
)

func writeFixture(t *testing.T, name string) {
	dir := t.TempDir()
	b, cl := startOn(t, dir)
	createTopics(t, cl, "orders", "gone", "moved")
	fill(t, b, 0, fixtureRecords/2)
	fillTransactions(t, b, cl, 0)
	joinFixtureGroup(t, cl)
	commitFixture(t, cl, "billing-simple", 7)

	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Version, del.TopicNames, del.TimeoutMillis = 3, []string{"gone"}, 10_000
	ask(t, cl, del)
	// A clean stop moves the tail into segments; what follows stays in the journal.
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b, cl = startOn(t, dir)
	fill(t, b, fixtureRecords/2, fixtureRecords)
	fillTransactions(t, b, cl, 1)
	leaveOpen(t, b)
	commitFixture(t, cl, "billing-simple", 9)
	pack(t, dir, name)
}

func createTopics(t *testing.T, cl *kgo.Client, names ...string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	for _, name := range names {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, fixturePartitions, 1
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = "retention.ms", new("-1")
		topic.Configs = append(topic.Configs, c)
		req.Topics = append(req.Topics, topic)
	}
	for _, topic := range ask(t, cl, req).(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			t.Fatal(err)
		}
	}
}

// fill produces with another codec in each partition.
func fill(t *testing.T, b *rota.Broker, from, to int) {
	t.Helper()
	for p, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.ZstdCompression()} {
		producer, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i += 20 {
			var records []*kgo.Record
			for o := i; o < i+20; o++ {
				records = append(records, &kgo.Record{
					Topic: "orders", Partition: int32(p), Key: fmt.Appendf(nil, "%d", o), Value: []byte(fixtureValue(int32(p), o)),
					Headers: []kgo.RecordHeader{{Key: "n", Value: []byte{byte(o)}}},
				})
			}
			if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		producer.Close()
	}
}

// joinFixtureGroup leaves a static member in a Stable group.
func joinFixtureGroup(t *testing.T, cl *kgo.Client) {
	t.Helper()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType, join.InstanceID = 7, "billing", "consumer", new("till-1")
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 1_800_000, 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 0, 0, 0, 0, 1, 0, 6, 'o', 'r', 'd', 'e', 'r', 's', 255, 255, 255, 255}
	join.Protocols = append(join.Protocols, p)
	joined := ask(t, cl, join).(*kmsg.JoinGroupResponse)
	if err := kerr.ErrorForCode(joined.ErrorCode); err != nil {
		t.Fatal(err)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.Generation, sync.MemberID, sync.InstanceID = 3, "billing", joined.Generation, joined.MemberID, join.InstanceID
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = joined.MemberID, []byte("the whole topic")
	sync.GroupAssignment = append(sync.GroupAssignment, a)
	if err := kerr.ErrorForCode(ask(t, cl, sync).(*kmsg.SyncGroupResponse).ErrorCode); err != nil {
		t.Fatal(err)
	}
}

func commitFixture(t *testing.T, cl *kgo.Client, group string, offset int64) {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 7, group, -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "orders"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = 1, offset, new("so far")
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	if err := kerr.ErrorForCode(ask(t, cl, req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

func checkFixture(t *testing.T, b *rota.Broker, cl *kgo.Client, topics []string) {
	t.Helper()
	checkRecords(t, b)
	meta := kmsg.NewPtrMetadataRequest()
	meta.Version = 5
	var names []string
	for _, topic := range ask(t, cl, meta).(*kmsg.MetadataResponse).Topics {
		// That of the history comes with the first event that is written.
		if *topic.Topic != "__group_events" {
			names = append(names, *topic.Topic)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(topics, names); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Version, describe.Groups = 4, []string{"billing"}
	g := ask(t, cl, describe).(*kmsg.DescribeGroupsResponse).Groups[0]
	if g.State != "Stable" || len(g.Members) != 1 || *g.Members[0].InstanceID != "till-1" || string(g.Members[0].MemberAssignment) != "the whole topic" {
		t.Errorf("the group is %+v", g)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group = 7, "billing-simple"
	offsets := ask(t, cl, fetch).(*kmsg.OffsetFetchResponse)
	if len(offsets.Topics) != 1 || offsets.Topics[0].Partitions[0].Offset != 9 || *offsets.Topics[0].Partitions[0].Metadata != "so far" {
		t.Errorf("offsets are %+v", offsets.Topics)
	}
}

func checkRecords(t *testing.T, b *rota.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	next := map[int32]int{}
	for n := 0; n < fixturePartitions*fixtureRecords; {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			want := next[r.Partition]
			next[r.Partition]++
			n++
			if r.Offset != int64(want) || string(r.Value) != fixtureValue(r.Partition, want) || string(r.Key) != fmt.Sprint(want) || len(r.Headers) != 1 {
				t.Fatalf("partition %d, offset %d: got offset %d, %q", r.Partition, want, r.Offset, r.Value)
			}
		})
	}
}

// ask sends a request until the coordinator has loaded.
func ask(t *testing.T, cl *kgo.Client, req kmsg.Request) kmsg.Response {
	t.Helper()
	resp, err := cl.Request(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func pack(t *testing.T, dir, name string) {
	t.Helper()
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestCompression)
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err := errors.Join(err, w.Close(), z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, name, dir string) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
