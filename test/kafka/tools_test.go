package kafka

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/test/report"
	"rota/test/rig"
)

const tools = "org.apache.kafka.tools."

// bench is a broker and the tools that are used on it. Each use is a subtest
// and a line of the report.
type bench struct {
	*testing.T
	broker *rig.Broker
	client *kgo.Client
	admin  *kadm.Client
	dir    string // for files that tools read
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needsInterop(t)
	if _, err := Install(); err != nil {
		report.Add(report.Outcome{Client: "Kafka's tools", Version: Version, Check: "set-up", Result: report.NotRun, Note: err.Error()})
		t.Skip(err)
	}
	b := rig.Start(t, "group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=0")
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return &bench{t, b, cl, kadm.NewClient(cl), t.TempDir()}
}

// fill creates a topic and gives each of its partitions n records.
func (b *bench) fill(topic string, partitions int32, n int) {
	b.Helper()
	ctx := b.Context()
	if r, err := b.admin.CreateTopic(ctx, partitions, 1, nil, topic); err != nil || r.Err != nil {
		b.Fatal(err, r.Err)
	}
	for p := range partitions {
		for i := range n {
			r := &kgo.Record{Topic: topic, Partition: p, Value: fmt.Appendf(nil, "%d-%d", p, i), Timestamp: time.UnixMilli(int64(i) * 1000)}
			if err := b.client.ProduceSync(ctx, r).FirstErr(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// use runs a tool with the broker's address, and wants code 0 and each of the
// patterns in what it prints. "!" before a pattern wants it absent.
func (b *bench) use(class string, args []string, want ...string) string {
	b.Helper()
	return b.run(class, args, use{want: want})
}

// use is what a tool is given and what is wanted of it.
type use struct {
	input string
	needs kmsg.Key // not run where the broker does not list this API
	want  []string
}

func (b *bench) run(class string, args []string, u use) string {
	b.Helper()
	out := ""
	name := strings.TrimSpace(class[strings.LastIndex(class, ".")+1:] + " " + strings.ReplaceAll(strings.Join(args, " "), b.dir+"/", ""))
	report.Check(b.T, "Kafka's tools", Version, name, func(t *report.T) {
		if u.needs != 0 && !b.lists(u.needs) {
			t.Skip("the broker does not list " + u.needs.Name())
		}
		ctx, cancel := context.WithTimeout(t.Context(), ready)
		defer cancel()
		address := []string{"--bootstrap-server", b.broker.Addr}
		all := append(address, args...)
		if len(args) > 0 && class == "ClusterTool" {
			all = append(slices.Clip(args), address...)
		}
		r, err := Tool(ctx, u.input, tools+class, all...)
		out = r.Out
		switch {
		case err != nil:
			t.Errorf("%v\n%s%s", err, r.Out, r.Errors)
		case r.Code != 0:
			t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Errors)
		}
		for _, w := range u.want {
			pattern, absent := strings.CutPrefix(w, "!")
			if regexp.MustCompile(`(?m)`+pattern).MatchString(r.Out) == absent {
				t.Errorf("wanted %q in\n%s%s", w, r.Out, r.Errors)
			}
		}
	})
	return out
}

// lists says whether the broker serves an API.
func (b *bench) lists(key kmsg.Key) bool {
	versions, err := b.admin.ApiVersions(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range versions {
		if _, ok := v.KeyMaxVersion(key.Int16()); ok {
			return true
		}
	}
	return false
}

func words(line string) []string { return strings.Fields(line) }

func TestToolsTopicsAndConfigs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const topics, configs = "TopicCommand", "ConfigCommand"
	b.use(topics, words("--create --topic made --partitions 3 --config retention.ms=1000000"), `Created topic made\.`)
	b.use(topics, words("--list"), `^made$`)
	b.use(topics, words("--describe --topic made"),
		`Topic: made\s+TopicId: \S{22}\s+PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention.ms=1000000`,
		`Topic: made\s+Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1`)
	b.use(topics, words("--alter --topic made --partitions 5"))
	b.use(topics, words("--describe --topic made"), `PartitionCount: 5`)

	b.use(configs, words("--entity-type topics --entity-name made --alter --add-config max.message.bytes=12345"), `Completed updating config for topic made\.`)
	b.use(configs, words("--entity-type topics --entity-name made --describe"),
		`max.message.bytes=12345 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:max.message.bytes=12345`, `retention.ms=1000000`)
	b.use(configs, words("--entity-type topics --entity-name made --alter --delete-config max.message.bytes"))
	b.use(configs, words("--entity-type topics --entity-name made --describe --all"), `max.message.bytes=1048588`, `cleanup.policy=delete`)
	b.use(configs, words("--entity-type brokers --entity-name 1 --describe --all"), `log.retention.ms|log.retention.hours`)

	b.use(topics, words("--delete --topic made"))
	b.use(topics, words("--list"), `!^made$`)
}

func TestToolsRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill("t", 2, 10)
	b.run("ConsoleProducer", words("--topic c --reader-property parse.key=true --reader-property key.separator=:"),
		use{input: "k1:v1\nk2:v2\nk3:v3\n"})
	b.use("consumer.ConsoleConsumer", words("--topic c --from-beginning --max-messages 3 --timeout-ms 30000 --formatter-property print.key=true"),
		`^k1\s+v1$`, `^k3\s+v3$`)
	b.use("GetOffsetShell", words("--topic t"), `^t:0:10$`, `^t:1:10$`)
	b.use("GetOffsetShell", words("--topic t --time earliest"), `^t:0:0$`)
	b.use("GetOffsetShell", words("--topic t --time 4000"), `^t:0:4$`)
	b.use("GetOffsetShell", words("--topic t --time max-timestamp"), `^t:0:9$`)

	file := filepath.Join(b.dir, "delete.json")
	text := `{"version":1,"partitions":[{"topic":"t","partition":0,"offset":4}]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b.use("DeleteRecordsCommand", []string{"--offset-json-file", file}, `partition: t-0\s+low_watermark: 4`)
	b.use("GetOffsetShell", words("--topic t --time earliest"), `^t:0:4$`, `^t:1:0$`)
	b.run("LogDirsCommand", words("--describe --topic-list t"),
		use{needs: kmsg.DescribeLogDirs, want: []string{`"partition":"t-0"`, `"size":[1-9]`}})
	b.use("ProducerPerformance", words("--topic perf --num-records 20000 --record-size 100 --throughput -1 --command-property acks=all"),
		`20000 records sent`)
	b.use("ConsumerPerformance", words("--topic perf --num-records 20000 --timeout 60000"), `, 20000, `)
}

func TestToolsBroker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.use("BrokerApiVersionsCommand", nil, `\(id: 1 rack: null( isFenced: false)?\) -> \(`, `Produce\(0\): 0 to 1\d`, `JoinGroup\(11\): 0 to 9`, `!ERROR`)
	b.use("ClusterTool", words("cluster-id"), `Cluster ID: \S+`)
	b.use("FeatureCommand", words("describe"), `metadata.version|Feature|^$`)
	b.run("MetadataQuorumCommand", words("describe --status"), use{needs: kmsg.DescribeQuorum, want: []string{`LeaderId:\s+1`}})
	b.run("ConfigCommand", words("--entity-type client-metrics --describe"), use{needs: kmsg.ListConfigResources})
	b.run("ConfigCommand", words("--entity-type clients --describe"), use{needs: kmsg.DescribeClientQuotas})
	b.use("ConfigCommand", words("--entity-type groups --describe"))
	b.run("LeaderElectionCommand", words("--election-type preferred --all-topic-partitions"), use{needs: kmsg.ElectLeaders})
}
