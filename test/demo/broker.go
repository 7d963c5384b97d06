package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// broker is the rota process that the demo started.
type broker struct {
	cmd  *exec.Cmd
	addr string
	took time.Duration
}

// startBroker runs rota serve on a free port and a folder of its own, and
// hands each line of its log to tell.
func startBroker(bin, dir string, tell func(line map[string]any)) (*broker, error) {
	ready := filepath.Join(dir, "ready")
	cmd := exec.Command(bin, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--ready-file", ready,
		"--web", "127.0.0.1:0", "--set", "group.min.session.timeout.ms=1000")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go readLog(pipe, tell)
	for time.Since(began) < 10*time.Second {
		if text, err := os.ReadFile(ready); err == nil {
			return &broker{cmd, strings.TrimSpace(string(text)), time.Since(began)}, nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	return nil, fmt.Errorf("the broker did not start within 10 s")
}

// readLog parses the broker's JSON log.
func readLog(r io.Reader, tell func(map[string]any)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			tell(line)
		} else {
			fprintln(os.Stderr, lines.Text())
		}
	}
}

// stop ends the broker as an operator would and wants a clean exit.
func (b *broker) stop() error {
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return b.cmd.Wait()
}
