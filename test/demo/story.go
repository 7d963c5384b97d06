package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// story collects what the broker and the consumers say and prints it in the
// order in which it happened.
type story struct {
	mu       sync.Mutex
	out      io.Writer
	began    time.Time
	owned    map[string][]int32
	records  [partitions]map[int64]bool
	distinct int
	again    int
	changed  chan struct{}
}

func newStory(out io.Writer) *story {
	s := &story{out: out, began: time.Now(), owned: map[string][]int32{}, changed: make(chan struct{}, 1)}
	for i := range s.records {
		s.records[i] = map[int64]bool{}
	}
	return s
}

func (s *story) say(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(format, a...)
}

func (s *story) sayLocked(format string, a ...any) {
	fprintln(s.out, fmt.Sprintf("%7.2fs  ", time.Since(s.began).Seconds())+fmt.Sprintf(format, a...))
}

// brokerSays prints what the coordinator reports of the group.
func (s *story) brokerSays(line map[string]any) {
	if line["group"] != groupID {
		if level := line["level"]; level == "WARN" || level == "ERROR" {
			s.say("broker: %v %v", line["msg"], line["err"])
		}
		return
	}
	var text strings.Builder
	fmt.Fprint(&text, line["msg"])
	for _, key := range []string{"cause", "client_id", "reason", "generation", "members", "took", "waited_for"} {
		if v, ok := line[key]; ok && v != "" {
			fmt.Fprintf(&text, ", %s %v", strings.ReplaceAll(key, "_", " "), v)
		}
	}
	s.say("broker: %s", text.String())
}

// hears takes one consumer's report.
func (s *story) hears(name string, r report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Kind {
	case "assigned":
		s.owned[name] = r.Partitions
		s.sayLocked("%s owns partitions %v in generation %d", name, r.Partitions, r.Generation)
	case "lost":
		s.sayLocked("%s lost partitions %v", name, r.Partitions)
	case "seen":
		for o := r.First; o <= r.Last; o++ {
			if s.records[r.Partition][o] {
				s.again++
				continue
			}
			s.records[r.Partition][o] = true
			s.distinct++
		}
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *story) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, name)
}

func (s *story) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.distinct
}

// shared is true when n consumers own every partition, each one once.
func (s *story) shared(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []int32
	for _, p := range s.owned {
		if len(p) == 0 {
			return false
		}
		all = append(all, p...)
	}
	slices.Sort(all)
	return len(s.owned) == n && len(all) == partitions && len(slices.Compact(all)) == partitions
}

func (s *story) wait(ctx context.Context, what string, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s", what)
		case <-s.changed:
		}
	}
	return nil
}

func (s *story) end(f *feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked("%d records produced (%.0f/s while producing), %d seen, 0 lost, %d seen twice (after the kill: at least once)",
		f.produced, float64(f.produced)/f.took.Seconds(), s.distinct, s.again)
}

// askRota ends the demo with what the broker knows of its rebalances: all of
// them drawn, and the story of the one that the kill caused and of the last.
func (s *story) askRota(ctx context.Context, bin, addr string) error {
	for _, args := range [][]string{{"timeline", groupID}, {"explain", groupID, "-n", "2"}} {
		fprintln(s.out, "\n$ rota", strings.Join(args, " "))
		c := exec.CommandContext(ctx, bin, append(args, "--brokers", addr)...)
		c.Stdout, c.Stderr = s.out, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("rota %s: %w", args[0], err)
		}
	}
	return nil
}

// startConsumer runs this very program as a consumer in its own process.
func startConsumer(name, addr string, s *story) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-consumer", name, "-broker", addr)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			var r report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				s.hears(name, r)
			}
		}
	}()
	return cmd, nil
}
