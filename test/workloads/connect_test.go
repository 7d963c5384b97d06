package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/test/report"
)

// answerTime is how long a worker may take for an answer.
const answerTime = 20 * time.Second

// worker is a Connect process of the group.
type worker struct {
	*process
	rest string
}

func freeAddress(t *report.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startWorker runs a distributed worker: its group has the protocol type
// "connect", and its topics are compacted.
func startWorker(t *report.T, jars, broker, plugins string, more ...string) *worker {
	t.Helper()
	rest, dir := freeAddress(t), t.TempDir()
	config := strings.Join(append([]string{
		"bootstrap.servers=" + broker, "group.id=connect-cluster", "listeners=HTTP://" + rest,
		"config.storage.topic=connect-configs", "offset.storage.topic=connect-offsets", "status.storage.topic=connect-status",
		"config.storage.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
		"offset.storage.partitions=3", "status.storage.partitions=2", "offset.flush.interval.ms=300",
		"key.converter=org.apache.kafka.connect.storage.StringConverter", "value.converter=org.apache.kafka.connect.storage.StringConverter",
		"session.timeout.ms=6000", "heartbeat.interval.ms=500", "scheduled.rebalance.max.delay.ms=1000",
		"plugin.path=" + plugins, "plugin.discovery=service_load",
	}, more...), "\n")
	path := filepath.Join(dir, "worker.properties")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := start(jars, dir, "384m", "org.apache.kafka.connect.cli.ConnectDistributed", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return &worker{p, rest}
}

// ask sends a request to the worker and decodes its answer.
func (w *worker) ask(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+w.rest+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", answer.Status, all)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(all, into)
	}
	return err
}

// runsOn is the worker that runs task 0 of a connector; "" if it does not run.
func (w *worker) runsOn(ctx context.Context, connector string) string {
	var status struct {
		Tasks []struct {
			State    string
			WorkerID string `json:"worker_id"`
		}
	}
	if w.ask(ctx, http.MethodGet, "/connectors/"+connector+"/status", nil, &status) != nil || len(status.Tasks) == 0 || status.Tasks[0].State != "RUNNING" {
		return ""
	}
	return status.Tasks[0].WorkerID
}

// TestConnect copies a file through Rota with two workers. The one that reads
// or writes is killed: the other takes its tasks and goes on where it was.
func TestConnect(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	report.Check(t, "Kafka Connect", version, "file to file with two workers, one killed", func(t *report.T) {
		ctx, jars, b, _ := prepare(t)
		plugins := pluginFolder(t, jars)
		workers := []*worker{startWorker(t, jars, b.Addr, plugins), startWorker(t, jars, b.Addr, plugins)}
		programs := []*process{workers[0].process, workers[1].process}
		for _, w := range workers {
			eventually(ctx, t, "a worker serves", func() bool { return w.ask(ctx, http.MethodGet, "/connectors", nil, nil) == nil }, programs...)
		}
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		var want []string
		write := func(lines ...string) {
			t.Helper()
			want = append(want, lines...)
			f, err := os.OpenFile(from, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
				t.Fatal(err)
			}
		}
		create := func(name string, config map[string]string) {
			t.Helper()
			var err error
			ok := func() bool {
				// While the group rebalances a worker refuses with 409.
				err = workers[0].ask(ctx, http.MethodPut, "/connectors/"+name+"/config", config, nil)
				return err == nil
			}
			eventually(ctx, t, "the connector is made", ok, programs...)
		}
		write("one", "two", "three")
		create("source", map[string]string{
			"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1", "file": from, "topic": "copied",
		})
		create("sink", map[string]string{
			"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1", "file": to, "topics": "copied",
			"consumer.override.auto.offset.reset": "earliest", "consumer.override.session.timeout.ms": "3000",
			"consumer.override.heartbeat.interval.ms": "300",
		})
		arrived := func() bool { return cmp.Equal(want, unique(to)) }
		eventually(ctx, t, "the file is copied", arrived, programs...)

		victim, survivor := workers[0], workers[1]
		if workers[1].runsOn(ctx, "source") == workers[1].rest {
			victim, survivor = workers[1], workers[0]
		}
		victim.kill()
		eventually(ctx, t, "the survivor runs both tasks", func() bool {
			return survivor.runsOn(ctx, "source") == survivor.rest && survivor.runsOn(ctx, "sink") == survivor.rest
		}, survivor.process)
		write("four", "five")
		eventually(ctx, t, "what was added is copied", arrived, survivor.process)
		if got := unique(to); !cmp.Equal(want, got) {
			t.Errorf("copied %v", got)
		}
	})
}

// pluginFolder is one that has the file connectors and nothing else.
func pluginFolder(t *report.T, jars string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(jars, "dependency", "connect-file-*.jar"))
	if err != nil || len(found) != 1 {
		t.Fatal("the file connectors are not there: ", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(found[0])), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unique is the lines of a file in order, each once: Connect may copy a line
// again after a kill.
func unique(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var all []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); !seen[line] {
			seen[line] = true
			all = append(all, line)
		}
	}
	return all
}
