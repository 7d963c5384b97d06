package main

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func runs(k kind, rates ...float64) []*measured {
	var out []*measured
	for _, r := range rates {
		out = append(out, &measured{Workload: "consume", Durability: unflushed, Broker: k, Rows: []row{{Name: franzConsumed, Rate: r, Unit: "rec/s", CPUMillion: 1e6 / r}}})
	}
	return out
}

// The figure of several runs is their median, and the ratio is of the medians.
func TestMedianAndRatio(t *testing.T) {
	r := &report{Runs: append(runs(rotaBroker, 300, 100, 200), runs(kafkaBroker, 100, 50)...)}
	if got := median(r.of("consume", unflushed, rotaBroker), franzConsumed).Rate; got != 200 {
		t.Errorf("median of 300, 100, 200 is %v", got)
	}
	if got := median(r.of("consume", unflushed, kafkaBroker), franzConsumed).Rate; got != 75 {
		t.Errorf("median of 100, 50 is %v", got)
	}
	if got, ok := r.ratio("consume", unflushed, franzConsumed, "rate"); !ok || got != 200./75 {
		t.Errorf("ratio %v, %v", got, ok)
	}
	if _, ok := r.ratio("consume", unflushed, franzConsumed, "p99"); ok {
		t.Error("a figure that was not measured has a ratio")
	}
	if _, ok := r.ratio("consume", flushed, franzConsumed, "rate"); ok {
		t.Error("flushed is compared with unflushed")
	}
}

// New runs of a broker take the place of its old ones and leave others alone.
func TestReplace(t *testing.T) {
	r := &report{Runs: append(runs(rotaBroker, 1), runs(kfakeBroker, 5)...)}
	r.replace("consume", unflushed, append(runs(rotaBroker, 2, 4), runs(kafkaBroker, 1)...))
	if got := median(r.of("consume", unflushed, rotaBroker), franzConsumed).Rate; got != 3 {
		t.Errorf("the old run still counts: %v", got)
	}
	if len(r.of("consume", unflushed, kfakeBroker)) != 1 {
		t.Error("the runs of a broker that was not measured again are gone")
	}
}

// The page has the targets with what was reached, and a table of each workload.
func TestPage(t *testing.T) {
	r := &report{Runs: append(runs(rotaBroker, 300), runs(kafkaBroker, 100)...)}
	page := r.page()
	for _, want := range []string{
		"| consume throughput, franz-go (consume) | rate | at least 1.2x | 3.00x | reached |",
		"| produce throughput, 1 partition (produce) | rate | at least 1.0x | not measured |  |",
		"### consume, unflushed", "| " + franzConsumed + " | rota | 300 rec/s |", "| | ratio | **3.00x** |", "What was tried",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// Every target names a row that its workload can give.
func TestTargets(t *testing.T) {
	for _, target := range targets {
		found := false
		for _, w := range workloads {
			for _, m := range w.modes {
				found = found || w.name == target.workload && m == target.mode
			}
		}
		if !found {
			t.Errorf("%s: no workload %s is measured %s", target.what, target.workload, target.mode)
		}
	}
	if _, err := chosen("commit,no-such"); err == nil {
		t.Error("an unknown workload is accepted")
	}
}

// The output of Kafka's tools is read, the last summary of several.
func TestJavaSummaries(t *testing.T) {
	const produced = `50000 records sent, 9998.0 records/sec (9.76 MB/sec), 12.0 ms avg latency, 300.0 ms max latency.
100000 records sent, 55310.8 records/sec (54.01 MB/sec), 312.51 ms avg latency, 450.00 ms max latency, 365 ms 50th, 420 ms 95th, 438 ms 99th, 442 ms 99.9th.
`
	r, err := producerSummary(produced)
	if err != nil || r.Rate != 55310.8 || r.P50 != 365 || r.P99 != 438 || r.P999 != 442 {
		t.Errorf("%+v, %v", r, err)
	}
	const consumed = "2026-11-29 18:00:00:000, 2026-11-29 18:00:02:000, 976.5, 488.2, 1000000, 500000.0, 400, 1600, 610.3, 625000.0\n"
	if r, err = consumerSummary(consumed, 1_000_000); err != nil || r.Rate != 625000 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err = consumerSummary(consumed, 1_000_001); err == nil {
		t.Error("too few records pass")
	}
}

// A prepared batch is one that the walk over fetched batches understands.
func TestAdvance(t *testing.T) {
	var log []byte
	for i := range 3 {
		b := batch(5, 10)
		binary.BigEndian.PutUint64(b, uint64(100+5*i))
		log = append(log, b...)
	}
	req := fetchRequest("t", []int64{100}, []int64{115})
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = log[:len(log)-1] // the last one is cut off
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	at := []int64{100}
	if n, err := advance(req, resp.AppendTo(nil), at); err != nil || n != 10 || at[0] != 110 {
		t.Errorf("%d records, at %d, %v", n, at[0], err)
	}
	if fetchRequest("t", at, []int64{110}) != nil {
		t.Error("a request for nothing")
	}
}

// A durability that is asked for is measured where a workload is named, and else
// where the workload has it.
func TestModes(t *testing.T) {
	w := &workload{name: "txn", modes: justFlush}
	for _, c := range []struct {
		run   string
		modes []durability
		want  []durability
	}{
		{"core", nil, justFlush},
		{"core", []durability{unflushed}, nil},
		{"txn", nil, justFlush},
		{"txn,start", []durability{unflushed}, []durability{unflushed}},
	} {
		if got := (&options{run: c.run, modes: c.modes}).modesOf(w); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v", c.run, c.modes, got)
		}
	}
}
