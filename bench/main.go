// Command bench measures a Rota broker, or any Kafka-compatible one, with
// open-loop load where latency is asked for: every request is timed from the
// moment it was meant to be sent, so that a stall is not hidden by the driver
// waiting for it.
//
//	bench -rota ../bin/rota                      each workload on a fresh broker and folder
//	bench -rota ../bin/rota -only latency,commit
//	bench -broker 127.0.0.1:9092 -pid 4711       a broker that runs already
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// options is what the command line says.
type options struct {
	rota    string
	broker  string
	pid     int
	only    string
	set     []string
	d       time.Duration
	repeat  int
	json    bool
	dir     string
	members int
	groups  int
}

// target is the broker under load.
type target struct {
	addr string
	pid  int
}

// workload is one row of the report, measured on a broker of its own.
type workload struct {
	name string
	what string
	run  func(context.Context, *options, target) ([]result, error)
}

// result is one line of the report.
type result struct {
	Name   string  `json:"name"`
	Rate   float64 `json:"rate,omitempty"`   // per second
	Unit   string  `json:"unit,omitempty"`   // of Rate
	P50    float64 `json:"p50_ms,omitempty"` // milliseconds
	P99    float64 `json:"p99_ms,omitempty"`
	P999   float64 `json:"p999_ms,omitempty"`
	CPU    float64 `json:"cpu_s_per_million,omitempty"` // of the broker's process
	Detail string  `json:"detail,omitempty"`
}

var workloads = []workload{
	{"start", "process start to first acknowledged produce; in-process start; idle memory", runStart},
	{"produce", "closed loop, franz-go, 1 KiB, acks=all, 8 partitions, then consume", runProduce},
	{"latency", "open loop, acks=all, at 200/s, 1,000/s and 10,000/s", runLatency},
	{"commit", "durable offset commits, 1 partition a request, 1, 16 and 64 connections", runCommit},
	{"commit-busy", "the same on 16 connections while a producer saturates the broker", runCommitBusy},
	{"commit-clean", "the same before and while the broker compacts 500 MB", runCommitClean},
	{"heartbeat", "heartbeats on 64 connections", runHeartbeat},
	{"load", "restart with 1,000,000 committed offsets in 50,000 groups", runLoad},
	{"echo", "heartbeats beside a bare TCP server with the same frames and driver", runEcho},
	{"idle-groups", "memory of many idle groups with a member and ten offsets each", runIdleGroups},
	{"group", "formation of a group and one more member, no initial delay", runGroup},
}

func main() {
	var o options
	flag.StringVar(&o.rota, "rota", "", "rota binary to start for each workload")
	flag.StringVar(&o.broker, "broker", "", "address of a running broker instead")
	flag.IntVar(&o.pid, "pid", 0, "its process, for CPU and memory")
	flag.StringVar(&o.only, "only", "", "workloads to run, comma separated (default all)")
	flag.Func("set", "broker setting for rota serve, repeatable", func(s string) error { o.set = append(o.set, s); return nil })
	flag.DurationVar(&o.d, "d", 5*time.Second, "length of each measurement")
	flag.IntVar(&o.repeat, "repeat", 1, "times to run each workload")
	flag.BoolVar(&o.json, "json", false, "one JSON object a line")
	flag.StringVar(&o.dir, "dir", "", "folder for data (default: the system's temporary folder)")
	flag.IntVar(&o.members, "members", 1000, "members of the group workload")
	flag.IntVar(&o.groups, "groups", 100_000, "groups of the idle-groups workload")
	bare := flag.Bool("echo", false, "be the bare server of the echo workload")
	flag.Parse()
	if *bare {
		fmt.Fprintln(os.Stderr, "bench:", serveEcho())
		os.Exit(1)
	}
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.rota == "" && o.broker == "" {
		return fmt.Errorf("say -rota BINARY or -broker ADDRESS")
	}
	if !o.json {
		fmt.Printf("%s, %d cores, %s\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH)
		fmt.Printf("%-34s %14s %9s %9s %9s %9s\n", "", "rate", "p50 ms", "p99 ms", "p99.9 ms", "CPU s/M")
	}
	for _, w := range workloads {
		if o.only != "" && !listed(o.only, w.name) {
			continue
		}
		for range o.repeat {
			if err := measure(ctx, o, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return nil
}

// measure runs one workload on a fresh broker and prints its lines.
func measure(ctx context.Context, o *options, w workload) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	t := target{o.broker, o.pid}
	if o.broker == "" && !listed("start,load,commit-clean", w.name) {
		b, err := startBroker(o)
		if err != nil {
			return err
		}
		defer b.stop()
		t = target{b.addr, b.cmd.Process.Pid}
	}
	results, err := w.run(ctx, o, t)
	for _, r := range results {
		print(o, r)
	}
	return err
}

func print(o *options, r result) {
	if o.json {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	rate := ""
	if r.Rate > 0 {
		rate = fmt.Sprintf("%.0f %s", r.Rate, r.Unit)
	}
	fmt.Printf("%-34s %14s %9s %9s %9s %9s  %s\n", r.Name, rate, number(r.P50), number(r.P99), number(r.P999), number(r.CPU), r.Detail)
}

func number(f float64) string {
	if f == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", f)
}

func listed(list, name string) bool {
	for n := range strings.SplitSeq(list, ",") {
		if n == name {
			return true
		}
	}
	return false
}
