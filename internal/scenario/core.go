package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rota/internal/group"
)

// wallOrigin is the Unix time in milliseconds at which every scenario begins.
const wallOrigin = 1_700_000_000_000

// Machine is what a scenario plays against: the part of *group.Group that a
// shell uses.
type Machine interface {
	Exists() bool
	Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects
	Tick(now group.Now, at group.Offset) group.Effects
	Deadline() (time.Duration, bool)
	Apply(e group.Entry) error
	Loaded(now group.Now, at group.Offset, epoch int32) group.Effects
	Released(now group.Now, t group.Ticket)
	Forgive(now group.Now, late time.Duration)
	Unload(now group.Now) group.Effects
	Parked() []group.Ticket
	Summary() group.Summary
	MarshalText() ([]byte, error)
}

var _ Machine = (*group.Group)(nil)

// NewMachine makes a Machine for the group of that id.
type NewMachine func(id string, c *group.Config) Machine

// Run plays the scenario against the pure rules and returns what happened, in
// the words of the file: it equals f if all went as written. The error says
// that the rules broke their contract with the shell: a request answered
// twice, a state that does not come back from the log, a panic.
//
// newMachine is nil for package group itself.
func Run(f *File, newMachine NewMachine) (*File, error) {
	if newMachine == nil {
		newMachine = func(id string, c *group.Config) Machine { return group.New(id, c) }
	}
	if reason, ok := f.Header("tcp-only"); ok {
		return nil, fmt.Errorf("%s plays over TCP only: %s", f.Name, reason)
	}
	first, trace, err := play(f, newMachine)
	if err != nil {
		return first, err
	}
	// The same calls must have the same effects: a second run finds a map
	// whose order, or a clock whose time, has reached an output.
	_, again, err := play(f, newMachine)
	if err == nil && trace != again {
		err = fmt.Errorf("%s: two runs of the same file differ:\n%s", f.Name, diffText(trace, again))
	}
	return first, err
}

// play runs the file once. The second result is everything the run did, to be
// compared with another run.
func play(f *File, newMachine NewMachine) (happened *File, trace string, err error) {
	s := newShell(f, newMachine)
	happened = &File{Name: f.Name, Headers: f.Headers, Tail: f.Tail}
	var everything strings.Builder
	for i := range f.Blocks {
		b := &f.Blocks[i]
		out, err := s.guarded(b)
		happened.Blocks = append(happened.Blocks, out)
		if err != nil {
			happened.Blocks = append(happened.Blocks, f.Blocks[i+1:]...)
			return happened, "", fmt.Errorf("%s:%d: %s: %w", f.Name, b.Input.Number, b.Input.canonical(), err)
		}
		for _, seg := range s.segments {
			fmt.Fprintln(&everything, seg.at, seg.lines, seg.events, seg.states)
		}
	}
	if err := s.compareWithReplay(); err != nil {
		return happened, "", fmt.Errorf("%s: at the end: %w", f.Name, err)
	}
	for _, name := range s.names {
		if g, ok := s.groups[name]; ok {
			text, err := g.MarshalText()
			if err != nil {
				return happened, "", err
			}
			everything.Write(text)
		}
	}
	return happened, everything.String(), nil
}

// shell is the coordinator's shell in small: one shard with all groups of the
// file, one event at a time.
type shell struct {
	newMachine NewMachine
	config     *group.Config
	compiler   *compiler

	now   time.Duration // since the beginning, on the monotonic clock
	jump  time.Duration // what the wall clock has jumped
	state shardState
	epoch int32
	// origin is when the clock of the "@" lines began.
	origin time.Duration

	groups map[string]Machine
	names  []string // of groups, in the order in which they appeared

	log     []group.Entry
	durable int  // entries of log that are durable; the others are in flight
	hold    bool // appends stay in flight
	fail    bool // the next append fails

	tickets map[group.Ticket]*open
	next    group.Ticket
	held    []heldReply
	ids     map[string]int // member ids given to each client
	given   []string       // ids in the answers to the current request

	segments []segment // what the current block has done
	// quiet takes the answers of an opening, which are not shown.
	quiet func(*call, group.Response)
}

type shardState uint8

const (
	serving shardState = iota
	loading
	failed
)

// open is a request that has no answer yet.
type open struct {
	ticket group.Ticket
	call   *call
	// answered: the rules have replied and the reply waits for its batch.
	answered bool
	// lost: the client has gone away.
	lost bool
}

// heldReply waits until the log is durable up to an offset.
type heldReply struct {
	machine Machine
	reply   group.Reply
	upTo    int
}

func newShell(f *File, newMachine NewMachine) *shell {
	return &shell{
		newMachine: newMachine, config: f.Config(), compiler: newCompiler(f), epoch: 1,
		groups: map[string]Machine{}, tickets: map[group.Ticket]*open{}, ids: map[string]int{},
	}
}

func (s *shell) present() group.Now {
	return group.Now{Mono: s.now, Wall: wallOrigin + (s.now + s.jump).Milliseconds()}
}

// guarded plays a block and turns a panic of the rules into an error.
func (s *shell) guarded(b *Block) (out Block, err error) {
	out = *b
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, panicSite())
		}
	}()
	st, err := s.compiler.compile(&b.Input)
	if err != nil {
		return out, err
	}
	s.segments = []segment{{at: -1}}
	before := s.states()
	if err := s.do(&st, before); err != nil {
		return out, err
	}
	if err := s.checkParked(); err != nil {
		return out, err
	}
	// Outside a stop, states are those at the end of the block.
	s.segments[0].states = s.states()
	s.lastSegment().states = s.states()
	return matchBlock(b, s.segments, s.compiler.currentName()), nil
}

func (s *shell) lastSegment() *segment { return &s.segments[len(s.segments)-1] }

func (s *shell) put(l Line) {
	seg := s.lastSegment()
	seg.lines = append(seg.lines, l)
}

// do plays one input.
func (s *shell) do(st *step, before map[string]string) error {
	if st.call != nil {
		return s.request(st.call)
	}
	switch st.command {
	case "+":
		return s.pass(st.duration, before)
	case "stable":
		return s.open(st.opening)
	case "expire":
		return s.everyGroup(func() group.Request { return group.Expire{} })
	case "forget-topic":
		return s.everyGroup(func() group.Request { return group.ForgetTopic{Topic: st.target, ID: st.topicID} })
	case "fail-append":
		s.fail = true
		if s.durable < len(s.log) {
			return s.endShard()
		}
	case "hold-append":
		s.hold = true
	case "release":
		s.hold = false
		return s.becomeDurable()
	case "restart":
		if len(s.tickets) > 0 {
			return errors.New("a restart must not find a request open; reload may")
		}
		return s.reload()
	case "reload":
		return s.reload()
	case "loading":
		return s.unload()
	case "loaded":
		return s.load()
	case "late":
		s.now += st.duration
		for _, name := range s.names {
			s.groups[name].Forgive(s.present(), st.duration)
		}
		return s.settle()
	case "wall":
		s.jump += st.duration
	case "disconnect":
		for _, o := range s.tickets {
			o.lost = o.lost || o.call.client == st.target
		}
	case "log":
		return s.appendByHand(st)
	}
	return nil
}

// request runs what a client sends, as the shell does: refused if the shard
// does not serve, else a step of the group.
func (s *shell) request(q *call) error {
	if q.verb == "list" {
		return s.list(q)
	}
	if q.ends != nil {
		return s.endTransaction(q)
	}
	o := &open{ticket: s.next, call: q}
	s.next++
	s.tickets[o.ticket] = o
	if c := s.refusal(q); c != 0 {
		s.answer(o, group.Refuse(q.request, c))
		return nil
	}
	newID := ""
	if j, ok := q.request.(group.Join); ok && j.MemberID == "" {
		newID = s.newMemberID(q.client)
		j.NewMemberID = newID
		q.request = j
	}
	s.given = s.given[:0]
	if err := s.step(q.group, o.ticket, q.request); err != nil {
		return err
	}
	if newID != "" && !s.mentions(newID, o) {
		s.ids[letter(q.client)]-- // refused: the next join gets this id
	}
	return s.settle()
}

// refusal is the code with which the shell answers for the group, if it does.
func (s *shell) refusal(q *call) group.Code {
	const invalidGroupID, loadInProgress, notCoordinator = 24, 14, 16
	switch q.request.(type) {
	case group.Join, group.Sync, group.Heartbeat, group.Leave, group.DeleteOffsets, group.TxnCommit:
		if q.group == "" {
			return invalidGroupID
		}
	}
	switch s.state {
	case loading:
		return loadInProgress
	case failed:
		return notCoordinator
	case serving:
	}
	return 0
}

// newMemberID names the next id of a client: a1, a2 for A and for A2, which is
// another connection of the same client.
func (s *shell) newMemberID(client string) string {
	name := letter(client)
	s.ids[name]++
	return name + strconv.Itoa(s.ids[name])
}

func letter(client string) string {
	return strings.ToLower(strings.TrimRight(client, "0123456789"))
}

// mentions reports whether the id has been given away by the request o.
func (s *shell) mentions(id string, o *open) bool {
	if _, waits := s.tickets[o.ticket]; waits {
		return true
	}
	return slices.Contains(s.given, id)
}

// machine returns the group of that name, made new if need be.
func (s *shell) machine(name string) (Machine, error) {
	if g, ok := s.groups[name]; ok {
		return g, nil
	}
	g := s.newMachine(name, s.config)
	s.groups[name] = g
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	return g, s.effects(name, g, g.Loaded(s.present(), s.at(), s.epoch))
}

func (s *shell) step(name string, t group.Ticket, r group.Request) error {
	g, err := s.machine(name)
	if err != nil {
		return err
	}
	return s.effects(name, g, g.Step(s.present(), s.at(), t, r))
}

// everyGroup runs a request of the shell itself on each group.
func (s *shell) everyGroup(next func() group.Request) error {
	if s.state != serving {
		return nil
	}
	for _, name := range slices.Clone(s.names) {
		t := s.next
		s.next++
		r := next()
		s.tickets[t] = &open{ticket: t, call: &call{group: name, request: r}}
		if err := s.step(name, t, r); err != nil {
			return err
		}
		if _, expire := r.(group.Expire); expire {
			delete(s.tickets, t) // it has no answer
		}
	}
	return s.settle()
}

func (s *shell) list(q *call) error {
	if len(q.states) > 0 || len(q.types) > 0 {
		return errors.New("filters belong to the API: a file with them is tcp-only")
	}
	var groups []group.Summary
	var code group.Code
	if s.state == loading {
		code = 14
	}
	if s.state == serving {
		for _, name := range slices.Sorted(slices.Values(s.names)) {
			if g, ok := s.groups[name]; ok && g.Exists() {
				groups = append(groups, g.Summary())
			}
		}
	}
	s.put(Line{Kind: Reply, Who: q.client, Words: listWords(code, groups)})
	return nil
}
