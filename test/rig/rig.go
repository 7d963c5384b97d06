// Package rig starts rota processes for tests and kills them.
package rig

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Broker is a rota process on a folder of its own.
type Broker struct {
	Addr string
	Dir  string
	args []string
	t    testing.TB
	cmd  *exec.Cmd
	done chan error
}

var build struct {
	sync.Once
	path string
	err  error
}

// Binary is the rota binary: ROTA_BIN, or one built from this checkout.
func Binary(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("ROTA_BIN"); bin != "" {
		return bin
	}
	build.Do(func() {
		// It serves all tests of the process, so it is no test's own folder.
		dir, err := os.MkdirTemp("", "rota-bin-*") //nolint:usetesting // see above
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "rota")
		cmd := exec.Command("go", "build", "-o", build.path, "rota/cmd/rota")
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("build rota: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

// Start runs a broker for the length of the test. settings are key=value.
func Start(t testing.TB, settings ...string) *Broker {
	t.Helper()
	var args []string
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	return StartOn(t, freeAddress(t), args...)
}

// StartOn runs a broker on an address that the caller picks, with more
// arguments of rota serve.
func StartOn(t testing.TB, addr string, args ...string) *Broker {
	t.Helper()
	b := &Broker{t: t, Dir: t.TempDir(), Addr: addr, args: args}
	b.Run()
	t.Cleanup(func() {
		if b.cmd != nil {
			b.Stop()
		}
	})
	return b
}

// freeAddress takes a port from the system, so that a broker that is started
// again has the address that its clients know.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Run starts the process and waits until it serves.
func (b *Broker) Run() {
	b.t.Helper()
	ready := filepath.Join(b.Dir, "ready")
	_ = os.Remove(ready)
	args := append([]string{"serve", "--listen", b.Addr, "--data-dir", filepath.Join(b.Dir, "data"), "--ready-file", ready, "--web", "off"}, b.args...)
	cmd := exec.Command(Binary(b.t), args...)
	log, err := os.OpenFile(filepath.Join(b.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr, cmd.Stdout = log, log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.cmd, b.done = cmd, make(chan error, 1)
	go func() { b.done <- cmd.Wait() }()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	limit := time.After(30 * time.Second)
	for {
		if text, err := os.ReadFile(ready); err == nil {
			if got := strings.TrimSpace(string(text)); got != b.Addr {
				b.t.Fatalf("the ready file says %q, the broker listens on %q", got, b.Addr)
			}
			return
		}
		select {
		case err := <-b.done:
			b.cmd = nil
			b.t.Fatalf("the broker ended at its start: %v\n%s", err, b.Log())
		case <-limit:
			b.t.Fatalf("the broker does not serve\n%s", b.Log())
		case <-poll.C:
		}
	}
}

// Kill ends the process as a power cut would, as far as a process can tell.
func (b *Broker) Kill() {
	b.t.Helper()
	if err := b.cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	<-b.done
	b.cmd = nil
}

// Stop ends the process with SIGTERM and fails the test if it does not end
// well.
func (b *Broker) Stop() {
	b.t.Helper()
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-b.done:
		if err != nil {
			b.t.Errorf("the broker ended badly: %v\n%s", err, b.Log())
		}
	case <-time.After(40 * time.Second):
		_ = b.cmd.Process.Kill()
		b.t.Errorf("the broker did not stop\n%s", b.Log())
	}
	b.cmd = nil
}

// Restart kills the process and starts it again on its folder and address.
func (b *Broker) Restart() {
	b.t.Helper()
	b.Kill()
	b.Run()
}

// PID is the process.
func (b *Broker) PID() int { return b.cmd.Process.Pid }

// Log is what the process has logged.
func (b *Broker) Log() string {
	text, _ := os.ReadFile(filepath.Join(b.Dir, "log"))
	return string(text)
}

// Signal sends a signal to the process.
func (b *Broker) Signal(s os.Signal) { _ = b.cmd.Process.Signal(s) }

// Wait waits until the process has ended by itself and returns how.
func (b *Broker) Wait() error {
	b.t.Helper()
	defer func() { b.cmd = nil }()
	select {
	case err := <-b.done:
		return err
	case <-time.After(40 * time.Second):
		_ = b.cmd.Process.Kill()
		b.t.Fatalf("the broker does not end\n%s", b.Log())
		return nil
	}
}
