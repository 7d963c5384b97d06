package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// runJava has Kafka's own perf tests drive the broker: Java's producer and
// consumer, with the defaults of the tools.
func runJava(s *session) error {
	const partitions = 6
	if err := createTopic(s.ctx, s.addr(), "java", partitions); err != nil {
		return err
	}
	n := s.sized(1_000_000, 150_000)
	warm := n
	produce := func(topic string, records int) (string, error) {
		return s.tool("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", strconv.Itoa(records),
			"--record-size", strconv.Itoa(recordBytes), "--throughput", "-1", "--bootstrap-server", s.addr())
	}
	if err := createTopic(s.ctx, s.addr(), "java-warm", partitions); err != nil {
		return err
	}
	if _, err := produce("java-warm", warm); err != nil {
		return err
	}
	m := s.meter()
	out, err := produce("java", n)
	if err != nil {
		return err
	}
	r, err := producerSummary(out)
	if err != nil {
		return err
	}
	r.Name = "ProducerPerformance, 1 KiB, its defaults, 6 partitions"
	r.CPUMillion = m.once(row{}).CPU / float64(n) * 1e6
	s.add(r)
	consume := func(topic string) (string, error) {
		return s.tool("org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", s.addr(), "--topic", topic,
			"--num-records", strconv.Itoa(n), "--group", "perf-"+topic, "--hide-header", "--timeout", "30000",
			"--command-property", "auto.offset.reset=earliest")
	}
	if err := s.findCoordinator("perf-java-warm", "perf-java"); err != nil {
		return err
	}
	if _, err := consume("java-warm"); err != nil {
		return err
	}
	m = s.meter()
	if out, err = consume("java"); err != nil {
		return err
	}
	if r, err = consumerSummary(out, n); err != nil {
		return err
	}
	r.Name = "ConsumerPerformance, its defaults, 6 partitions"
	r.CPUMillion = m.once(row{}).CPU / float64(n) * 1e6
	s.add(r)
	return nil
}

// tool runs the main class of a command line tool.
func (s *session) tool(class string, args ...string) (string, error) {
	cmd, err := java([]string{"-Xms256m", "-Xmx512m"}, append([]string{class}, args...)...)
	if err != nil {
		return "", err
	}
	bound := exec.CommandContext(s.ctx, cmd.Path, cmd.Args[1:]...)
	out, err := bound.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", class, err, out[max(0, len(out)-1000):])
	}
	return string(out), nil
}

var summary = regexp.MustCompile(`records sent, ([\d.]+) records/sec .*? ([\d.]+) ms 50th, ([\d.]+) ms 95th, ([\d.]+) ms 99th, ([\d.]+) ms 99\.9th`)

// producerSummary is the last line of ProducerPerformance.
func producerSummary(out string) (row, error) {
	all := summary.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return row{}, fmt.Errorf("ProducerPerformance printed no summary: %s", out[max(0, len(out)-500):])
	}
	f := all[len(all)-1]
	return row{Rate: number(f[1]), Unit: "rec/s", P50: number(f[2]), P99: number(f[4]), P999: number(f[5])}, nil
}

// consumerSummary takes the time of fetching, without that of the rebalance,
// from the line of ConsumerPerformance: start, end, MB, MB/s, records,
// records/s, rebalance ms, fetch ms, and the rates of fetching.
func consumerSummary(out string, n int) (row, error) {
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 10 {
			continue
		}
		if got := number(f[4]); got < float64(n) {
			return row{}, fmt.Errorf("ConsumerPerformance read %.0f of %d records", got, n)
		}
		return row{Rate: number(f[9]), Unit: "rec/s"}, nil
	}
	return row{}, fmt.Errorf("ConsumerPerformance printed no result: %s", out[max(0, len(out)-500):])
}
