package scenario

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// What a play over TCP does: requests, commands, and what it needs of the
// broker besides.

// do plays one input that takes no time.
func (p *player) do(ctx context.Context, st *step) error {
	if st.call != nil {
		return p.send(ctx, st.call)
	}
	switch st.command {
	case "group", "broker":
		return nil
	case "stable":
		return p.open(ctx, st.opening)
	case "disconnect":
		p.disconnect(st.target)
		return nil
	case "restart":
		p.closeAll()
		p.coordinators = map[string]string{}
		for _, producer := range p.producers {
			producer.addr = "" // to be found again
		}
		addr, err := p.o.Restart(ctx)
		if err != nil {
			return err
		}
		p.addr = addr
		return p.awaitLoaded(ctx)
	case "forget-topic":
		return p.deleteTopic(ctx, st.target)
	}
	return fmt.Errorf("%s cannot be done over TCP", st.command)
}

// send sends a request of a client to the coordinator of its group.
func (p *player) send(ctx context.Context, q *call) error {
	if q.ends != nil {
		return p.endTransaction(ctx, q)
	}
	addr := p.addr
	if q.verb != "list" {
		var err error
		if addr, err = p.coordinator(ctx, q.group); err != nil {
			return err
		}
	}
	key := q.client + " " + addr
	c := p.clients[key]
	if c == nil {
		nc, err := p.o.Dial(ctx, addr)
		if err != nil {
			return err
		}
		c = newClient(nc, p.answersOf(q.client))
		p.clients[key] = c
		if host, _, err := net.SplitHostPort(c.nc.LocalAddr().String()); err == nil {
			p.host = "/" + host
		}
	}
	sent := *q
	if q.request != nil {
		sent.request = p.names.outgoing(q.group, q.request)
	}
	if commit, ok := sent.request.(group.TxnCommit); ok {
		var err error
		if sent.request, err = p.inTransaction(ctx, q.group, commit); err != nil {
			return err
		}
	}
	r, err := wireRequest(&sent, p.names.groupID(q.group), p.o.Scale)
	if err != nil {
		return err
	}
	return c.send(q, r, clientID(q))
}

// ask sends a request on a fresh connection and waits for its answer: for what
// the play itself needs to know.
func (p *player) ask(ctx context.Context, addr string, r kmsg.Request) (kmsg.Response, error) {
	nc, err := p.o.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	came := make(chan answer, 1)
	c := newClient(nc, came)
	defer c.close()
	if err := c.send(nil, r, "scenario"); err != nil {
		return nil, err
	}
	select {
	case a := <-came:
		return a.response, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// awaitLoaded waits until the broker has read its groups, which it says of all
// of them only in the answer to ListGroups.
func (p *player) awaitLoaded(ctx context.Context) error {
	request := kmsg.NewPtrListGroupsRequest()
	for deadline := time.Now().Add(p.o.Slack); ; {
		answer, err := p.ask(ctx, p.addr, request)
		if err != nil {
			return err
		}
		r, ok := answer.(*kmsg.ListGroupsResponse)
		switch {
		case ok && r.ErrorCode == 0:
			return nil
		case !ok, !kerr.IsRetriable(kerr.ErrorForCode(r.ErrorCode)), time.Now().After(deadline):
			return fmt.Errorf("the broker does not list its groups: %+v", answer)
		}
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return err
		}
	}
}

func (p *player) disconnect(name string) {
	for key, c := range p.clients {
		if strings.HasPrefix(key, name+" ") {
			c.close()
			delete(p.clients, key)
		}
	}
	delete(p.came, name)
}

func (p *player) closeAll() {
	for key, c := range p.clients {
		c.close()
		delete(p.clients, key)
	}
	clear(p.came)
}

// coordinator finds the coordinator of a group, and waits until it serves.
func (p *player) coordinator(ctx context.Context, name string) (string, error) {
	if addr, ok := p.coordinators[name]; ok {
		return addr, nil
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 2, p.names.groupID(name)
	for deadline := time.Now().Add(p.o.Slack); ; {
		answer, err := p.ask(ctx, p.addr, find)
		if err != nil {
			return "", err
		}
		r, ok := answer.(*kmsg.FindCoordinatorResponse)
		if !ok {
			return "", fmt.Errorf("an answer to FindCoordinator that does not fit: %+v", answer)
		}
		code := r.ErrorCode
		addr := net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
		if code == 0 {
			d, err := p.describe(ctx, addr, name)
			if err != nil {
				return "", err
			}
			code = int16(d.Code)
		}
		switch {
		case code == 0:
			p.coordinators[name] = addr
			return addr, nil
		case !kerr.IsRetriable(kerr.ErrorForCode(code)) || time.Now().After(deadline):
			return "", fmt.Errorf("no coordinator for %q: %s", name, formatCode(group.Code(code)))
		}
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return "", err
		}
	}
}

func (p *player) describe(ctx context.Context, addr, name string) (group.Described, error) {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Version, request.Groups = int16(newestVersion["describe"]), []string{p.names.groupID(name)}
	answer, err := p.ask(ctx, addr, request)
	if err != nil {
		return group.Described{}, err
	}
	r, ok := answer.(*kmsg.DescribeGroupsResponse)
	if !ok || len(r.Groups) != 1 {
		return group.Described{}, fmt.Errorf("an answer to DescribeGroups that does not fit: %+v", answer)
	}
	return readDescribed(&r.Groups[0]), nil
}

// awaitState describes the group until it is as the line says, or the deadline
// has come. It returns the words of the line, or those of the state.
func (p *player) awaitState(ctx context.Context, name string, l Line, deadline time.Time) (string, error) {
	const between = 5 * time.Millisecond
	wanted := l.Words
	if len(wanted) > 0 && wanted[0] == quote(name) {
		wanted = wanted[1:]
	}
	for {
		actual, same, err := p.compareState(ctx, name, wanted)
		if err != nil {
			return "", err
		}
		if same {
			return strings.Join(wanted, " "), nil
		}
		if time.Now().After(deadline) {
			return actual, nil
		}
		if err := sleepUntil(ctx, time.Now().Add(between)); err != nil {
			return "", err
		}
	}
}

// compareState describes a group once. Members whose ids are not known yet may
// be those that the file names.
func (p *player) compareState(ctx context.Context, name string, wanted []string) (actual string, same bool, err error) {
	addr, err := p.coordinator(ctx, name)
	if err != nil {
		return "", false, err
	}
	d, err := p.describe(ctx, addr, name)
	if err != nil {
		return "", false, err
	}
	if d.Code != 0 {
		return formatCode(d.Code), false, nil
	}
	if d.State == group.Dead.String() {
		return "none", wanted[0] == "none", nil
	}
	var members []string
	unknown := 0
	for _, m := range d.Members {
		written := p.names.written(m.MemberID)
		if written == m.MemberID {
			unknown++
		}
		members = append(members, written)
	}
	slices.Sort(members)
	actual = d.State
	if len(members) > 0 {
		actual += " members=" + strings.Join(members, ",")
	}
	o, _ := readOptions(wanted[1:], "members")
	named := splitOutside(o.values["members"], ',')
	if o.values["members"] == "" {
		named = nil
	}
	unbound := 0
	for _, m := range named {
		switch {
		case p.names.ids[m] == "":
			unbound++
		case !slices.Contains(members, m):
			return actual, false, nil
		}
	}
	return actual, d.State == wanted[0] && len(named) == len(members) && unbound == unknown, nil
}
