package workloads

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
	"rota/test/rig"
)

// committedReader reads what is committed in a topic.
func committedReader(t *report.T, b *rig.Broker, topic string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestStreamsExactlyOnce counts words with exactly_once_v2 while the
// application is killed twice and the broker once. A word that was counted
// twice would stay counted twice.
func TestStreamsExactlyOnce(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	report.Check(t, "Kafka Streams", version, "word count, exactly once over kills", func(t *report.T) {
		ctx, jars, b, cl := prepare(t)
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, 3, 1, nil, "lines", "counts"); err != nil {
			t.Fatal(err)
		}
		state := t.TempDir()
		run := func() *process {
			p, err := start(jars, state, "256m", "rota.workloads.WordCount", "brokers="+b.Addr, "state="+state, "guarantee=exactly_once_v2")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			return p
		}
		want := map[string]uint64{}
		say := func(from, n int) {
			t.Helper()
			var records []*kgo.Record
			for i := range n {
				line := fmt.Sprintf("every w%d w%d", (from+i)%7, (from+i)%11)
				records = append(records, kgo.KeyStringRecord(fmt.Sprint(i), line))
				for word := range strings.FieldsSeq(line) {
					want[word]++
				}
			}
			if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		counted := committedReader(t, b, "counts")
		counts := map[string]uint64{}
		read := func() {
			poll, cancel := context.WithTimeout(ctx, pollTime)
			defer cancel()
			counted.PollFetches(poll).EachRecord(func(r *kgo.Record) {
				n := binary.BigEndian.Uint64(r.Value)
				if before := counts[string(r.Key)]; n <= before {
					t.Errorf("the count of %s came to %d after %d", r.Key, n, before)
				}
				counts[string(r.Key)] = n
			})
		}
		atLeast := func(n uint64) func() bool { return func() bool { read(); return counts["every"] >= n } }
		app := run()
		say(0, 200)
		eventually(ctx, t, "the first counts", atLeast(1), app)
		app.kill()
		say(200, 200)
		app = run()
		eventually(ctx, t, "counts after a kill of the application", atLeast(250), app)
		say(400, 200)
		b.Restart()
		say(600, 200)
		eventually(ctx, t, "counts after a kill of the broker", atLeast(650), app)
		app.kill()
		say(800, 200)
		app = run()
		eventually(ctx, t, "all counts", func() bool { read(); return cmp.Equal(want, counts) || counts["every"] > want["every"] }, app)
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("(-said +counted):\n%s", diff)
		}
	})
}

// TestConnectExactlyOnce reads a file into a topic with a source connector that
// commits its records and its place in the file in one transaction. The worker
// that runs it is killed: every line is in the topic, and once.
func TestConnectExactlyOnce(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	report.Check(t, "Kafka Connect", version, "exactly-once source, its worker killed", func(t *report.T) {
		ctx, jars, b, cl := prepare(t)
		if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, "copied"); err != nil {
			t.Fatal(err)
		}
		plugins := pluginFolder(t, jars)
		const enabled = "exactly.once.source.support=enabled"
		workers := []*worker{startWorker(t, jars, b.Addr, plugins, enabled), startWorker(t, jars, b.Addr, plugins, enabled)}
		programs := []*process{workers[0].process, workers[1].process}
		for _, w := range workers {
			eventually(ctx, t, "a worker serves", func() bool { return w.ask(ctx, http.MethodGet, "/connectors", nil, nil) == nil }, programs...)
		}
		from := filepath.Join(t.TempDir(), "from")
		var want []string
		write := func(n int) {
			t.Helper()
			var lines strings.Builder
			for range n {
				line := fmt.Sprintf("line %d", len(want))
				want = append(want, line)
				lines.WriteString(line + "\n")
			}
			f, err := os.OpenFile(from, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(lines.String()); err != nil {
				t.Fatal(err)
			}
		}
		write(50)
		config := map[string]string{
			"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1", "file": from, "topic": "copied",
			"exactly.once.support": "required", "transaction.boundary": "poll",
		}
		eventually(ctx, t, "the connector is made", func() bool {
			return workers[0].ask(ctx, http.MethodPut, "/connectors/source/config", config, nil) == nil
		}, programs...)
		reader := committedReader(t, b, "copied")
		var got []string
		arrived := func() bool {
			poll, cancel := context.WithTimeout(ctx, pollTime)
			defer cancel()
			reader.PollFetches(poll).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
			return len(got) >= len(want)
		}
		eventually(ctx, t, "the file is in the topic", arrived, programs...)
		victim, survivor := workers[0], workers[1]
		if workers[1].runsOn(ctx, "source") == workers[1].rest {
			victim, survivor = workers[1], workers[0]
		}
		write(200)
		victim.kill()
		write(50)
		eventually(ctx, t, "what was added is in the topic", arrived, survivor.process)
		write(20)
		eventually(ctx, t, "the last lines are in the topic", arrived, survivor.process)
		arrived() // once more, for a line that came again
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}
