package suites

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"rota/test/report"
	"rota/test/rig"
)

const saramaLimit = 10 * time.Minute

// reasons say why tests of sarama's suite cannot pass here. They may pass when
// chance picks the right one of the five addresses of the broker.
var reasons = map[string]string{
	"TestConsumerFetchFollowerFailover":                   "wants followers that serve fetches",
	"TestFuncAdminAlterPartitionReassignments":            "moves replicas between brokers",
	"TestFuncAdminDescribeLogDirs":                        "wants answers of five brokers",
	"TestFuncAdminIncrementalAlterConfigs":                "changes log.cleaner.backoff.ms, which Rota reads at its start",
	"TestFuncAdminListConsumerGroupOffsets":               "stops a broker with docker compose",
	"TestFuncAdminNetworkErrorClosesControllerConnection": "cuts the first address of the controller, which has five",
	"TestFuncAdminListOffsets":                            "wants to see at once what was acknowledged with acks=1: Rota shows what is durable",
	"TestFuncAdminQuotas":                                 "sets client quotas, of which Rota has none",
	"TestFuncIdempotentBufferedSequence":                  "reads the brokers' logs with docker compose",
}

// TestSarama runs sarama's functional suite, which wants five brokers on fixed
// ports behind toxiproxy: one broker with five listeners, each behind a proxy.
func TestSarama(t *testing.T) {
	if !report.Full() {
		t.Skip("INTEROP is not full: make suites runs sarama's suite")
	}
	if !inside(t, "sarama", 2*saramaLimit) {
		return
	}
	p := build(t, "github.com/IBM/sarama", "", "functional")
	report.Check(t, "sarama's own functional suite", p.version, "one broker with five listeners", func(t *report.T) {
		var args []string
		var list []*proxy
		for i := 1; i <= 5; i++ {
			listen, advertised := fmt.Sprintf("127.0.0.1:%d", 19090+i), fmt.Sprintf("127.0.0.1:%d", 29090+i)
			listener := fmt.Sprintf("l%d", i)
			if i == 1 {
				listener = "default"
			} else {
				args = append(args, "--listen", listener+"="+listen)
			}
			args = append(args, "--advertise", listener+"="+advertised)
			list = append(list, &proxy{Name: fmt.Sprintf("kafka%d", i), Listen: advertised, Upstream: listen})
		}
		b := rig.StartOn(t.T, "127.0.0.1:19091", append(args, "--set", "auto.create.topics.enable=false", "--set", "group.initial.rebalance.delay.ms=0")...)
		defer b.Stop()
		s := suite{p, []string{"TOXIPROXY_ADDR=" + startProxies(t.T, list...), "KAFKA_VERSION=4.0.0"}, saramaLimit}
		r := s.run(t, "rota", "-test.run=^(TestFunc|TestConsumer|TestVersionMatrix|TestReadOnly|TestInterceptors|TestAsyncProducerRemoteBrokerClosed|TestJava)", "-test.skip=Txn|Transactions|InitProducerId3")
		var failed, known []string
		for _, name := range slices.Sorted(maps.Keys(r.failed)) {
			switch why := reasons[name]; {
			case why != "":
				known = append(known, name+" "+why)
			case !hasDeeper(r.failed, name):
				failed = append(failed, name)
			}
		}
		if len(failed) > 0 || len(r.passed) < 50 {
			t.Errorf("%d pass, and these do not: %s\n%s", len(r.passed), strings.Join(failed, ", "), r.said())
		}
		t.Note(fmt.Sprintf("%d tests pass; not those that one broker cannot pass: %s", len(r.passed), strings.Join(known, "; ")))
	})
}
