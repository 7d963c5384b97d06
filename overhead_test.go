//go:build linux && !race && !invariants

package rota_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkHistoryOverhead compares the processor time that two brokers use for
// the same operations, one with the history of groups and one without
// (rota.history.enable). The brokers are processes of their own, run side by
// side and are loaded in turns, so that whatever else the machine does hits both. Each iteration
// is one pair; the medians count:
//
//	go test -run '^$' -bench HistoryOverhead -benchtime 11x .
//
// A generation is a join and a sync of a group of one: all that makes events.
func BenchmarkHistoryOverhead(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "rota")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/rota").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, w := range []struct {
		name    string
		calls   int // of each connection in one half of a pair
		prepare func(p *peer, n int) func()
	}{
		{"commit", 5000, func(p *peer, n int) func() {
			return repeating(func(p *peer) kmsg.Request {
				req := commitRequest(p).(*kmsg.OffsetCommitRequest)
				req.Group = fmt.Sprint("commits", n)
				return req
			})(p)
		}},
		{"heartbeat", 10000, func(p *peer, n int) func() { return beatsIn(p, fmt.Sprint("beats", n)) }},
		{"generation", 1500, func(p *peer, n int) func() { return generationsIn(p, fmt.Sprint("joins", n)) }},
	} {
		b.Run(w.name, func(b *testing.B) {
			var loads [2]*load
			for i, enable := range []string{"true", "false"} {
				loads[i] = startLoad(b, binary, enable, w.calls, w.prepare)
				loads[i].run() // warm
			}
			var perCall [2][]float64
			var ratios []float64
			for n := range b.N {
				var pair [2]float64
				for k := range 2 {
					i := (n + k) % 2
					pair[i] = loads[i].run()
					perCall[i] = append(perCall[i], pair[i])
				}
				ratios = append(ratios, pair[0]/pair[1])
			}
			on, off := middle(perCall[0]), middle(perCall[1])
			b.ReportMetric(0, "ns/op") // the time of the client says nothing
			b.ReportMetric(on, "on-cpu-us/op")
			b.ReportMetric(off, "off-cpu-us/op")
			b.ReportMetric(100*(middle(ratios)-1), "%-overhead")
		})
	}
}

func middle(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// load is a broker and the connections that load it.
type load struct {
	b     *testing.B
	pid   int
	calls int
	ops   []func()
}

func startLoad(b *testing.B, binary, history string, calls int, prepare func(p *peer, n int) func()) *load {
	b.Helper()
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", b.TempDir(), "--web", "off",
		"--set", "group.initial.rebalance.delay.ms=0", "--set", "rota.history.enable="+history)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	l := &load{b: b, pid: cmd.Process.Pid, calls: calls}
	addr := servedAt(b, bufio.NewScanner(pipe))
	awaitGroups(b, addr)
	const connections = 4
	for n := range connections {
		p := connect(b, addr)
		p.createTopic()
		l.ops = append(l.ops, prepare(p, n))
	}
	return l
}

// awaitGroups waits until all groups have loaded.
func awaitGroups(b *testing.B, addr string) {
	b.Helper()
	p := connect(b, addr)
	req := kmsg.NewPtrListGroupsRequest()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); {
		if p.do(req).(*kmsg.ListGroupsResponse).ErrorCode == 0 {
			return
		}
	}
	b.Fatal("the groups do not load")
}

// servedAt reads the address from the log, and the rest of it away.
func servedAt(b *testing.B, lines *bufio.Scanner) string {
	b.Helper()
	addr := make(chan string, 1)
	go func() {
		for lines.Scan() {
			var line struct{ Listen string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Listen != "" {
				select {
				case addr <- line.Listen:
				default:
				}
			}
		}
	}()
	select {
	case a := <-addr:
		return a
	case <-time.After(20 * time.Second):
		b.Fatal("the broker does not say where it serves")
		return ""
	}
}

// run has every connection make its calls, and returns the processor time that
// the broker took for each, in microseconds.
func (l *load) run() float64 {
	before := l.cpu()
	var all sync.WaitGroup
	for _, op := range l.ops {
		all.Go(func() {
			for range l.calls {
				op()
			}
		})
	}
	all.Wait()
	return float64(l.cpu()-before) / float64(l.calls*len(l.ops)) / 1000
}

// cpu is the processor time of all threads of the broker, in nanoseconds.
func (l *load) cpu() int64 {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", l.pid))
	if err != nil || len(tasks) == 0 {
		l.b.Fatalf("processor time of the broker: %d threads, %v", len(tasks), err)
	}
	var sum int64
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			l.b.Fatal(err)
		}
		sum += ns
	}
	return sum
}
