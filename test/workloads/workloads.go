// Package workloads runs programs of the Kafka family that do more than
// produce and consume: Connect, Streams, and what reads the offsets topic.
package workloads

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"rota/test/install"
)

// Install fetches the programs and returns the folder of their jars.
func Install() (string, error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("mvn", "maven", "default-jdk-headless"); err != nil {
		return "", err
	}
	source, out := filepath.Join(install.Root(), "test", "workloads"), install.Cache("workloads")
	if install.Stale(filepath.Join(out, "workloads-1.jar"), filepath.Join(source, "pom.xml"), filepath.Join(source, "src")) {
		if err := install.Run(source, "mvn", "-q", "-B", "-Dout="+out, "package", "dependency:copy-dependencies"); err != nil {
			return "", err
		}
	}
	return out, nil
}

// process is a running Java program.
type process struct {
	cmd   *exec.Cmd
	done  chan struct{}
	close func() error // of its input

	mu  sync.Mutex
	out []string
}

// start runs a class of the programs in a folder of its own.
func start(jars, dir, heap, class string, args ...string) (*process, error) {
	path := filepath.Join(jars, "workloads-1.jar") + string(os.PathListSeparator) + filepath.Join(jars, "dependency", "*")
	return startOn(path, dir, heap, class, args...)
}

// startOn runs a class from a class path.
func startOn(path, dir, heap, class string, args ...string) (*process, error) {
	cmd := exec.CommandContext(context.Background(), "java", append([]string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx" + heap, "-cp", path, class,
	}, args...)...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{}), close: stdin.Close}
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.out = append(p.out, lines.Text())
			p.mu.Unlock()
		}
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends the program as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// output is the end of what the program has printed.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.out[max(0, len(p.out)-25):], "\n")
}
