package kafka

import (
	"context"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
)

func TestMain(m *testing.M) { os.Exit(report.Main(m, "kafka")) }

func needsInterop(t *testing.T) {
	t.Helper()
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
}

// The broker to compare with is one: it takes a record and gives it back.
func TestKafkaServes(t *testing.T) {
	needsInterop(t)
	b := Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), ready)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumeTopics("t"), kgo.DefaultProduceTopic("t"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ConsumerGroup("g"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	f := cl.PollFetches(ctx)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if r := f.Records(); len(r) != 1 || string(r[0].Value) != "v" {
		t.Errorf("read %v", r)
	}
}
