// Package kafka starts Apache Kafka for tests that compare, and runs its
// command line tools. Maven brings both, below .cache.
package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rota/test/install"
)

// Version is the release.
const Version = "4.4.0"

// ready is how long a broker may take to serve, on a machine that does other
// things as well.
const ready = 2 * time.Minute

// Install fetches the release and returns its class path.
func Install() (string, error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("mvn", "maven", "default-jdk-headless"); err != nil {
		return "", err
	}
	libs := install.Cache("kafka", Version)
	pom := filepath.Join(install.Root(), "test", "kafka", "pom.xml")
	done := filepath.Join(libs, "complete")
	if install.Stale(done, pom) {
		err := install.Run("", "mvn", "-q", "-B", "-f", pom, "-Dkafka.version="+Version, "-DoutputDirectory="+libs, "dependency:copy-dependencies")
		if err == nil {
			err = os.WriteFile(done, nil, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.Join(libs, "*"), nil
}

// java is a class of the release with its arguments.
func java(ctx context.Context, classPath string, heap string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "java", append([]string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx" + heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classPath,
	}, args...)...)
}

// Broker is one node that is broker and controller.
type Broker struct {
	Addr string
	Dir  string // of everything that it writes
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{}

	classPath, config string
}

// Start runs a broker for the length of the test, with settings key=value on
// top of Kafka's defaults. It skips the test where Kafka cannot be installed.
func Start(t testing.TB, settings ...string) *Broker {
	t.Helper()
	return StartOn(t, freeAddress(t), settings...)
}

// StartOn is Start with an address that the caller picks.
func StartOn(t testing.TB, addr string, settings ...string) *Broker {
	t.Helper()
	classPath, err := Install()
	if err != nil {
		t.Skip("no Apache Kafka:", err)
	}
	// Not the test's own folder: its name may have a comma, which separates
	// folders in Kafka's settings.
	dir, err := os.MkdirTemp("", "kafka-*") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &Broker{Addr: addr, Dir: dir, t: t}
	b.classPath, b.config = classPath, b.configure(settings)
	format := java(t.Context(), classPath, "128m", "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", b.config)
	if out, err := format.CombinedOutput(); err != nil {
		t.Fatalf("format: %v\n%s", err, out)
	}
	b.run()
	t.Cleanup(b.stop)
	return b
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// configure writes the file of settings.
func (b *Broker) configure(settings []string) string {
	b.t.Helper()
	controller := freeAddress(b.t)
	lines := append([]string{
		"process.roles=broker,controller", "node.id=1",
		"controller.quorum.voters=1@" + controller,
		"listeners=PLAINTEXT://" + b.Addr + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + b.Addr,
		"controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(b.Dir, "data"),
		"offsets.topic.replication.factor=1", "offsets.topic.num.partitions=5",
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
	}, settings...)
	path := filepath.Join(b.Dir, "server.properties")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// run starts the process and waits until it answers.
func (b *Broker) run() {
	b.t.Helper()
	log, err := os.OpenFile(filepath.Join(b.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	b.cmd = java(context.Background(), b.classPath, "512m", "kafka.Kafka", b.config)
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = b.Dir, log, log
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.done = make(chan struct{})
	go func() { _ = b.cmd.Wait(); close(b.done) }()
	ctx, cancel := context.WithTimeout(b.t.Context(), ready)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.Addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-b.done:
			b.t.Fatalf("Apache Kafka ended at its start\n%s", b.Log())
		case <-ctx.Done():
			b.stop()
			b.t.Fatalf("Apache Kafka does not serve\n%s", b.Log())
		case <-tick.C:
		}
	}
}

// Restart kills the process and starts it again on its folder and address.
func (b *Broker) Restart() {
	b.t.Helper()
	b.stop()
	b.run()
}

// stop ends the process: what it has written goes with the test.
func (b *Broker) stop() {
	_ = b.cmd.Process.Kill()
	<-b.done
}

// Log is the end of what the process has printed.
func (b *Broker) Log() string {
	text, _ := os.ReadFile(filepath.Join(b.Dir, "log"))
	return string(text[max(0, len(text)-4000):])
}

// Result is how a tool ended.
type Result struct {
	Code        int
	Out, Errors string
}

// Tool runs the main class of one of Kafka's command line tools. The error says
// that it could not be run or did not end.
func Tool(ctx context.Context, input, class string, args ...string) (Result, error) {
	classPath, err := Install()
	if err != nil {
		return Result{}, err
	}
	cmd := java(ctx, classPath, "256m", append([]string{class}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err = cmd.Run()
	r := Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", class, err)
	}
	return r, nil
}
