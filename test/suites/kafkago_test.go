package suites

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rota/test/kafka"
	"rota/test/report"
	"rota/test/rig"
)

const kafkaGoLimit = 10 * time.Minute

// chosen are tests of kafka-go's suite that Rota fails by choice.
var chosen = map[string]string{
	"TestConn/test_delete_topics": createsAtOnce, "TestConn/test_delete_topics_with_an_invalid_topic": createsAtOnce,
}

const createsAtOnce = "asks for the metadata of a topic that it has just deleted, which creates it anew, " +
	"and wants it to have no partitions yet: Rota answers with the topic that it has created, Kafka while it does"

// TestKafkaGo runs kafka-go's suite, which wants its broker at localhost:9092.
func TestKafkaGo(t *testing.T) {
	if !report.Full() {
		t.Skip("INTEROP is not full: make suites runs kafka-go's suite")
	}
	if !inside(t, "kafka-go", 3*kafkaGoLimit) {
		return
	}
	p := build(t, "github.com/segmentio/kafka-go", "", "")
	const addr = "127.0.0.1:9092"
	settings := []string{"message.max.bytes=200000000", "group.initial.rebalance.delay.ms=0"}
	s := suite{p, []string{"KAFKA_SKIP_NETTEST=1"}, kafkaGoLimit}
	// A nil pointer in this test ends the whole suite, on Kafka as well; transactions have a suite of their own.
	const skip = "-test.skip=Txn|TestReaderConsumerGroup/consumer_group_commits_on_close"
	report.Check(t, "kafka-go's own suite", p.version, "what passes on Apache Kafka "+kafka.Version, func(t *report.T) {
		args := []string{"--advertise", "localhost:9092"}
		for _, v := range settings {
			args = append(args, "--set", v)
		}
		b := rig.StartOn(t.T, addr, args...)
		ours := s.run(t, "rota", skip)
		b.Stop()
		k := kafka.StartOn(t.T, addr, append(settings, "advertised.listeners=PLAINTEXT://localhost:9092")...)
		theirs := s.run(t, "kafka", skip)
		compare(t, ours, theirs, k)
	})
}

// suite is how a program is run.
type suite struct {
	program
	env   []string
	limit time.Duration
}

// run runs the suite against the broker that listens.
func (s suite) run(t *report.T, name string, args ...string) result {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := s.command(t.Context(), s.env, append(args, "-test.timeout="+s.limit.String())...)
	cmd.Stdout, cmd.Stderr = output, output
	_ = cmd.Run() // some tests fail: which ones is what is compared
	return read(t, output.Name())
}

// compare wants each test that passes on Apache Kafka to pass on Rota.
func compare(t *report.T, ours, theirs result, k *kafka.Broker) {
	t.Helper()
	if len(theirs.passed) < 300 {
		t.Fatalf("only %d tests pass on Apache Kafka\n%s\n%s", len(theirs.passed), theirs.end(20), k.Log())
	}
	var missing, byChoice []string
	for _, name := range slices.Sorted(maps.Keys(theirs.passed)) {
		switch why := chosen[name]; {
		case ours.passed[name], hasDeeper(ours.failed, name): // a subtest says more
		case why != "":
			byChoice = append(byChoice, name+" "+why)
		default:
			missing = append(missing, name)
		}
	}
	var neither []string
	for _, name := range slices.Sorted(maps.Keys(theirs.failed)) {
		if !ours.passed[name] && !hasDeeper(theirs.failed, name) {
			neither = append(neither, name)
		}
	}
	note := fmt.Sprintf("%d tests pass on Apache Kafka; not on Rota by choice: %s; on neither: %s",
		len(theirs.passed), strings.Join(byChoice, "; "), strings.Join(neither, ", "))
	if len(missing) > 0 {
		t.Errorf("on Kafka but not on Rota: %s; %s\n%s", strings.Join(missing, ", "), note, ours.said())
	}
	t.Note(note)
}

// hasDeeper reports whether a subtest of the named test is in the set.
func hasDeeper(set map[string]bool, name string) bool {
	for other := range set {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}
