package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// workload is one thing that brokers are compared at, each on a fresh folder.
type workload struct {
	name     string
	what     string
	core     bool // part of the default run
	quick    bool // part of the quick one
	modes    []durability
	peers    []kind // measured once beside the pairs
	settings []string
	starts   bool // starts its brokers itself
	once     bool // takes long: one pair is enough
	run      func(*session) error
}

// modesOf are those that a run measures a workload in. One that is asked for by
// name is measured as is asked for.
func (o *options) modesOf(w *workload) []durability {
	if len(o.modes) > 0 && o.run != "all" && o.run != "core" && o.run != "quick" {
		return o.modes
	}
	var modes []durability
	for _, m := range w.modes {
		if len(o.modes) == 0 || slices.Contains(o.modes, m) {
			modes = append(modes, m)
		}
	}
	return modes
}

// limit is how long one broker may take.
func (w *workload) limit() time.Duration {
	if w.once {
		return 10 * time.Minute
	}
	return 4 * time.Minute
}

var (
	both       = []durability{unflushed, flushed}
	justFlush  = []durability{flushed}
	unaffected = []durability{unflushed} // says nothing about writes
	kfakeOnly  = []kind{kfakeBroker}
)

var workloads = []workload{
	{name: "produce", what: "closed loop produce with franz-go at 1, 6 and 100 partitions", core: true, quick: true, modes: both, peers: kfakeOnly, run: producers(plain(1), plain(6), plain(100))},
	{name: "produce-codec", what: "the same with lz4, and with acks=1", core: true, modes: unaffected, run: producers(lz4Produce, acks1)},
	{name: "produce-raw", what: "closed loop produce with prepared requests", core: true, quick: true, modes: both, peers: kfakeOnly, run: runProduceRaw},
	{name: "latency", what: "time to the acknowledgement at 1,000/s and 10,000/s", core: true, quick: true, modes: both, run: latencyAt(1000, 10_000)},
	{name: "consume", what: "catch-up from the start, and from a cold disk", core: true, quick: true, modes: unaffected, peers: kfakeOnly, run: runConsume},
	{name: "tail", what: "time from producer to waiting consumers; fan-out to ten", core: true, modes: unaffected, run: runTail},
	{name: "commit", what: "offset commits on 1, 16 and 64 connections", core: true, quick: true, modes: both, peers: kfakeOnly, run: commitsOn(1, 1, 16, 64)},
	{name: "commit-busy", what: "offset commits while a producer saturates the broker", core: true, modes: justFlush, run: runCommitBusy},
	{name: "heartbeat", what: "heartbeats on 64 connections; echo is a bare TCP server", core: true, quick: true, modes: unaffected, peers: []kind{kfakeBroker, echoBroker}, run: runHeartbeat},
	{name: "group", what: "formation of a group, one more, one less", core: true, quick: true, modes: justFlush, run: formations(10, 100, 1000)},
	{name: "groups", what: "1,000 groups of 3 that rebalance at once", core: true, modes: justFlush, run: runGroups},
	{name: "txn", what: "transactions of ten records", core: true, quick: true, modes: justFlush, run: transactionsOf(16, 1)}, // most first: that warms up
	{name: "java", what: "Kafka's own producer and consumer perf tests", core: true, modes: unaffected, run: runJava},
	{name: "start", what: "start to the first acknowledged record; idle memory", core: true, quick: true, modes: justFlush, starts: true, once: true, run: runStart},
	{name: "restart", what: "restart after kill -9 with 1 GiB", core: true, modes: justFlush, once: true, run: restartWith(1, 1)},

	{name: "restart-10g", what: "restart after kill -9 with 10 GiB; needs 25 GB of disk", modes: both, once: true, run: restartWith(10, 1)},
	{name: "restart-offsets", what: "restart after kill -9 with 1,000,000 offsets", modes: unaffected, once: true, run: runRestartOffsets},
	{name: "produce-1000", what: "closed loop produce with franz-go at 1,000 partitions", modes: both, run: producers(plain(1000))},
	{name: "produce-lz4-acks1", what: "closed loop produce with franz-go, lz4, acks=1", modes: both, run: producers(lz4Acks1)},
	{name: "latency-50k", what: "time to the acknowledgement at 50,000/s", modes: unaffected, run: latencyAt(50_000)},
	{name: "commit-100", what: "offset commits of 100 partitions a request", modes: both, run: commitsOn(100, 1, 16, 64)},
	{name: "txn-64", what: "transactions of ten records of 64 producers", modes: both, run: transactionsOf(64)},
	{name: "group-5000", what: "formation of a group of 5,000, one more, one less", modes: justFlush, once: true, run: formations(5000)},
	{name: "connections", what: "10,000 connections", modes: unaffected, run: runConnections},
	{name: "partitions", what: "10,000 partitions: creation, produce, memory, restart", modes: both, once: true, run: runPartitions},
	{name: "idle-groups", what: "memory of 100,000 idle groups", modes: unaffected, once: true, run: runIdleGroups},
}

// chosen is the workloads of a run: core, quick, all, or names.
func chosen(run string) ([]*workload, error) {
	var out []*workload
	for i := range workloads {
		w := &workloads[i]
		if run == "all" || run == "core" && w.core || run == "quick" && w.quick {
			out = append(out, w)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	for name := range strings.FieldsFuncSeq(run, comma) {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no workload %q; -list prints them", name)
		}
		out = append(out, &workloads[i])
	}
	return out, nil
}

func printList(w io.Writer) {
	for _, l := range workloads {
		when := "by name"
		if l.core {
			when = "core"
		}
		if l.quick {
			when += ", quick"
		}
		fmt.Fprintf(w, "%-18s %-12s %s\n", l.name, when, l.what)
	}
}
