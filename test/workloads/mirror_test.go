package workloads

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/kafka"
	"rota/test/report"
)

// TestMirrorMaker copies a topic and a group's offsets from Apache Kafka to
// Rota.
func TestMirrorMaker(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	report.Check(t, "MirrorMaker 2", "4.3.1", "from Apache Kafka, with translated offsets", func(t *report.T) {
		path, err := InstallMirror()
		if err != nil {
			t.Skip(err)
		}
		ctx, _, b, target := prepare(t)
		from := kafka.Start(t)
		source, err := kgo.NewClient(kgo.SeedBrokers(from.Addr), kgo.DefaultProduceTopic("orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		if _, err := kadm.NewClient(source).CreateTopic(ctx, 1, 1, nil, "orders"); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			r := &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Append(nil, "order ", i), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{byte(i)}}}}
			if err := source.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		var committed kadm.Offsets
		committed.AddOffset("orders", 0, 20, -1)
		if err := kadm.NewClient(source).CommitAllOffsets(ctx, "shop", committed); err != nil {
			t.Fatal(err)
		}

		mirror, err := startOn(path, t.TempDir(), "384m", "org.apache.kafka.connect.mirror.MirrorMaker", mirrorConfig(t, from.Addr, b.Addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(mirror.kill)
		target.AddConsumeTopics("kafka.orders")
		var got []*kgo.Record
		eventually(ctx, t, "20 records are copied", func() bool {
			poll, cancel := context.WithTimeout(ctx, pollTime)
			defer cancel()
			got = append(got, target.PollFetches(poll).Records()...)
			return len(got) >= 20
		}, mirror)
		for i, r := range got {
			if string(r.Key) != fmt.Sprint(i) || string(r.Value) != fmt.Sprint("order ", i) || len(r.Headers) != 1 || r.Headers[0].Value[0] != byte(i) {
				t.Errorf("record %d is %s=%s %v", i, r.Key, r.Value, r.Headers)
			}
		}
		eventually(ctx, t, "the group's offset is translated", func() bool {
			offsets, err := kadm.NewClient(target).FetchOffsets(ctx, "shop")
			if err != nil {
				return false
			}
			o, ok := offsets.Lookup("kafka.orders", 0)
			return ok && o.At == 20
		}, mirror)
	})
}

func mirrorConfig(t *report.T, from, to string) string {
	t.Helper()
	lines := []string{
		"clusters=kafka,rota", "kafka.bootstrap.servers=" + from, "rota.bootstrap.servers=" + to,
		"kafka->rota.enabled=true", "rota->kafka.enabled=false", "kafka->rota.topics=orders", "kafka->rota.groups=shop",
		"replication.factor=1", "checkpoints.topic.replication.factor=1", "heartbeats.topic.replication.factor=1",
		"offset-syncs.topic.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
		"config.storage.replication.factor=1", "sync.group.offsets.enabled=true", "sync.group.offsets.interval.seconds=1",
		"emit.checkpoints.interval.seconds=1", "refresh.topics.interval.seconds=2", "refresh.groups.interval.seconds=2",
		"offset.lag.max=0", "offset.flush.interval.ms=500", "emit.heartbeats.enabled=false",
	}
	path := filepath.Join(t.TempDir(), "mm2.properties")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
