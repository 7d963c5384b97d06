package workloads

import (
	"context"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
	"rota/test/rig"
)

func TestMain(m *testing.M) { os.Exit(report.Main(m, "workloads")) }

const (
	version = "4.4.0"
	limit   = 4 * time.Minute
	// pollTime is how long one look at a topic waits.
	pollTime = 100 * time.Millisecond
)

// prepare installs the programs and starts a broker.
func prepare(t *report.T) (ctx context.Context, jars string, b *rig.Broker, cl *kgo.Client) {
	t.Helper()
	jars, err := Install()
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	b = rig.Start(t, "group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=200")
	cl, err = kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic("lines"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return ctx, jars, b, cl
}

func eventually(ctx context.Context, t *report.T, what string, ok func() bool, programs ...*process) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			var said strings.Builder
			for _, p := range programs {
				said.WriteString("\n--- program:\n" + p.output())
			}
			t.Fatalf("never: %s%s", what, said.String())
		case <-tick.C:
		}
	}
}

// TestStreams counts words with Kafka Streams, over a kill of the broker and a
// restart of the application.
func TestStreams(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	report.Check(t, "Kafka Streams", version, "word count over restarts", func(t *report.T) {
		ctx, jars, b, cl := prepare(t)
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, 3, 1, nil, "lines", "counts"); err != nil {
			t.Fatal(err)
		}
		state := t.TempDir()
		run := func() *process {
			p, err := start(jars, state, "256m", "rota.workloads.WordCount", "brokers="+b.Addr, "state="+state)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			return p
		}
		say := func(line string) {
			t.Helper()
			if err := cl.ProduceSync(ctx, kgo.StringRecord(line), kgo.StringRecord(line)).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		cl.AddConsumeTopics("counts")
		counts := map[string]uint64{}
		come := func(want map[string]uint64) func() bool {
			return func() bool {
				poll, cancel := context.WithTimeout(ctx, pollTime)
				defer cancel()
				cl.PollFetches(poll).EachRecord(func(r *kgo.Record) { counts[string(r.Key)] = binary.BigEndian.Uint64(r.Value) })
				return cmp.Equal(want, counts)
			}
		}
		app := run()
		say("to be or not to be")
		eventually(ctx, t, "the first counts", come(map[string]uint64{"to": 4, "be": 4, "or": 2, "not": 2}), app)
		b.Restart()
		say("that is to be")
		want := map[string]uint64{"to": 6, "be": 6, "or": 2, "not": 2, "that": 2, "is": 2}
		eventually(ctx, t, "counts after a kill of the broker", come(want), app)
		_ = app.close()
		<-app.done
		say("or not")
		app = run()
		want["or"], want["not"] = 4, 4
		eventually(ctx, t, "counts after a restart of the application", come(want), app)
	})
}
