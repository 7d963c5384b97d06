package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Record is what a program sends or has read. Nil and empty are different.
type Record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
}

// Header is one header, a pair in JSON.
type Header struct {
	Name  string
	Value []byte
}

// MarshalJSON writes the pair.
func (h Header) MarshalJSON() ([]byte, error) { return json.Marshal([]any{h.Name, h.Value}) }

// UnmarshalJSON reads the pair.
func (h *Header) UnmarshalJSON(text []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a header has %d parts", len(pair))
	}
	return errors.Join(json.Unmarshal(pair[0], &h.Name), json.Unmarshal(pair[1], &h.Value))
}

// event is a line that a program prints.
type event struct {
	Event      string  `json:"event"`
	Version    string  `json:"version"`
	Text       string  `json:"text"`
	Count      int     `json:"count"`
	Partitions []int32 `json:"partitions"`
	Record
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when it has ended

	mu      sync.Mutex
	counts  map[string]int
	owns    []int32
	owned   [][]int32 // every state of owns
	records []Record
	acked   int
	moved   int // within transactions that are committed
	commits int // that were asked for
	version string
	failed  string // the text of the last error event
	stderr  tail
	err     error // how it ended
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if extra := len(w.text) - 4000; extra > 0 {
		w.text = slices.Delete(w.text, 0, extra)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

// start runs a program with a command and options.
func start(argv, env []string, args ...string) (*process, error) {
	cmd := exec.CommandContext(context.Background(), argv[0], append(slices.Clone(argv[1:]), args...)...)
	cmd.Env = append(cmd.Environ(), env...)
	p := &process{cmd: cmd, done: make(chan struct{}), counts: map[string]int{}}
	cmd.Stderr = &p.stderr
	cmd.WaitDelay = time.Second // a killed program may have left its pipes to a child
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read takes the events until the program ends.
func (p *process) read(out io.Reader) {
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{} // a library that prints to its standard output
			}
			p.take(e)
		}
		if err != nil {
			break
		}
	}
	err := p.cmd.Wait()
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.done)
}

func (p *process) take(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[e.Event]++
	switch e.Event {
	case "owns":
		slices.Sort(e.Partitions)
		p.owns = e.Partitions
		p.owned = append(p.owned, e.Partitions)
	case "record":
		p.records = append(p.records, e.Record)
	case "acked":
		p.acked += e.Count
	case "moved":
		p.moved += e.Count
	case "version":
		p.version = e.Version
	case "error":
		p.failed = e.Text
	}
}

// say writes a line to the program. One that has ended does not hear it.
func (p *process) say(line string) { _, _ = io.WriteString(p.stdin, line+"\n") }

// send gives records to a producer and lets it send them.
func (p *process) send(records ...Record) {
	var text strings.Builder
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err) // a Record is only strings and numbers
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	p.say(text.String())
}

// commit asks for a commit, unless one is under way.
func (p *process) commit() {
	p.mu.Lock()
	free := p.counts["committed"] == p.commits
	if free {
		p.commits++
	}
	p.mu.Unlock()
	if free {
		p.say("commit")
	}
}

// kill ends the program as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// problem says how the program ended or failed.
func (p *process) problem() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	return fmt.Sprintf("error %q, ended: %v, stderr:\n%s", p.failed, p.err, strings.Join(lines, "\n"))
}

func (p *process) owning() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.owns)
}

// history is every set of partitions that the member has owned.
func (p *process) history() [][]int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.owned)
}

func (p *process) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[name]
}

func (p *process) acks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked
}

func (p *process) moves() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moved
}

func (p *process) consumed() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.records)
}
