package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// running is a broker process that the bench started.
type running struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

// startBroker runs rota serve on a free port and a fresh folder.
func startBroker(o *options) (*running, error) {
	dir, err := os.MkdirTemp(o.dir, "rota-bench-*")
	if err != nil {
		return nil, err
	}
	b, err := startIn(o, dir)
	if err != nil {
		os.RemoveAll(dir)
	}
	return b, err
}

// startIn runs rota serve on a folder that may hold data.
func startIn(o *options, dir string) (*running, error) {
	ready := filepath.Join(dir, "ready")
	args := []string{
		"serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--ready-file", ready,
		"--set", "group.initial.rebalance.delay.ms=0",
	}
	for _, s := range o.set {
		args = append(args, "--set", s)
	}
	cmd := exec.Command(o.rota, args...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil {
			return &running{cmd, strings.TrimSpace(string(text)), dir}, nil
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	text, _ := os.ReadFile(filepath.Join(dir, "log"))
	return nil, fmt.Errorf("the broker did not start: %s", text)
}

func (b *running) stop() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
	os.RemoveAll(b.dir)
}

// cpu is the CPU time that a process has used, in seconds.
func cpu(pid int) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100 // USER_HZ
}

// memory is what a process holds, in MiB: anonymous and resident.
func memory(pid int) (anonymous, resident float64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "RssAnon:":
			anonymous = kib / 1024
		case "VmRSS:":
			resident = kib / 1024
		}
	}
	return anonymous, resident
}
