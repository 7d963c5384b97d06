// Command bench runs Rota and Apache Kafka in turn on this machine, each on a
// fresh folder and under the same drivers, and prints what each did and the
// ratios. Load at a fixed rate is open loop: every request is timed from the
// moment it was meant to be sent, so that a stall is not hidden by the driver
// waiting for it.
//
//	bench -rota ../bin/rota                          the core, under 25 minutes
//	bench -rota ../bin/rota -run quick               a look at everything, under 4 minutes
//	bench -rota ../bin/rota -run commit,restart-10g  by name
//	bench -list                                      all names
//	bench -rota ../bin/rota -run produce -brokers rota -d 2s   one broker alone
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options is what the command line says.
type options struct {
	rota    string
	run     string
	brokers []kind
	modes   []durability
	pairs   int
	warm    time.Duration // before the first measurement of a broker process
	d       time.Duration // of each measurement
	dir     string
	page    string
	note    string
	log     string
	heap    string
	set     []string
	quick   bool
}

func main() {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "serve-echo":
			err = serveEcho()
		case "serve-kfake":
			err = serveKfake(os.Args[2:])
		default:
			os.Exit(command())
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(command())
}

func command() int {
	o, err := parse()
	if err == nil && o == nil {
		return 0
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// parse returns nil options if there is nothing to run.
func parse() (*options, error) {
	var o options
	var brokers, modes string
	flag.StringVar(&o.rota, "rota", "", "rota binary to measure")
	flag.StringVar(&o.run, "run", "core", "core, quick, all, or names, comma separated")
	flag.StringVar(&brokers, "brokers", "", "of rota, kafka, kfake, echo: only these")
	flag.StringVar(&modes, "durability", "", "of flushed, unflushed: only these, and of workloads that are named these in any case")
	flag.IntVar(&o.pairs, "pairs", 0, "times that each broker is measured, in turn (default 2; 1 with quick)")
	flag.DurationVar(&o.warm, "warm", 0, "warm-up of each broker process (default 6s; 2s with quick)")
	flag.DurationVar(&o.d, "d", 0, "length of each measurement (default 3s; 1s with quick)")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for data")
	flag.StringVar(&o.page, "page", "", "folder of BENCHMARKS.md and benchmarks.json, which take in what was measured")
	flag.StringVar(&o.note, "note", "", "sentence for the page about the circumstances of this run")
	flag.StringVar(&o.log, "log", "", "folder that keeps the brokers' logs")
	flag.StringVar(&o.heap, "heap", "1g", "heap of Apache Kafka, -Xms and -Xmx; its start script says 1g")
	flag.Func("set", "setting for the rota broker, key=value, repeatable", func(s string) error { o.set = append(o.set, s); return nil })
	flag.BoolVar(&o.quick, "quick", false, "short measurements and small sizes")
	list := flag.Bool("list", false, "print the workloads")
	flag.Parse()
	if *list {
		printList(os.Stdout)
		return nil, nil
	}
	if o.rota == "" {
		return nil, fmt.Errorf("say -rota BINARY")
	}
	path, err := filepath.Abs(o.rota)
	if err != nil {
		return nil, err
	}
	o.rota = path
	if o.run == "" {
		o.run = "core"
	}
	o.quick = o.quick || o.run == "quick"
	for k := range strings.FieldsFuncSeq(brokers, comma) {
		if !slices.Contains([]kind{rotaBroker, kafkaBroker, kfakeBroker, echoBroker}, kind(k)) {
			return nil, fmt.Errorf("there is no broker %q", k)
		}
		o.brokers = append(o.brokers, kind(k))
	}
	for m := range strings.FieldsFuncSeq(modes, comma) {
		if m != string(flushed) && m != string(unflushed) {
			return nil, fmt.Errorf("there is no durability %q", m)
		}
		o.modes = append(o.modes, durability(m))
	}
	o.defaults()
	return &o, nil
}

func comma(r rune) bool { return r == ',' }

func (o *options) defaults() {
	pairs, warm, d := 2, 6*time.Second, 3*time.Second
	if o.quick {
		pairs, warm, d = 1, 2*time.Second, time.Second
	}
	if o.pairs == 0 {
		o.pairs = pairs
	}
	if o.warm == 0 {
		o.warm = warm
	}
	if o.d == 0 {
		o.d = d
	}
}

// serves says whether a broker is to be measured.
func (o *options) serves(k kind) bool {
	return len(o.brokers) == 0 || slices.Contains(o.brokers, k)
}
