package scenario

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"rota/internal/group"
)

// step is an input line that is ready to be played.
type step struct {
	line *Line
	// call is what a client sends; nil for a command.
	call *call
	// command is the word that the line begins with, "+" for passing time.
	command  string
	duration time.Duration // of "+5s", "late", "wall"
	target   string        // client, topic or group that the command is about
	topicID  [16]byte      // of "forget-topic"
	byHand   *handBatch    // of "log = ..."
	opening  *opening      // of "stable"
}

// call is one request of a client.
type call struct {
	client  string
	verb    string
	group   string
	version int16
	// request is nil for "list" and "end-txn".
	request group.Request
	// protocolType is what the file says of the group; answers leave it out.
	protocolType string
	// states and types are the filters of "list".
	states, types []string
	ends          *ending // of "end-txn"
}

// groupLine is what a "group" line says of a group: the defaults of its joins.
type groupLine struct {
	name         string
	protocolType string
	session      time.Duration
	rebalance    time.Duration
	protocols    string
	topics       string // the payload word of a protocol without one
}

// compiler reads inputs in the order of the file: a request goes to the group
// named last.
type compiler struct {
	file    *File
	groups  map[string]*groupLine
	order   []string
	current *groupLine
}

func newCompiler(f *File) *compiler {
	return &compiler{file: f, groups: map[string]*groupLine{}}
}

func (c *compiler) compile(l *Line) (step, error) {
	if l.Kind == Request {
		call, err := c.request(l)
		return step{line: l, call: call}, err
	}
	word, rest := l.Words[0], l.Words[1:]
	if strings.HasPrefix(word, "+") {
		d, err := parseDuration(word[1:])
		if err != nil || d < 0 || len(rest) > 0 {
			return step{}, fmt.Errorf("%q is not a time to let pass", strings.Join(l.Words, " "))
		}
		return step{line: l, command: "+", duration: d}, nil
	}
	s := step{line: l, command: word}
	return s, c.command(&s, rest)
}

// command fills in the arguments of a command.
func (c *compiler) command(s *step, rest []string) (err error) {
	switch s.command {
	case "group":
		return c.groupCommand(rest)
	case "broker":
		for _, w := range rest {
			if _, _, err := parseSetting(w); err != nil {
				return err
			}
		}
		return nil
	case "log":
		if len(rest) < 2 || rest[0] != "=" {
			return errors.New(`a record by hand is written "log = ..."`)
		}
		s.byHand, err = parseHandBatch(rest[1:])
		return err
	case "stable":
		s.opening, err = c.parseOpening(rest)
		return err
	case "late", "wall":
		if len(rest) != 1 {
			return fmt.Errorf("%s takes one duration", s.command)
		}
		s.duration, err = parseDuration(rest[0])
		return err
	case "disconnect":
		if len(rest) != 1 || !isClient(rest[0]) {
			return errors.New("disconnect takes the name of a client")
		}
		s.target = rest[0]
		return nil
	case "forget-topic":
		if len(rest) != 1 {
			return errors.New("forget-topic takes a topic")
		}
		s.target, err = unquote(rest[0])
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s takes nothing", s.command)
	}
	return nil
}

// currentName is the group that requests go to.
func (c *compiler) currentName() string {
	if c.current == nil {
		return ""
	}
	return c.current.name
}

func (c *compiler) groupCommand(words []string) error {
	if len(words) == 0 {
		return errors.New("group takes a name")
	}
	name, err := unquote(words[0])
	if err != nil {
		return err
	}
	o, err := readOptions(words[1:], "type", "session", "rebalance", "protocols", "topics")
	if err != nil {
		return err
	}
	if len(o.args) > 0 {
		return fmt.Errorf("unknown option %q", o.args[0])
	}
	g := c.named(name)
	c.current = g
	if g.protocolType, err = o.text("type", g.protocolType); err != nil {
		return err
	}
	if g.session, err = o.duration("session", g.session); err != nil {
		return err
	}
	if g.rebalance, err = o.duration("rebalance", g.rebalance); err != nil {
		return err
	}
	if p, ok := o.values["protocols"]; ok {
		g.protocols = p
	}
	if t, ok := o.values["topics"]; ok {
		g.topics = "[" + t + "]"
	}
	_, err = parseProtocols(g.protocols, g.topics)
	return err
}

// named returns the settings of a group, those of the language if no line gave
// any.
func (c *compiler) named(name string) *groupLine {
	if g, ok := c.groups[name]; ok {
		return g
	}
	g := &groupLine{
		name: name, protocolType: "consumer", protocols: "range", topics: "[t]",
		session: 10 * time.Second, rebalance: 30 * time.Second,
	}
	c.groups[name] = g
	c.order = append(c.order, name)
	return g
}

// parseProtocols reads "range,sticky:[t]"; a protocol without a payload gets
// byDefault.
func parseProtocols(list, byDefault string) ([]group.Protocol, error) {
	if list == "none" {
		return nil, nil
	}
	var protocols []group.Protocol
	for _, entry := range splitOutside(list, ',') {
		nameWord, payload, ok := cutOutside(entry, ':')
		if !ok {
			payload = byDefault
		}
		name, err := unquote(nameWord)
		if err != nil {
			return nil, err
		}
		metadata, err := parsePayload(payload)
		if err != nil {
			return nil, err
		}
		protocols = append(protocols, group.Protocol{Name: name, Metadata: metadata})
	}
	return protocols, nil
}
