package explore

import (
	"slices"
	"strconv"
	"strings"

	"rota/internal/group"
)

// Call is one call on a group, as an observer sees it.
type Call struct {
	// Request is nil for a tick and for a load.
	Request       group.Request
	Before, After *Facts
	Events        []group.Event
	Replies       []group.Reply
	Batches       []group.Batch
	// Answered says that the request has its answer, which is Body.
	Answered bool
	Body     group.Response
	// Others are the answers to requests that were parked.
	Others []Other
	// Loading: the shard was loading, and the group was not asked.
	Loading bool
	ticket  group.Ticket
}

// Other is the answer to a request that was parked.
type Other struct {
	Member string
	Joins  bool
	Body   group.Response
}

// Facts are what the text of a group says.
type Facts struct {
	Exists     bool
	State      string
	Generation int32
	Type       string
	Protocol   string
	Leader     string
	Initial    bool
	Members    []MemberFacts
	Pending    []string
	Subscribed bool // the topics are known
	Recorded   bool // there is a group record
	Committed  int
	Open       int // offsets of open transactions
	waiting    map[group.Ticket]waits
}

// waits is whose request a ticket is.
type waits struct {
	member string
	joins  bool
}

func (f *Facts) park(t group.Ticket, joins bool, member string) {
	if f.waiting == nil {
		f.waiting = map[group.Ticket]waits{}
	}
	f.waiting[t] = waits{member, joins}
}

func (f *Facts) parked(t group.Ticket) (waits, bool) {
	w, ok := f.waiting[t]
	return w, ok
}

// member returns the member of that id, or nil.
func (f *Facts) member(id string) *MemberFacts {
	for i := range f.Members {
		if f.Members[i].ID == id {
			return &f.Members[i]
		}
	}
	return nil
}

// owner returns the member of that instance, or nil.
func (f *Facts) owner(instance *string) *MemberFacts {
	for i := range f.Members {
		if instance != nil && f.Members[i].Instance == *instance {
			return &f.Members[i]
		}
	}
	return nil
}

// MemberFacts are what the text of a group says of a member.
type MemberFacts struct {
	ID, Instance                                string
	New, Unsynced, JoinParked, SyncParked, Owns bool
	Protocols                                   []string // with their metadata
}

// textOf is the part of a machine that facts come from.
type textOf interface {
	Exists() bool
	MarshalText() ([]byte, error)
}

func begin(g textOf, req group.Request, t group.Ticket) *Call {
	return &Call{Request: req, Before: factsOf(g), ticket: t}
}

func (c *Call) end(g textOf, fx *group.Effects) {
	c.After = factsOf(g)
	c.Events, c.Replies, c.Batches = fx.Events, slices.Clone(fx.Replies), fx.Batches
	for _, r := range c.Replies {
		if r.Ticket == c.ticket && c.Request != nil {
			c.Answered, c.Body = true, r.Body
			continue
		}
		if p, ok := c.Before.parked(r.Ticket); ok {
			c.Others = append(c.Others, Other{p.member, p.joins, r.Body})
		}
	}
}

// factsOf reads the text of a group.
func factsOf(g textOf) *Facts {
	f := &Facts{Exists: g.Exists()}
	text, err := g.MarshalText()
	if err != nil {
		panic(err)
	}
	open := false
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == group.OpenLine {
			open = true
			continue
		}
		w := fields(line)
		if len(w) == 0 {
			continue
		}
		if open {
			f.readOpen(line, w)
			continue
		}
		switch w[0] {
		case "record":
			f.Recorded = true
		case "committed":
			f.Committed++
		case "pending":
			f.Open++
		}
	}
	return f
}

func (f *Facts) readOpen(line string, w []string) {
	switch w[0] {
	case "state":
		f.State = w[1]
		n, _ := strconv.Atoi(value(w, "generation"))
		f.Generation = int32(n)
		f.Type, f.Protocol, f.Leader = value(w, "type"), value(w, "protocol"), value(w, "leader")
	case "subscribed":
		f.Subscribed = true
	case "joining":
		f.Initial = slices.Contains(w, "initial")
	case "member":
		m := MemberFacts{ID: unquoted(w[1]), Instance: value(w, "instance"), Owns: value(w, "assignment") != ""}
		m.New, m.Unsynced = slices.Contains(w, "new"), slices.Contains(w, "unsynced")
		m.JoinParked, m.SyncParked = slices.Contains(w, "join-parked"), slices.Contains(w, "sync-parked")
		f.Members = append(f.Members, m)
	case "protocol":
		if strings.HasPrefix(line, "  ") {
			m := &f.Members[len(f.Members)-1]
			m.Protocols = append(m.Protocols, strings.Join(w[1:], " "))
		}
	case "pending-join":
		f.Pending = append(f.Pending, unquoted(w[1]))
	case "parked":
		n, _ := strconv.ParseUint(value(w, "ticket"), 10, 64)
		f.park(group.Ticket(n), w[1] == "join", value(w, "member"))
	}
}

// fields splits a line at spaces outside quotes.
func fields(line string) []string {
	var out []string
	quoted, start := false, -1
	for i := 0; i <= len(line); i++ {
		switch {
		case i == len(line) || line[i] == ' ' && !quoted:
			if start >= 0 {
				out = append(out, line[start:i])
			}
			start = -1
			continue
		case line[i] == '\\' && quoted:
			i++
		case line[i] == '"':
			quoted = !quoted
		}
		if start < 0 {
			start = i
		}
	}
	return out
}

// value returns what the word key=value says, "" if there is none.
func value(words []string, key string) string {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, key+"="); ok && v != "none" {
			return unquoted(v)
		}
	}
	return ""
}

func unquoted(w string) string {
	if s, err := strconv.Unquote(w); err == nil {
		return s
	}
	return w
}
