package sim

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"rota/internal/client"
	"rota/internal/client/assignor"
	"rota/internal/group"
)

// World is all there is: time, the broker, and those who talk to it.
type World struct {
	seed     uint64
	o        options
	mono     time.Duration
	wall     int64
	epoch    int32
	shards   []*shard
	groups   []*groupState
	actors   []*actor
	sets     [][][]assignor.Assignor // of each group
	topics   map[string]int32
	offset   int64  // committed last: no two commits are of the same
	current  *call  // being submitted
	forgiven int    // how often a group was given more time
	focus    int    // the group that was called last
	story    *story // nil unless the run is written down

	calmed  bool // the faults have ended
	steps   int
	h       uint64
	failure *RuleError
	stats   *Stats
	// callbacks counts those that ran, by kind, and answers those of each
	// request, by code.
	callbacks [4]int
	answers   [len(requestNames)][128]int
	past      []operation // of the history
	spoil     func(*group.Effects)
}

// RuleError is a broken rule.
type RuleError struct {
	// Rule names what is broken, in a word or two.
	Rule string
	// Step is how many events had happened.
	Step int
	// Reason says what was seen.
	Reason string
	// Group is the one that was called last.
	Group string
}

func (f *RuleError) Error() string { return fmt.Sprintf("step %d: %s: %s", f.Step, f.Rule, f.Reason) }

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
	// wallStart is the Unix time in milliseconds at which every World begins.
	wallStart = 1_700_000_000_000
)

// newWorld makes the World of a seed, and the source of the choices in it.
func newWorld(seed uint64, with setup, stats *Stats) (*World, *random) {
	r := random(scramble(seed ^ 0xa5a5))
	w := &World{
		seed: seed, o: drawOptions(&r, with), spoil: with.spoil, mono: time.Minute, wall: wallStart, h: fnvStart,
		topics: map[string]int32{"t": int32(1 + r.below(4)), "u": int32(r.below(3))}, stats: stats,
	}
	for i := range w.o.groups {
		w.groups = append(w.groups, newGroupState("g"+string(rune('0'+i))))
		w.sets = append(w.sets, assignorSets[r.below(len(assignorSets))])
	}
	for i := range w.o.shards {
		w.shards = append(w.shards, &shard{number: i})
	}
	for i := range w.o.actors {
		w.actors = append(w.actors, w.newActor(i, &r))
	}
	for _, sh := range w.shards {
		w.start(sh)
	}
	for _, a := range w.actors {
		a.poll(w)
	}
	return w, &r
}

// newActor draws an actor. The first two are members, so that there is a group
// to speak of.
func (w *World) newActor(i int, r *random) *actor {
	a := &actor{number: i, name: string(rune('A' + i)), group: r.below(w.o.groups), generation: -1}
	if i >= 2 {
		a.role = pick(r, member, member, member, member, rude, loner, loner, admin)
	} else {
		a.group = 0
	}
	if w.o.history && i >= 2 {
		a.role = pick(r, member, loner, loner)
	}
	a.joinVersion = pick[int16](r, 4, 5, 8, 9, 9, 9)
	if r.oneIn(4) {
		name := instanceName(r.below(3))
		a.instance = &name
		a.joinVersion = max(a.joinVersion, 5)
	}
	if w.o.owners {
		a.role = member
		if a.instance != nil {
			name := instanceName(i)
			a.instance = &name
		}
	}
	a.session = time.Duration(6+r.below(10)) * time.Second
	a.rebalance = time.Duration(8+r.below(20)) * time.Second // longer than it takes to hear of a rebalance
	if w.o.session > 0 {
		a.session, a.rebalance = w.o.session, w.o.rebalance
	}
	if a.role == rude && a.instance == nil {
		a.joinVersion = pick[int16](r, 0, 1, 3, 4, 9)
	}
	if a.role != member {
		return a
	}
	set := w.sets[a.group]
	a.config = client.Config{
		InstanceID: a.instance, Assignors: set[r.below(len(set))], SessionTimeout: a.session, PollInterval: a.rebalance,
		HeartbeatInterval: pick(r, time.Second, 2*time.Second, 3*time.Second), RequestTimeout: pick(r, 2*time.Second, 10*time.Second, 30*time.Second),
		AutoCommit:         r.oneIn(3) && !w.o.history, // of the history are commits of one offset
		AutoCommitInterval: 2 * time.Second,
	}
	if w.o.owners {
		a.config.EveryCall, a.config.RequestTimeout = true, pick(r, 10*time.Second, 30*time.Second, 30*time.Second)
	}
	a.topics = slices.Clone(topicNames[:1+r.below(2)])
	a.newMachine(w)
	return a
}

func (w *World) now() group.Now { return group.Now{Mono: w.mono, Wall: w.wall} }

func (w *World) groupIndex(name string) int {
	for i, g := range w.groups {
		if g.name == name {
			return i
		}
	}
	w.fail("record", "a group of the name %q", name)
	return 0
}

func (w *World) shardOf(group int) *shard { return w.shards[group%len(w.shards)] }

func (w *World) assignorsOf(group int) [][]assignor.Assignor { return w.sets[group] }

// fail notes the first broken rule.
func (w *World) fail(rule, format string, args ...any) {
	if w.failure == nil {
		w.failure = &RuleError{Rule: rule, Step: w.steps, Reason: fmt.Sprintf(format, args...), Group: w.groups[w.focus].name}
	}
}

// hash adds to the trace.
func (w *World) hash(x uint64) { w.h = scramble(w.h ^ x) }

func (w *World) hashText(s string) {
	for i := range len(s) {
		w.h = (w.h ^ uint64(s[i])) * fnvPrime
	}
}

func (w *World) hashAnswer(c *call, body group.Response, code group.Code) {
	w.hash(uint64(c.actor.number)<<32 | uint64(uint16(code)))
	switch b := body.(type) {
	case group.Joined:
		w.hash(uint64(uint32(b.Generation))<<8 | uint64(len(b.Members)))
		w.hashText(b.MemberID)
		w.hashText(b.Leader)
		for i := range b.Members {
			w.hashText(b.Members[i].MemberID)
		}
	case group.Synced:
		w.hash(uint64(len(b.Assignment)))
	case group.FetchedOffsets:
		for i := range b.Offsets {
			w.hash(uint64(b.Offsets[i].Offset))
		}
	case group.Described:
		w.hashText(b.State)
		for i := range b.Members {
			w.hashText(b.Members[i].MemberID)
		}
	}
}

// step plays one Event and checks what must hold after it. It reports whether
// the Event could be played.
func (w *World) step(e Event) (done bool) {
	defer func() {
		if r := recover(); r != nil {
			w.fail("panic", "%v\n%s", r, site(debug.Stack()))
		}
	}()
	done = w.play(e)
	if !done {
		return false
	}
	w.steps++
	w.stats.Events[e.Kind]++
	w.hash(uint64(e.Kind)<<56 ^ uint64(e.Who)<<48 ^ e.N)
	w.hash(uint64(w.mono))
	w.checkAllBounds()
	if w.steps%512 == 0 {
		w.compareReplay(w.shards[w.steps/512%len(w.shards)])
	}
	if at := w.steps % w.o.checks; at < 2 {
		w.setChecking(at == 0)
	}
	return true
}

// setChecking turns the groups' own search for broken invariants on or off.
func (w *World) setChecking(on bool) {
	w.o.group.CheckInvariants = on
	for _, sh := range w.shards {
		if sh.life != nil {
			sh.life.s.SetConfig(w.o.group, w.o.expireInterval)
		}
	}
}

// site is the part of a stack that lies in this module.
func site(stack []byte) string {
	var b strings.Builder
	for line := range strings.SplitSeq(string(stack), "\n") {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, "/internal/") && !strings.Contains(line, "internal/runtime") {
			_, after, _ := strings.Cut(line, "/internal/")
			at, _, _ := strings.Cut(after, " +")
			fmt.Fprintln(&b, "  "+at)
		}
	}
	return b.String()
}
