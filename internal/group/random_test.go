package group

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rota/internal/schema"
)

// chooser picks a number below n: from a seed, or from the bytes of a fuzzer.
type chooser interface{ choose(n int) int }

type seeded struct{ *rand.Rand }

func (s seeded) choose(n int) int { return s.IntN(n) }

type fromBytes struct{ left []byte }

func (f *fromBytes) choose(n int) int {
	if len(f.left) == 0 {
		return 0
	}
	b := int(f.left[0])
	f.left = f.left[1:]
	return b % n
}

// chaos sends a group whatever comes to mind: clients that behave, clients
// that do not, operators, time, stalls of the log, and moves of the shard.
type chaos struct {
	*driver
	chooser
	ids       []string // that were ever handed out, newest last
	instances []string
	// sets are the members that leaders were told, by generation; told the same
	// for each leader, which outlasts the group.
	sets map[int32]string
	told map[string]string
	// before has the answers that the log holds back since before the group was
	// deleted: their generations are not those of the next one.
	before map[Ticket]bool
	seen   int      // events that were looked at
	said   []Ticket // in the order in which they were answered
}

func newChaos(tb testing.TB, c chooser) *chaos {
	x := &chaos{
		driver:    newDriver(tb, func(c *Config) { c.MaxSize, c.MaxRecordBytes, c.MaxMetadata = 6, 1500, 20 }),
		chooser:   c,
		instances: []string{"i1", "i2", "i3"},
		sets:      map[int32]string{},
		told:      map[string]string{},
		before:    map[Ticket]bool{},
	}
	if x.choose(2) == 0 {
		x.cfg.InitialDelay = 0
	}
	return x
}

// move does one thing.
func (x *chaos) move() {
	switch x.choose(20) {
	case 0, 1, 2:
		x.step(x.anyJoin(true))
	case 3, 4, 5, 6:
		x.step(x.anyJoin(false))
	case 7, 8, 9:
		x.step(x.anySync())
	case 10:
		x.step(Heartbeat{MemberID: x.anyID(), InstanceID: x.anyInstance(), Generation: x.anyGeneration()})
	case 11:
		x.step(x.anyLeave())
	case 12, 13:
		x.step(x.anyCommit())
	case 14:
		x.administer()
	case 15, 16:
		x.pass([]time.Duration{time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, time.Minute, 6 * time.Minute, 3 * time.Hour, 200 * time.Hour}[x.choose(8)])
	case 17:
		if x.stalled {
			x.resume()
		}
		x.stalled = x.choose(3) == 0
	case 18:
		x.transact()
	case 19:
		switch x.choose(4) {
		case 0:
			x.reload()
			if !x.g.Exists() {
				// Nothing of it was in the log: the next group of that name counts
				// from the beginning, and knows none of the members of this one.
				clear(x.sets)
			}
		case 1:
			x.moveTo(x.now.Mono + 4*time.Second)
			x.g.Forgive(x.now, 4*time.Second)
			if err := x.g.check(); err != nil {
				x.tb.Fatal(err)
			}
			x.settle(x.g.Tick(x.now, Offset(len(x.log))))
		}
	}
	x.observe()
}

// observe remembers the ids that were handed out and looks for a generation
// that is told for two sets of members.
func (x *chaos) observe() {
	x.tb.Helper()
	for ; x.seen < len(x.events); x.seen++ {
		if x.events[x.seen].Kind == GroupDeleted {
			clear(x.sets)
			for _, r := range x.held {
				x.before[r.Ticket] = true
			}
		}
	}
	for _, r := range x.replied {
		x.said = append(x.said, r.Ticket)
		j, ok := r.Body.(Joined)
		if !ok {
			continue
		}
		if j.MemberID != "" && !slices.Contains(x.ids, j.MemberID) {
			x.ids = append(x.ids, j.MemberID)
		}
		if j.Code != codeNone || len(j.Members) == 0 || j.SkipAssignment {
			continue
		}
		var set strings.Builder
		for _, m := range j.Members {
			fmt.Fprintf(&set, "%s %x,", m.MemberID, m.Metadata)
		}
		if old, ok := x.sets[j.Generation]; ok && old != set.String() && !x.before[r.Ticket] {
			x.tb.Fatalf("generation %d is told for %s and for %s", j.Generation, old, set.String())
		}
		if !x.before[r.Ticket] {
			x.sets[j.Generation] = set.String()
		}
		told := fmt.Sprint(j.MemberID, " ", j.Generation)
		if old, ok := x.told[told]; ok && old != set.String() {
			x.tb.Fatalf("%s is told generation %d for %s and for %s", j.MemberID, j.Generation, old, set.String())
		}
		x.told[told] = set.String()
	}
	x.replied = x.replied[:0]
}

func (x *chaos) anyID() string {
	if n := len(x.ids); n > 0 && x.choose(8) > 0 {
		return x.ids[n-1-x.choose(min(n, 8))]
	}
	return []string{"", "nobody"}[x.choose(2)]
}

func (x *chaos) anyInstance() *string {
	if x.choose(4) > 0 {
		return nil
	}
	return &x.instances[x.choose(len(x.instances))]
}

func (x *chaos) anyGeneration() int32 {
	if x.choose(6) > 0 {
		return x.g.generation
	}
	return []int32{-1, 0, x.g.generation - 1, x.g.generation + 1}[x.choose(4)]
}

func (x *chaos) anyJoin(fresh bool) Join {
	j := x.joinOf("")
	j.Version = []int16{9, 9, 8, 3, 0}[x.choose(5)]
	j.SessionTimeout = []time.Duration{10, 10, 6, 30, 1}[x.choose(5)] * time.Second
	j.RebalanceTimeout = []time.Duration{60, 60, 300, 5, 0}[x.choose(5)] * time.Second
	j.Protocols = [][]Protocol{
		protocols("range"), protocols("range"), protocols("range", "sticky"), protocols("sticky", "range"),
		{{Name: "range", Metadata: []byte("?")}, {Name: "range", Metadata: []byte("!")}},
		protocols("other"), nil,
	}[x.choose(7)]
	if x.choose(10) == 0 {
		j.ProtocolType = []string{"connect", ""}[x.choose(2)]
	}
	j.InstanceID = x.anyInstance()
	if !fresh {
		j.MemberID = x.anyID()
	}
	return j
}

func (x *chaos) anySync() Sync {
	s := Sync{Version: 3, MemberID: x.anyID(), Generation: x.anyGeneration()}
	if x.g.leader != nil && x.choose(3) == 0 {
		s.MemberID = x.g.leader.id
	}
	if x.choose(8) == 0 {
		s.Version, s.ProtocolType, s.ProtocolName = 5, new("consumer"), []*string{nil, new("sticky")}[x.choose(2)]
	}
	for _, m := range x.g.order {
		if x.choose(8) > 0 {
			s.Assignments = append(s.Assignments, Assignment{MemberID: m.id, Data: make([]byte, []int{4, 4, 0, 400}[x.choose(4)])})
		}
	}
	return s
}

func (x *chaos) anyLeave() Leave {
	l := Leave{Version: int16(x.choose(6))}
	for range x.choose(3) + 1 {
		l.Members = append(l.Members, LeavingMember{MemberID: x.anyID(), InstanceID: x.anyInstance(), Reason: "why not"})
		if l.Version < 3 {
			l.Members[0].InstanceID = nil
			break
		}
	}
	return l
}

func (x *chaos) anyPartition() TopicPartition {
	return TopicPartition{Topic: []string{"t", "u"}[x.choose(2)], Partition: int32(x.choose(3))}
}

func (x *chaos) anyCommit() Commit {
	c := Commit{Version: int16(x.choose(10)), MemberID: x.anyID(), Generation: x.anyGeneration(), Retention: -1}
	if x.choose(3) == 0 {
		c.MemberID, c.Generation = "", -1
	}
	if x.choose(4) == 0 {
		c.Retention = time.Duration(x.choose(100)) * time.Second
	}
	for range x.choose(3) {
		c.Offsets = append(c.Offsets, CommitOffset{
			TopicPartition: x.anyPartition(), Offset: int64(x.choose(100)), LeaderEpoch: int32(x.choose(3)) - 1,
			Metadata: strings.Repeat("m", x.choose(25)), Timestamp: -1,
		})
	}
	return c
}

func (x *chaos) administer() {
	switch x.choose(6) {
	case 0:
		x.step(FetchOffsets{All: x.choose(2) == 0, Partitions: []TopicPartition{x.anyPartition()}, RequireStable: x.choose(2) == 0})
	case 1:
		x.step(DeleteOffsets{Partitions: []TopicPartition{x.anyPartition(), x.anyPartition()}})
	case 2:
		x.step(Delete{})
	case 3:
		x.step(Describe{Version: int16(x.choose(7))})
	case 4:
		x.step(Expire{})
	case 5:
		x.step(ForgetTopic{Topic: x.anyPartition().Topic, ID: [16]byte{byte(x.choose(2))}})
	}
}

// transact puts a part of a transaction into the log, as a transaction
// coordinator and its clients do behind the back of the group.
func (x *chaos) transact() {
	e := Entry{Offset: Offset(len(x.log)), LeaderEpoch: x.epoch, ProducerID: int64(x.choose(3))}
	switch tp := x.anyPartition(); x.choose(5) {
	case 0:
		e.Control = ControlCommit
	case 1:
		e.Control = ControlAbort
	default:
		e.Key = schema.AppendOffsetKey(nil, schema.OffsetKey{Group: "g", Topic: tp.Topic, Partition: tp.Partition})
		e.Value = schema.AppendOffsetValue(nil, schema.OffsetValue{Offset: int64(x.choose(100)), ExpireTimestamp: schema.None, CommitTimestamp: x.now.Wall})
	}
	x.log = append(x.log, e)
	if err := x.g.Apply(e); err != nil {
		x.tb.Fatal(err)
	}
}

// end lets every request be answered.
func (x *chaos) end() {
	x.tb.Helper()
	x.compareReplay()
	if parked, open := len(x.g.Parked()), len(x.open); parked != open {
		x.tb.Fatalf("%d requests are parked, %d are open", parked, open)
	}
	x.reload()
	x.compareReplay()
}

func TestRandomConversations(t *testing.T) {
	seeds, moves := 400, 400
	if testing.Short() {
		seeds = 40
	}
	reached := map[EventKind]int{}
	for seed := range seeds {
		x := newChaos(t, seeded{rand.New(rand.NewPCG(uint64(seed), 1))})
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("seed %d: %v", seed, r)
				}
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			for i := range moves {
				x.move()
				if i%16 == 0 {
					x.compareReplay()
				}
			}
			x.end()
		}()
		for _, e := range x.events {
			reached[e.Kind]++
		}
	}
	for kind := GroupCreated; kind <= OffsetsExpired; kind++ {
		if reached[kind] == 0 && !testing.Short() {
			t.Errorf("no conversation had the event %s", kind)
		}
	}
}

// TestSameCallsSameEffects plays each conversation twice: no map order may
// reach an output.
func TestSameCallsSameEffects(t *testing.T) {
	for seed := range 50 {
		play := func() string {
			x := newChaos(t, seeded{rand.New(rand.NewPCG(uint64(seed), 2))})
			var said strings.Builder
			for range 300 {
				x.move()
				text, _ := x.g.MarshalText()
				said.Write(text)
			}
			for _, e := range x.log {
				fmt.Fprintf(&said, "%d %d %x %x", e.Offset, e.LeaderEpoch, e.Key, e.Value)
			}
			fmt.Fprintf(&said, "%s %v %s", spell(x.events), x.said, spell(x.answers))
			return said.String()
		}
		if first, second := play(), play(); first != second {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// spell prints a value with what its pointers point to.
func spell(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func FuzzGroupEvents(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 4 {
		seed := make([]byte, 400)
		for i := range seed {
			seed[i] = byte(r.IntN(256))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		in := &fromBytes{data}
		x := newChaos(t, in)
		for len(in.left) > 0 {
			x.move()
		}
		x.end()
	})
}
