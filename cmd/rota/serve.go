package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rota"
)

// serveCommand starts a broker and keeps it until a signal.
type serveCommand struct {
	Listen    string   `default:"127.0.0.1:9092" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one."`
	Advertise string   `placeholder:"HOST:PORT" help:"Address that clients are told to connect to (default: the listening address)."`
	DataDir   string   `default:"./rota-data" placeholder:"DIR" help:"Folder that holds the data."`
	ReadyFile string   `placeholder:"FILE" help:"File that gets the listening address once the broker serves."`
	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"Broker setting by Kafka's name, or Rota's own durability and replication.check; repeatable."`
	Insecure  bool     `help:"Allow a listener beyond the loopback interface, without authentication."`
}

// drainTime bounds the way from the first signal to the exit.
const drainTime = 30 * time.Second

// Run serves until SIGINT or SIGTERM, then drains: parked requests are
// answered and the journal is durable before it returns. A second signal ends
// the process at once.
func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	properties, err := parseSet(c.Set)
	if err != nil {
		return err
	}
	// Registered before the broker starts: a signal during a long recovery is a signal too.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	log := newLogger(s)
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	type started struct {
		broker *rota.Broker
		err    error
	}
	ready := make(chan started, 1)
	go func() {
		b, err := rota.Start(starting, rota.Config{
			Listen: c.Listen, Advertise: c.Advertise, Insecure: c.Insecure,
			DataDir: c.DataDir, Properties: properties, Log: log,
		})
		ready <- started{b, err}
	}()
	var b *rota.Broker
	select {
	case <-signals:
		return errors.New("interrupted before the broker served")
	case r := <-ready:
		if r.err != nil {
			return explain(r.err, c)
		}
		b = r.broker
	}
	go giveBackMemory(starting)
	if c.ReadyFile != "" {
		if err := writeReadyFile(c.ReadyFile, b.Addr()); err != nil {
			return errors.Join(err, b.Close())
		}
		defer func() { _ = os.Remove(c.ReadyFile) }()
	}
	select {
	case sig := <-signals:
		log.Info("stopping: parked requests are answered and the journal is made durable", "signal", sig.String())
	case <-b.Failed():
		log.Error("the broker cannot go on", "err", b.Err())
	case <-ctx.Done():
	}
	return c.stop(ctx, b, signals)
}

// stop drains the broker, unless a second signal says not to.
func (c *serveCommand) stop(ctx context.Context, b *rota.Broker, signals <-chan os.Signal) error {
	failure := b.Err()
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		drained <- b.Shutdown(ctx)
	}()
	select {
	case err := <-drained:
		return errors.Join(failure, err)
	case <-signals:
		return errors.New("stopped at once: requests were left unanswered; nothing that was acknowledged is lost")
	}
}

// parseSet turns repeated key=value flags into a map.
func parseSet(set []string) (map[string]string, error) {
	properties := make(map[string]string, len(set))
	for _, kv := range set {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %q is not key=value", kv)
		}
		if old, twice := properties[key]; twice && old != value {
			return nil, fmt.Errorf("--set names %s twice, with %q and %q", key, old, value)
		}
		properties[key] = value
	}
	return properties, nil
}

// writeReadyFile writes the address and renames, so that a reader never sees
// half of it.
func writeReadyFile(name, addr string) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	_, err = fmt.Fprintln(tmp, addr)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write ready file: %w", err)
	}
	return nil
}

// explain adds what to do about the usual reasons why a broker does not start.
func explain(err error, c *serveCommand) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return hint{fmt.Errorf("%s is in use by another program", c.Listen), "choose another port with --listen, or 127.0.0.1:0 for a free one"}
	case errors.Is(err, rota.ErrLocked):
		return hint{fmt.Errorf("the data folder %s is used by another broker", c.DataDir), "stop that one, or choose another folder with --data-dir"}
	case errors.Is(err, os.ErrPermission):
		return hint{err, "choose a folder that you may write to with --data-dir"}
	}
	return err
}

// newLogger writes text to a terminal and JSON to anything else.
func newLogger(s *streams) *slog.Logger {
	if f, ok := s.err.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return slog.New(slog.NewTextHandler(f, nil))
		}
	}
	return slog.New(slog.NewJSONHandler(s.err, nil))
}
