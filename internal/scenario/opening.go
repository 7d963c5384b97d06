package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"rota/internal/group"
)

// opening is a "stable" line: clients that form a group in the usual way,
// which is not written out again in every file. Each joins, is given an id and
// joins with it, the initial delay passes, the first leads and hands in the
// assignments p0, p1, ..., and all sync. The clock of the "@" lines then starts
// at zero.
type opening struct {
	group   *groupLine
	version int16
	clients []string
	// instances are those of the clients; nil for a dynamic member.
	instances []*string
}

func (c *compiler) parseOpening(words []string) (*opening, error) {
	o, err := readOptions(words, "v")
	if err != nil {
		return nil, err
	}
	version, err := o.number("v", newestVersion["join"], 16)
	if err != nil {
		return nil, err
	}
	if c.current == nil {
		return nil, errors.New("no group line above")
	}
	open := &opening{group: c.current, version: int16(version)}
	for _, w := range o.args {
		client, instance, err := parseMemberEntry(w)
		if err != nil {
			return nil, err
		}
		if !isClient(client) || slices.Contains(open.clients, client) {
			return nil, fmt.Errorf("%q is no client, or stands twice", client)
		}
		open.clients = append(open.clients, client)
		open.instances = append(open.instances, instance)
	}
	if len(open.clients) == 0 {
		return nil, errors.New("stable takes clients")
	}
	return open, nil
}

// join is the JoinGroup of the i-th client.
func (o *opening) join(i int, member string) (*call, error) {
	q := &call{client: o.clients[i], verb: "join", group: o.group.name, version: o.version, protocolType: o.group.protocolType}
	j, err := joinRequest(q, o.group, options{})
	j.MemberID, j.InstanceID = member, o.instances[i]
	q.request = j
	return q, err
}

// sync is the SyncGroup of the i-th client; that of the first has the plan.
func (o *opening) sync(i int, joined []group.Joined) *call {
	s := group.Sync{
		Version: int16(newestVersion["sync"]), Generation: joined[i].Generation,
		MemberID: joined[i].MemberID, InstanceID: o.instances[i],
	}
	if i == 0 {
		for n, j := range joined {
			s.Assignments = append(s.Assignments, group.Assignment{MemberID: j.MemberID, Data: []byte("p" + strconv.Itoa(n))})
		}
	}
	return &call{client: o.clients[i], verb: "sync", group: o.group.name, version: s.Version, request: s}
}

// open plays the opening and shows nothing of it.
func (s *shell) open(o *opening) error {
	answers := map[string]group.Response{}
	s.quiet = func(c *call, body group.Response) { answers[c.client] = body }
	defer func() { s.quiet = nil }()

	send := func(q *call, err error) error {
		if err == nil {
			delete(answers, q.client)
			err = s.request(q)
		}
		return err
	}
	for i, client := range o.clients {
		if err := send(o.join(i, "")); err != nil {
			return err
		}
		if id, ok := requiredID(answers[client]); ok {
			if err := send(o.join(i, id)); err != nil {
				return err
			}
		}
	}
	for len(answers) < len(o.clients) {
		if err := s.nextDeadline(); err != nil {
			return err
		}
	}
	joined := make([]group.Joined, len(o.clients))
	for i, client := range o.clients {
		joined[i], _ = answers[client].(group.Joined)
		if joined[i].Code != 0 {
			return fmt.Errorf("the join of %s is refused: %s", client, formatCode(joined[i].Code))
		}
	}
	// The leader last, so that nobody waits when it is done.
	for i := range slices.Backward(o.clients) {
		if err := send(o.sync(i, joined), nil); err != nil {
			return err
		}
	}
	for _, client := range o.clients {
		if synced, ok := answers[client].(group.Synced); !ok || synced.Code != 0 {
			return fmt.Errorf("the sync of %s is not answered, or refused: %v", client, answers[client])
		}
	}
	s.origin = s.now
	*s.lastSegment() = segment{at: -1}
	return nil
}

// requiredID returns the id that a MEMBER_ID_REQUIRED gives.
func requiredID(answer group.Response) (string, bool) {
	const memberIDRequired = 79
	j, ok := answer.(group.Joined)
	return j.MemberID, ok && j.Code == memberIDRequired
}
