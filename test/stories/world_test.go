package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rota/internal/schema"
	"rota/internal/story"
	"rota/rotatest"

	"rota/test/rig"
)

const (
	group      = "billing"
	topic      = "orders"
	partitions = 6
)

// world is a broker and the group that a story is about.
type world struct {
	testing.TB
	b *rotatest.Broker

	mu    sync.Mutex
	alive []*member
}

func newWorld(t testing.TB) *world {
	return &world{TB: t, b: rotatest.Start(t, rotatest.Topic(topic, partitions), rotatest.Topic("returns", 2), rotatest.Patience(patience))}
}

// stable waits until the group has a new assignment with so many members, and
// returns its generation.
func (w *world) stable(members int, after int32) int32 {
	w.Helper()
	e := w.b.Group(group).WaitEvent("assignment", func(e rotatest.Event) bool {
		return e.Kind == "assignment-installed" && e.Generation > after && e.Members == members
	})
	w.b.Group(group).WaitStable(members)
	return e.Generation
}

// begin starts members one after the other and waits until they share the topic.
func (w *world) begin(names ...string) []*member {
	w.Helper()
	var all []*member
	generation := int32(0)
	for i, name := range names {
		all = append(all, w.join(name))
		generation = w.stable(i+1, generation)
	}
	return all
}

// pass moves the broker's clock, in steps in which all who live are heard of.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for d > 0 {
		step := min(d, 5*time.Second)
		w.b.Advance(step)
		d -= step
		w.mu.Lock()
		alive := append([]*member(nil), w.alive...)
		w.mu.Unlock()
		for _, m := range alive {
			m.heard(w.b.Group(group).State().State == "Stable")
		}
	}
}

// until moves the clock until there is an n-th event of a kind: at once by most of
// the time that it takes, and then in small steps, so that the story goes on
// when it happens and not later.
func (w *world) until(n int, kind string, most time.Duration) {
	w.Helper()
	w.pass(most)
	for range 50 {
		if w.happened(kind) >= n {
			return
		}
		w.pass(100 * time.Millisecond)
	}
	w.Fatalf("no %s\n%s", kind, w.b.Group(group).Story())
}

// happened counts the events of a kind.
func (w *world) happened(kind string) int {
	n := 0
	for _, e := range w.b.Group(group).Events() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// rota runs a command and wants it to succeed.
func (w *world) rota(args ...string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, rig.Binary(w), append(args, "--brokers", w.b.Addr())...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.Fatalf("rota %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// explained is what rota explain --json says.
type explained struct {
	State      string
	Rebalances []struct {
		story.Rebalance
		Story     []string
		FollowsUp bool `json:"follows_up"`
	}
	After  []story.Event
	Causes []story.CauseCount
	Advice []story.Advice
}

// explain runs rota explain until the history, which is written behind the
// replies, has what ok looks for.
func (w *world) explain(ok func(*explained) bool, args ...string) *explained {
	w.Helper()
	end := time.Now().Add(patience)
	for {
		text := w.rota(append([]string{"explain", group, "--json"}, args...)...)
		var e explained
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			w.Fatalf("%v in\n%s", err, text)
		}
		if ok(&e) {
			return &e
		}
		if time.Now().After(end) {
			w.Fatalf("rota explain says\n%s\nthe broker says\n%s", text, w.b.Group(group).Story())
		}
	}
}

// last is the newest rebalance that is told, the first of those that belong
// together.
func (e *explained) last() *story.Rebalance {
	i := len(e.Rebalances) - 1
	for i > 0 && e.Rebalances[i].FollowsUp {
		i--
	}
	if i < 0 {
		return nil
	}
	return &e.Rebalances[i].Rebalance
}

// assigned is how many partitions the members have.
func assigned(s rotatest.GroupState) int {
	n := 0
	for _, m := range s.Members {
		a, err := schema.ParseAssignment(m.Assignment)
		if err != nil {
			continue
		}
		for _, t := range a.Partitions {
			n += len(t.Partitions)
		}
	}
	return n
}
