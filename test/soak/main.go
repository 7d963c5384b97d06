// Command soak runs a broker under a crowd that never rests: consumers in
// groups that share topics and commit, one of which joins, leaves or dies every
// second. It compares what the broker keeps at one third of the time and at the
// end: heap, goroutines, parked requests, open files. More than the tolerance
// on top of what was there means that something is never given back.
//
//	soak -for 15m
//
// The broker runs in this process, on a folder of its own, and the clients in a
// second one, so that nothing of theirs is counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"rota"
	"rota/internal/hooks"
)

// options are what the command line says.
type options struct {
	length    time.Duration
	clients   int
	groups    int
	tolerance float64
	profiles  string // folder
	broker    string // of the process that runs the clients
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", time.Minute, "how long to run")
	flag.IntVar(&o.clients, "clients", 200, "how many consumers there are at a time")
	flag.IntVar(&o.groups, "groups", 20, "how many groups they form")
	flag.Float64Var(&o.tolerance, "tolerance", 0.05, "by how much the end may exceed the first third")
	flag.StringVar(&o.profiles, "profiles", "", "write a profile of the heap into this folder at each measurement")
	flag.StringVar(&o.broker, "broker", "", "run the clients, against this broker, until the input ends")
	flag.Parse()
	if o.profiles != "" {
		runtime.MemProfileRate = 8 << 10 // finer than the default
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.broker != "" {
		err = runClients(ctx, o, os.Stdin, os.Stdout)
	} else {
		err = soak(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak runs the broker and compares.
func soak(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "rota-soak-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var rooms hooks.Rooms
	withHooks := hooks.With(ctx, &hooks.Hooks{Started: func(r hooks.Rooms) { rooms = r }})
	b, err := rota.Start(withHooks, rota.Config{DataDir: dir, Properties: properties, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	crowd, err := startCrowd(ctx, o, b.Addr(), out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crowd()) }()

	third, end := o.length/3, o.length
	began := time.Now()
	first, err := measure(ctx, &rooms, began.Add(third))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "after %v: %v\n", third, first)
	if first.Connections < o.clients {
		return errors.New("there are fewer connections than clients")
	}
	if err := writeProfile(o.profiles, "third"); err != nil {
		return err
	}
	last, err := measure(ctx, &rooms, began.Add(end))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "after %v: %v\n", end, last)
	if err := writeProfile(o.profiles, "end"); err != nil {
		return err
	}
	return compare(first, last, o.tolerance)
}

// properties make the broker reach its steady state in seconds: it keeps
// little, and gives it up soon.
var properties = map[string]string{
	// A session that a dead client has left stays until another one needs its slot.
	"max.incremental.fetch.session.cache.slots": "300",

	"group.min.session.timeout.ms":     "1000",
	"group.initial.rebalance.delay.ms": "100",
	"log.retention.bytes":              "4194304",
	"log.segment.bytes":                "1048576",
	"log.retention.check.interval.ms":  "2000",
	"tail.max.bytes":                   "8388608",
	"offsets.topic.num.partitions":     "10",
	"journal.max.bytes":                "16777216",
	"rota.history.memory.bytes":        "1048576",
}

// startCrowd starts the process with the clients. The function that it returns
// ends it and says whether anything was amiss there.
func startCrowd(ctx context.Context, o options, addr string, out io.Writer) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-broker", addr, "-clients", fmt.Sprint(o.clients), "-groups", fmt.Sprint(o.groups))
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = input.Close() // that is the sign to end
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("clients: %w", err)
		}
		return nil
	}, nil
}
