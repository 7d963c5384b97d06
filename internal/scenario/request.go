package scenario

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"rota/internal/group"
)

// newestVersion is what a request without v= is sent as: the newest version
// that all brokers of the last years know. SyncGroup 5 would need the protocol
// in every line, OffsetCommit and OffsetFetch 10 topic ids.
var newestVersion = map[string]int64{
	"join": 9, "sync": 4, "heartbeat": 4, "leave": 5, "commit": 8,
	"fetch-offsets": 8, "delete-offsets": 0, "delete": 2, "describe": 5, "list": 5,
	"txn-commit": 3, "end-txn": 3,
}

// requestOptions are the options of each request, besides v= and group=.
var requestOptions = map[string][]string{
	"join": {
		"member", "instance", "session", "rebalance", "type", "protocols", "reason", "client", "host",
	},
	"sync":           {"member", "instance", "generation", "type", "protocol"},
	"heartbeat":      {"member", "instance", "generation"},
	"leave":          {"reason"},
	"commit":         {"member", "instance", "generation", "retention"},
	"fetch-offsets":  nil,
	"delete-offsets": nil,
	"delete":         nil,
	"describe":       nil,
	"list":           {"states", "types"},
	"txn-commit":     {"producer", "member", "instance", "generation"},
	"end-txn":        {"producer"},
}

// request compiles what a client sends.
func (c *compiler) request(l *Line) (*call, error) {
	verb := l.Words[0]
	known := append([]string{"v", "group"}, requestOptions[verb]...)
	o, err := readOptions(l.Words[1:], known...)
	if err != nil {
		return nil, err
	}
	g := c.current
	if _, ok := o.values["group"]; ok {
		name, err := o.text("group", "")
		if err != nil {
			return nil, err
		}
		g = c.named(name)
	}
	if g == nil {
		return nil, errors.New("no group line above")
	}
	version, err := o.number("v", newestVersion[verb], 16)
	if err != nil {
		return nil, err
	}
	q := &call{client: l.Who, verb: verb, group: g.name, version: int16(version), protocolType: g.protocolType}
	return q, q.fill(g, o)
}

// fill builds the request from its options.
func (q *call) fill(g *groupLine, o options) (err error) {
	switch q.verb {
	case "join":
		q.request, err = joinRequest(q, g, o)
	case "sync":
		q.request, err = syncRequest(q, o)
	case "heartbeat":
		q.request, err = heartbeatRequest(o)
	case "leave":
		q.request, err = leaveRequest(q, o)
	case "commit":
		q.request, err = commitRequest(q, o)
	case "fetch-offsets":
		q.request, err = fetchRequest(o)
	case "delete-offsets":
		q.request, err = deleteOffsetsRequest(o)
	case "delete":
		q.request, err = group.Delete{}, noArguments(o)
	case "describe":
		q.request, err = group.Describe{Version: q.version}, noArguments(o)
	case "txn-commit":
		q.request, err = txnCommitRequest(q, o)
	case "end-txn":
		q.ends, err = endRequest(o)
	case "list":
		if q.states, err = filter(o, "states"); err != nil {
			return err
		}
		if q.types, err = filter(o, "types"); err != nil {
			return err
		}
		return noArguments(o)
	}
	return err
}

func noArguments(o options) error {
	if len(o.args) > 0 {
		return fmt.Errorf("unknown option %q", o.args[0])
	}
	return nil
}

func joinRequest(q *call, g *groupLine, o options) (group.Join, error) {
	j := group.Join{Version: q.version}
	rebalance := g.rebalance
	if q.version == 0 {
		rebalance = 0 // the version has no such field
	}
	protocols, ok := o.values["protocols"]
	if !ok {
		protocols = g.protocols
	}
	var err error
	fail := func(e error) {
		if err == nil {
			err = e
		}
	}
	text := func(key, byDefault string) string {
		s, e := o.text(key, byDefault)
		fail(e)
		return s
	}
	duration := func(key string, byDefault time.Duration) time.Duration {
		d, e := o.duration(key, byDefault)
		fail(e)
		return d
	}
	j.MemberID = text("member", "")
	j.ClientID = text("client", strings.ToLower(q.client))
	j.ClientHost = text("host", "/127.0.0.1")
	j.ProtocolType = text("type", g.protocolType)
	j.Reason = text("reason", "")
	j.SessionTimeout = duration("session", g.session)
	j.RebalanceTimeout = duration("rebalance", rebalance)
	instance, e := o.optional("instance")
	fail(e)
	j.InstanceID = instance
	list, e := parseProtocols(protocols, g.topics)
	fail(e)
	j.Protocols = list
	fail(noArguments(o))
	return j, err
}

// identity reads member= and instance=.
func identity(o options) (member string, instance *string, err error) {
	if member, err = o.text("member", ""); err != nil {
		return "", nil, err
	}
	instance, err = o.optional("instance")
	return member, instance, err
}

// generation reads generation=, which must be there.
func generation(o options) (int32, error) {
	if _, ok := o.values["generation"]; !ok {
		return 0, errors.New("generation= is missing")
	}
	n, err := o.number("generation", 0, 32)
	return int32(n), err
}

func syncRequest(q *call, o options) (group.Request, error) {
	s := group.Sync{Version: q.version}
	var err error
	if s.MemberID, s.InstanceID, err = identity(o); err != nil {
		return nil, err
	}
	if s.Generation, err = generation(o); err != nil {
		return nil, err
	}
	if s.ProtocolType, err = o.optional("type"); err != nil {
		return nil, err
	}
	if s.ProtocolName, err = o.optional("protocol"); err != nil {
		return nil, err
	}
	for _, arg := range o.args {
		id, payload, ok := cutOutside(arg, '=')
		if !ok {
			return nil, fmt.Errorf("%q is not an assignment such as a1=p0", arg)
		}
		var a group.Assignment
		if a.MemberID, err = unquote(id); err != nil {
			return nil, err
		}
		if a.Data, err = parsePayload(payload); err != nil {
			return nil, err
		}
		s.Assignments = append(s.Assignments, a)
	}
	return s, nil
}

func heartbeatRequest(o options) (group.Request, error) {
	var h group.Heartbeat
	var err error
	if h.MemberID, h.InstanceID, err = identity(o); err != nil {
		return nil, err
	}
	if h.Generation, err = generation(o); err != nil {
		return nil, err
	}
	return h, noArguments(o)
}

func leaveRequest(q *call, o options) (group.Request, error) {
	leave := group.Leave{Version: q.version}
	reason, err := o.text("reason", "")
	if err != nil {
		return nil, err
	}
	for _, arg := range o.args {
		m := group.LeavingMember{Reason: reason}
		if m.MemberID, m.InstanceID, err = parseMemberEntry(arg); err != nil {
			return nil, err
		}
		leave.Members = append(leave.Members, m)
	}
	if q.version < 3 && len(leave.Members) != 1 {
		return nil, errors.New("before version 3 exactly one member leaves")
	}
	return leave, nil
}

func commitRequest(q *call, o options) (group.Request, error) {
	c := group.Commit{Version: q.version}
	var err error
	if c.MemberID, c.InstanceID, err = identity(o); err != nil {
		return nil, err
	}
	n, err := o.number("generation", -1, 32)
	if err != nil {
		return nil, err
	}
	c.Generation = int32(n)
	if c.Retention, err = o.duration("retention", -1); err != nil {
		return nil, err
	}
	c.Offsets, err = offsetsToCommit(o.args)
	return c, err
}

// offsetsToCommit reads words such as t-0=10@5:note.
func offsetsToCommit(words []string) ([]group.CommitOffset, error) {
	var offsets []group.CommitOffset
	for _, arg := range words {
		partition, value, ok := cutOutside(arg, '=')
		if !ok {
			return nil, fmt.Errorf("%q is not an offset such as t-0=10", arg)
		}
		tp, err := parsePartition(partition)
		if err != nil {
			return nil, err
		}
		offset, facts, err := parseOffset(value)
		if err != nil {
			return nil, err
		}
		if facts != "" {
			return nil, fmt.Errorf("a commit cannot say (%s)", facts)
		}
		offset.TopicPartition = tp
		offsets = append(offsets, offset)
	}
	return offsets, nil
}

func fetchRequest(o options) (group.Request, error) {
	var f group.FetchOffsets
	for _, arg := range o.args {
		switch arg {
		case "all":
			f.All = true
		case "stable":
			f.RequireStable = true
		default:
			tp, err := parsePartition(arg)
			if err != nil {
				return nil, err
			}
			f.Partitions = append(f.Partitions, tp)
		}
	}
	return f, nil
}

func deleteOffsetsRequest(o options) (group.Request, error) {
	var d group.DeleteOffsets
	for _, arg := range o.args {
		tp, err := parsePartition(arg)
		if err != nil {
			return nil, err
		}
		d.Partitions = append(d.Partitions, tp)
	}
	return d, nil
}

// filter reads a list of quoted or plain words.
func filter(o options, key string) ([]string, error) {
	word, ok := o.values[key]
	if !ok {
		return nil, nil
	}
	var list []string
	for _, part := range splitOutside(word, ',') {
		text, err := unquote(part)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}
