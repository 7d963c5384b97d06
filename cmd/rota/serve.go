package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"rota"
	"rota/internal/config"
)

// serveCommand starts a broker and keeps it until a signal.
type serveCommand struct{ serveFlags }

// drainTime bounds the way from the first signal to the exit.
const drainTime = 30 * time.Second

// Run serves until SIGINT or SIGTERM, then drains: parked requests are
// answered and the journal is durable before it returns. A second signal ends
// the process at once.
func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	layers, err := c.load()
	if err != nil {
		return err
	}
	conf, err := layers.Config()
	if err != nil {
		return err
	}
	log := newLogger(s)
	conf.Log, conf.Version = log, version
	if err := openWeb(ctx, layers, &conf); err != nil {
		return err
	}
	// Registered before the broker starts: a signal during a long recovery is a signal too.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	type started struct {
		broker *rota.Broker
		err    error
	}
	ready := make(chan started, 1)
	go func() {
		b, err := rota.Start(starting, conf)
		ready <- started{b, err}
	}()
	var b *rota.Broker
	select {
	case <-signals:
		return errors.New("interrupted before the broker served")
	case r := <-ready:
		if r.err != nil {
			return explain(r.err, &conf)
		}
		b = r.broker
	}
	go giveBackMemory(starting)
	if file := layers.ReadyFile(); file != "" {
		if err := writeReadyFile(file, b.Addr()); err != nil {
			return errors.Join(err, b.Close())
		}
		defer func() { _ = os.Remove(file) }()
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

// openWeb listens for the web page. The default address may be taken, by another
// broker most likely; that is no reason not to serve unless somebody asked for
// the page.
func openWeb(ctx context.Context, layers *config.Loaded, conf *rota.Config) error {
	address, asked := layers.Web()
	if address == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		conf.WebListener = l
	case asked && errors.Is(err, syscall.EADDRINUSE):
		return hint{fmt.Errorf("%s is in use by another program", address), "choose another port for the web page with --web, 127.0.0.1:0 for a free one, or off for none"}
	case asked:
		return fmt.Errorf("web page: %w", err)
	default:
		conf.Log.Warn("the broker serves without its web page: the address is in use; choose another one with --web", "web", address, "err", err)
		conf.Web = ""
	}
	return nil
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
func explain(err error, c *rota.Config) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return hint{fmt.Errorf("%s is in use by another program", inUse(err, c)), "choose another port with --listen, or 127.0.0.1:0 for a free one"}
	case errors.Is(err, rota.ErrLocked):
		return hint{fmt.Errorf("the data folder %s is used by another broker", c.DataDir), "stop that one, or choose another folder with --data-dir"}
	case errors.Is(err, os.ErrPermission):
		return hint{err, "choose a folder that you may write to with --data-dir"}
	}
	return err
}

// inUse is the address that err is about.
func inUse(err error, c *rota.Config) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return op.Addr.String()
	}
	return c.Listeners[0].Listen
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
