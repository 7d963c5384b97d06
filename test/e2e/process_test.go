package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

// refused runs rota and wants exit code and one plain sentence.
func refused(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	cmd := exec.Command(rig.Binary(t), args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatalf("rota %s did not end", strings.Join(args, " "))
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if !strings.Contains(errs.String(), want) {
		t.Errorf("said %q, want %q in it", errs.String(), want)
	}
}

func TestServeRefusals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	dir := t.TempDir()
	refused(t, 1, "in use by another program", "serve", "--listen", taken, "--data-dir", filepath.Join(dir, "a"))
	refused(t, 1, "no authentication", "serve", "--listen", "0.0.0.0:0", "--data-dir", filepath.Join(dir, "b"))
	refused(t, 1, "every address", "serve", "--advertise", "0.0.0.0:9092", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "c"))
	refused(t, 1, "no.such.key", "serve", "--listen", "127.0.0.1:0", "--set", "no.such.key=1", "--data-dir", filepath.Join(dir, "d"))
	refused(t, 1, "key=value", "serve", "--listen", "127.0.0.1:0", "--set", "nonsense", "--data-dir", filepath.Join(dir, "e"))
	refused(t, 2, "rota --help", "serve", "--no-such-flag")
	refused(t, 2, "rota --help", "nonsense")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, 1, "not a directory", "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(file, "below"))
}

func TestFolderHasOneBroker(t *testing.T) {
	b := rig.Start(t)
	refused(t, 1, "used by another broker", "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(b.Dir, "data"))
}

// A parked request is answered when the broker is told to stop, and the
// process ends with 0 at once.
func TestStopAnswersParkedRequests(t *testing.T) {
	b := rig.Start(t, "group.initial.rebalance.delay.ms=60000")
	ctx := withTimeout(t, time.Minute)
	createTopic(ctx, t, b.Addr, "t", 1)
	cl := client(t, b.Addr, kgo.ConsumeTopics("t"), kgo.ConsumerGroup("g"), kgo.FetchMaxWait(30*time.Second))
	polled := make(chan struct{})
	go func() { cl.PollFetches(ctx); close(polled) }()
	eventually(ctx, t, "the join is parked", func() bool { return strings.Contains(describeState(ctx, b.Addr), "PreparingRebalance") })
	began := time.Now()
	b.Stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stopping took %s", took)
	}
	cl.Close()
	<-polled
}

// Whether the first signal has drained the broker already or not, the second
// one must not leave a process behind.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	b := rig.Start(t)
	b.Signal(syscall.SIGTERM)
	b.Signal(syscall.SIGINT)
	_ = b.Wait()
}

func describeState(ctx context.Context, addr string) string {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return ""
	}
	defer cl.Close()
	d, err := kadm.NewClient(cl).DescribeGroups(ctx, "g")
	if err != nil {
		return ""
	}
	return d["g"].State
}
