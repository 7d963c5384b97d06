package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Kind is what an Event does.
type Kind uint8

// The kinds. Those from BreakConnection on are faults.
const (
	// Take: the broker reads one request from Who's connection.
	Take Kind = iota
	// TakeAll: shard Who reads one request from each connection, in one turn.
	TakeAll
	// Deliver: an answer reaches Who.
	Deliver
	// Find: Who is told where its coordinator is.
	Find
	// Land: shard Who's oldest append is durable.
	Land
	// Pass: N milliseconds pass; timers run when they are due.
	Pass
	// Act: Who does something of its own; N says what.
	Act
	// Start: shard Who is loaded after it has ended.
	Start
	// Flow: N milliseconds pass; timers run when they are due, and everything gets
	// through at once that nothing holds up.
	Flow

	// BreakConnection: Who's connection ends, both sides know.
	BreakConnection
	// LoseConnection: Who's connection carries nothing any more, and nobody knows.
	LoseConnection
	// SendTwice: Who sends its oldest unanswered request again on a new connection.
	SendTwice
	// FailAppend: shard Who's appends in flight fail; N says what is left of them.
	FailAppend
	// RefuseAppend: the log refuses shard Who's next append.
	RefuseAppend
	// ForeignAppend: another writer gets in before shard Who's next append.
	ForeignAppend
	// Crash: the broker dies, and with it what was not durable; N says how much was.
	Crash
	// Move: shard Who's leadership moves.
	Move
	// Drain: shard Who ends in good order, once its appends are durable.
	Drain
	// FindFails: Who is told that there is no coordinator.
	FindFails
	// JumpWall: the wall clock jumps by N milliseconds.
	JumpWall
	// Stall: N milliseconds pass in which the broker does not run.
	Stall
	// LateTimer: N milliseconds pass, and timers that are due run at their end.
	LateTimer
	// FillDisk: shard Who's log is full, or has room again.
	FillDisk
	// Die: the process of Who dies without a word.
	Die
	// Freeze: Who stops and does nothing, or goes on.
	Freeze
	// Dawdle: Who's application stops polling, or polls again.
	Dawdle
	// Throw: the next callback of Who fails.
	Throw
	// HoldCallback: Who's next callback takes time.
	HoldCallback
	// GrowTopic: a topic gets another partition.
	GrowTopic
	// Resize: group.max.size changes.
	Resize
	// Delay: one of the next requests of Who's, or its answer, takes its time, and
	// what comes after it on its connection; N says which and how long.
	Delay
	// Late: the broker reads what Who has sent before its connection ended.
	Late

	kinds // how many there are
)

var kindNames = [kinds]string{
	"take", "take-all", "deliver", "find", "land", "pass", "act", "start", "flow",
	"break-connection", "lose-connection", "send-twice", "fail-append", "refuse-append", "foreign-append", "crash", "move", "drain",
	"find-fails", "jump-wall", "stall", "late-timer", "fill-disk", "die", "freeze", "dawdle", "throw", "hold-callback", "grow-topic", "resize",
	"delay", "late",
}

// target is what an Event of a kind is about.
type target uint8

const (
	anActor target = iota
	aConnection
	aShard
	theWorld
)

// about has the target of each kind: an actor where it says nothing. The
// connections count on, lane after lane: the first of each actor has the
// actor's number.
var about = [kinds]target{
	Take: aConnection, Deliver: aConnection, BreakConnection: aConnection, LoseConnection: aConnection, SendTwice: aConnection,
	TakeAll: aShard, Land: aShard, Start: aShard, FailAppend: aShard, RefuseAppend: aShard, ForeignAppend: aShard,
	Move: aShard, Drain: aShard, FillDisk: aShard,
	Pass: theWorld, Flow: theWorld, Crash: theWorld, JumpWall: theWorld, Stall: theWorld, LateTimer: theWorld, GrowTopic: theWorld, Resize: theWorld,
}

// String returns the kind as files have it.
func (k Kind) String() string { return kindNames[k] }

// Event is one step of a World. What it does depends on the state of the World
// and on nothing else; where it cannot be done it does nothing.
type Event struct {
	Kind Kind
	Who  uint8  // which actor or shard
	N    uint64 // how much, or a number to choose by
}

// String returns the line of a file.
func (e Event) String() string {
	return fmt.Sprintf("%s %d %d", e.Kind, e.Who, e.N)
}

// Case is what `rota sim --replay` plays: the seed that makes the World, and
// the Events that move it.
type Case struct {
	Seed   uint64
	Events []Event
	// Settle: the end of the run is played as well.
	Settle bool

	with setup
}

// Format writes a Case as a file. note says what it shows.
func (c *Case) Format(note string) []byte {
	var b bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSpace(note), "\n") {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	fmt.Fprintf(&b, "seed %d\n", c.Seed)
	for _, e := range c.Events {
		fmt.Fprintln(&b, e)
	}
	if c.Settle {
		fmt.Fprintln(&b, "settle")
	}
	return b.Bytes()
}

// ParseCase reads what Format writes.
func ParseCase(text []byte) (*Case, error) {
	c := &Case{}
	scan := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; scan.Scan(); n++ {
		words := strings.Fields(scan.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if err := c.line(words); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return c, scan.Err()
}

func (c *Case) line(words []string) (err error) {
	switch {
	case words[0] == "settle" && len(words) == 1:
		c.Settle = true
		return nil
	case words[0] == "seed" && len(words) == 2:
		c.Seed, err = strconv.ParseUint(words[1], 10, 64)
		return err
	case len(words) != 3:
		return fmt.Errorf("%q is no event", strings.Join(words, " "))
	}
	for k, name := range kindNames {
		if name != words[0] {
			continue
		}
		who, err := strconv.ParseUint(words[1], 10, 8)
		if err != nil {
			return err
		}
		amount, err := strconv.ParseUint(words[2], 10, 64)
		c.Events = append(c.Events, Event{Kind(k), uint8(who), amount})
		return err
	}
	return fmt.Errorf("%q is no event", words[0])
}
