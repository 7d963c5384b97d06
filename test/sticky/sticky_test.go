// Package sticky compares the cooperative-sticky assignor of rota/member with
// Kafka's own, on the same random sequences.
package sticky

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rota/member"

	"rota/test/kafka"
	"rota/test/report"
)

// plan is what each member has.
type plan map[string][]member.Shard

// assigns is an implementation of cooperative-sticky.
type assigns func(members []member.Candidate, topics map[string]int32) plan

// group is one history under one implementation.
type group struct {
	name       string
	assign     assigns
	topics     map[string]int32
	wants      map[string][]string
	owned      plan
	since      map[string]int32 // the generation of what a member owns
	generation int32
	moved      int // partitions taken from a member that is still there
	rounds     int
}

// settle rebalances until nothing is taken away any more.
func (g *group) settle(t *testing.T) {
	t.Helper()
	for round := 0; ; round++ {
		if round > 5 {
			t.Fatal("it takes partitions away for ever")
		}
		g.generation++
		g.rounds++
		var members []member.Candidate
		for _, id := range slices.Sorted(maps.Keys(g.wants)) {
			since, ok := g.since[id]
			if !ok {
				since = -1
			}
			members = append(members, member.Candidate{ID: id, Topics: g.wants[id], Owned: g.owned[id], Generation: since})
		}
		next := g.assign(members, g.topics)
		taken := 0
		for id := range g.wants {
			for _, s := range g.owned[id] {
				if !slices.Contains(next[id], s) {
					taken++
				}
			}
			g.since[id] = g.generation
		}
		g.owned = next
		g.moved += taken
		if taken == 0 {
			return
		}
	}
}

// unevenness is the sum of the squares of the shares: the less, the more even.
func (g *group) unevenness(t *testing.T) int {
	t.Helper()
	sum, seen := 0, map[member.Shard]bool{}
	for id, list := range g.owned {
		sum += len(list) * len(list)
		for _, s := range list {
			if seen[s] || !slices.Contains(g.wants[id], s.Topic) {
				t.Fatalf("%s: %v is given twice, or to %s who does not want it: they want %v and get %v", g.name, s, id, g.wants, g.owned)
			}
			seen[s] = true
		}
	}
	return sum
}

// subscriptions says what a new member wants: some has a bit for each topic.
type subscriptions func(topics []string, some int) []string

// kinds are the groups that are compared.
var kinds = []struct {
	name   string
	topics int
	of     subscriptions
}{
	{"the same subscriptions", 2, func(topics []string, _ int) []string { return topics }},
	{"one or both of two topics", 2, func(topics []string, some int) []string { return topics[:1+some%2] }},
	{"some of four topics", 4, func(topics []string, some int) []string {
		var list []string
		for i, t := range topics {
			if some>>i&1 == 1 {
				list = append(list, t)
			}
		}
		return list
	}},
}

// change lets one thing happen to a group, the same for both.
func change(random *rand.Rand, of subscriptions, next *int, groups ...*group) {
	g := groups[0]
	topics := slices.Sorted(maps.Keys(g.topics))
	ids := slices.Sorted(maps.Keys(g.wants))
	n, pick, some := random.IntN(10), random.IntN(max(len(ids), 1)), 1+random.IntN(1<<len(topics)-1)
	id := fmt.Sprintf("m%03d", *next)
	for _, g := range groups {
		switch {
		case n < 5 || len(ids) < 2:
			g.wants[id] = of(topics, some)
		case n < 9:
			delete(g.wants, ids[pick])
			delete(g.owned, ids[pick])
			delete(g.since, ids[pick])
		default:
			g.topics["t"]++
		}
	}
	*next++
}

func ours(members []member.Candidate, topics map[string]int32) plan {
	return member.CooperativeSticky().Assign(members, topics)
}

// kafkas starts Kafka's assignor.
func kafkas(t *testing.T) assigns {
	t.Helper()
	classPath, err := kafka.Install()
	if err != nil {
		t.Skip("no Apache Kafka:", err)
	}
	cmd := exec.CommandContext(t.Context(), "java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classPath, "Sticky.java")
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	return func(members []member.Candidate, topics map[string]int32) plan {
		if _, err := io.WriteString(in, question(members, topics)); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer(strings.TrimSpace(line))
	}
}

func question(members []member.Candidate, topics map[string]int32) string {
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if !slices.ContainsFunc(members, func(m member.Candidate) bool { return slices.Contains(m.Topics, name) }) {
			continue // Kafka's leader does not ask for topics that nobody wants
		}
		counts = append(counts, fmt.Sprintf("%s=%d", name, topics[name]))
	}
	parts := []string{strings.Join(counts, ",")}
	for _, m := range members {
		var own []string
		for _, s := range m.Owned {
			own = append(own, fmt.Sprintf("%s-%d", s.Topic, s.Partition))
		}
		parts = append(parts, fmt.Sprintf("%s:%s:%d:%s", m.ID, strings.Join(m.Topics, ","), m.Generation, strings.Join(own, ",")))
	}
	return strings.Join(parts, ";") + "\n"
}

func answer(line string) plan {
	p := plan{}
	for part := range strings.SplitSeq(strings.TrimSuffix(line, ";"), ";") {
		id, list, _ := strings.Cut(part, ":")
		p[id] = nil
		for name := range strings.SplitSeq(list, ",") {
			if topic, number, ok := strings.Cut(name, "-"); ok {
				n, _ := strconv.Atoi(number)
				p[id] = append(p[id], member.Shard{Topic: topic, Partition: int32(n)})
			}
		}
	}
	return p
}

// TestStickyIsAsGoodAsKafkas plays the same histories with both, each from what
// it has made of the past itself.
func TestStickyIsAsGoodAsKafkas(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	theirs := kafkas(t)
	for _, kind := range kinds {
		movedOurs, movedTheirs, roundsOurs, roundsTheirs, steps, less, more := 0, 0, 0, 0, 0, 0, 0
		for seed := range uint64(100) {
			random := rand.New(rand.NewPCG(seed, 3))
			topics := map[string]int32{}
			for i := range kind.topics {
				topics[string(rune('t'+i))] = 1 + random.Int32N(30)
			}
			start := func(name string, f assigns) *group {
				return &group{name: name, assign: f, topics: maps.Clone(topics), wants: map[string][]string{}, owned: plan{}, since: map[string]int32{}}
			}
			a, b, next := start("rota", ours), start("kafka", theirs), 0
			for range 20 {
				change(random, kind.of, &next, a, b)
				a.settle(t)
				b.settle(t)
				steps++
				switch x, y := a.unevenness(t), b.unevenness(t); {
				case x < y:
					less++
				case x > y:
					more++
				}
			}
			movedOurs, movedTheirs = movedOurs+a.moved, movedTheirs+b.moved
			roundsOurs, roundsTheirs = roundsOurs+a.rounds, roundsTheirs+b.rounds
		}
		t.Logf("%s, %d changes: moved %d, Kafka %d; rebalances %d, Kafka %d; more even %d times, less even %d times",
			kind.name, steps, movedOurs, movedTheirs, roundsOurs, roundsTheirs, less, more)
		if more > 0 {
			t.Errorf("%s: Kafka's shares are more even after %d of %d changes", kind.name, more, steps)
		}
		if movedOurs > movedTheirs {
			t.Errorf("%s: %d partitions moved, with Kafka %d", kind.name, movedOurs, movedTheirs)
		}
	}
}
