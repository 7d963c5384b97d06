package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// kind is a program that serves.
type kind string

const (
	rotaBroker  kind = "rota"
	kafkaBroker kind = "kafka"
	kfakeBroker kind = "kfake"
	echoBroker  kind = "echo"
)

// durability is what an acknowledgement means.
type durability string

const (
	// flushed: what is acknowledged has been synced to disk.
	flushed durability = "flushed"
	// unflushed: it has been handed to the operating system.
	unflushed durability = "unflushed"
)

// serveTimeout is how long a broker may take to serve.
const serveTimeout = 3 * time.Minute

// running is a broker that the bench started.
type running struct {
	kind kind
	addr string
	dir  string
	o    *options
	mode durability
	set  []string
	cmd  *exec.Cmd
	done chan struct{}
}

// newBroker prepares a broker on a free port and a fresh folder, with settings
// key=value by Kafka's names. launch runs it.
func newBroker(ctx context.Context, o *options, k kind, m durability, set []string) (*running, error) {
	dir, err := os.MkdirTemp(o.dir, "bench-"+string(k)+"-*")
	if err != nil {
		return nil, err
	}
	b := &running{kind: k, dir: dir, o: o, mode: m, set: set}
	if b.addr, err = freeAddress(ctx); err == nil && k == kafkaBroker {
		err = formatKafka(b)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return b, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// launch starts the process on the broker's folder and address and returns
// once it accepts connections.
func (b *running) launch(ctx context.Context) error {
	cmd, err := b.command()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.done = cmd, make(chan struct{})
	go func() { _ = cmd.Wait(); close(b.done) }()
	for end := time.Now().Add(serveTimeout); time.Now().Before(end) && ctx.Err() == nil; {
		c, err := net.DialTimeout("tcp", b.addr, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case <-b.done:
			return fmt.Errorf("%s ended at its start: %s", b.kind, b.tail())
		case <-time.After(time.Millisecond):
		}
	}
	b.kill()
	return fmt.Errorf("%s does not serve: %s", b.kind, b.tail())
}

func (b *running) command() (*exec.Cmd, error) {
	switch b.kind {
	case rotaBroker:
		policy := "fsync"
		if b.mode == unflushed {
			policy = "never"
		}
		args := []string{
			"serve", "--listen", b.addr, "--data-dir", b.data(),
			"--set", "durability=" + policy, "--set", "group.initial.rebalance.delay.ms=0",
		}
		for _, s := range append(b.set, b.o.set...) {
			args = append(args, "--set", s)
		}
		return exec.Command(b.o.rota, args...), nil
	case kafkaBroker:
		return kafkaCommand(b)
	case kfakeBroker, echoBroker:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		args := []string{"serve-" + string(b.kind), b.addr, b.data(), string(b.mode)}
		if b.kind == echoBroker {
			args = args[:1]
		}
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), "BENCH_ADDR="+b.addr)
		return cmd, nil
	}
	return nil, fmt.Errorf("no broker %q", b.kind)
}

// data is the folder that the broker writes to.
func (b *running) data() string { return filepath.Join(b.dir, "data") }

func (b *running) logFile() string { return filepath.Join(b.dir, "log") }

// tail is the end of what the broker has printed.
func (b *running) tail() string {
	text, _ := os.ReadFile(b.logFile())
	return string(text[max(0, len(text)-2000):])
}

func (b *running) pid() int { return b.cmd.Process.Pid }

// kill ends the process as a power cut would, as far as a process can tell.
func (b *running) kill() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	<-b.done
}

// stop ends the process and removes its folder; nothing is left to save.
func (b *running) stop() {
	b.kill()
	if b.o.log != "" {
		if text, err := os.ReadFile(b.logFile()); err == nil {
			name := strings.Join([]string{string(b.kind), string(b.mode), time.Now().Format("150405.000")}, "-")
			_ = os.WriteFile(filepath.Join(b.o.log, name+".log"), text, 0o644)
		}
	}
	os.RemoveAll(b.dir)
}
