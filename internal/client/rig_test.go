package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rota/internal/client/assignor"
	"rota/internal/schema"
)

// rig is a member and a coordinator played by the test: a conversation.
type rig struct {
	t       *testing.T
	m       *Machine
	now     time.Duration
	sent    []Send // not answered yet
	calls   []string
	notices []Notice
	throws  []error
	commits map[OpID]CommitResult
	fetches map[OpID]FetchResult
	drops   int
	hold    bool  // callbacks do not return by themselves
	fail    error // what the next callback returns
	inCall  func()
}

var (
	rangeOnly = []assignor.Assignor{assignor.Range{}}
	sticky    = []assignor.Assignor{assignor.CooperativeSticky{}}
)

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	if c.Assignors == nil {
		c.Assignors = rangeOnly
	}
	r := &rig{t: t, m: New(c, 0), commits: map[OpID]CommitResult{}, fetches: map[OpID]FetchResult{}}
	r.m.Metadata(0, map[string]int32{"t": 2, "u": 1})
	r.m.Subscribe(0, []string{"t"})
	return r
}

// do takes the outputs of the machine as a driver would.
func (r *rig) do() {
	for !r.m.Idle() {
		out := r.m.Take()
		if out.Drop {
			r.drops++
			r.sent = slices.DeleteFunc(r.sent, func(s Send) bool { return !s.Anywhere })
		}
		r.sent = append(r.sent, out.Sends...)
		r.notices = append(r.notices, out.Notices...)
		for _, c := range out.Commits {
			r.commits[c.ID] = c
		}
		for _, f := range out.Fetches {
			r.fetches[f.ID] = f
		}
		if out.Throw != nil {
			r.throws = append(r.throws, out.Throw)
		}
		if out.Call != nil {
			r.calls = append(r.calls, fmt.Sprint(out.Call.Kind, names(out.Call.Partitions)))
			if f := r.inCall; f != nil {
				r.inCall = nil
				f()
			}
			if !r.hold {
				r.done()
			}
		}
	}
}

func names(list []Partition) string {
	s := make([]string, len(list))
	for i, p := range list {
		s[i] = fmt.Sprintf("%s%d", p.Topic, p.Partition)
	}
	return "(" + strings.Join(s, " ") + ")"
}

func (r *rig) done() {
	err := r.fail
	r.fail = nil
	r.m.Done(r.now, err)
	r.do()
}

func (r *rig) poll() { r.m.Poll(r.now); r.do() }

// pass lets time go by, Tick by Tick, without a poll.
func (r *rig) pass(d time.Duration) {
	for end := r.now + d; ; {
		at, ok := r.m.Deadline()
		if !ok || at > end {
			r.now = end
			r.m.Tick(r.now)
			r.do()
			return
		}
		r.now = max(r.now+1, at)
		r.m.Tick(r.now)
		r.do()
	}
}

// take returns the oldest request of the type, which must be there.
func take[T Request](r *rig) (T, RequestID) {
	r.t.Helper()
	for i, s := range r.sent {
		if req, ok := s.Request.(T); ok {
			r.sent = slices.Delete(r.sent, i, i+1)
			return req, s.ID
		}
	}
	var none T
	r.t.Fatalf("no %T has been sent, but %+v", none, r.sent)
	return none, 0
}

func has[T Request](r *rig) bool {
	return slices.ContainsFunc(r.sent, func(s Send) bool { _, ok := s.Request.(T); return ok })
}

func (r *rig) answer(id RequestID, a Response) { r.m.Answer(r.now, id, a); r.do() }

// find answers the lookup of the coordinator.
func (r *rig) find() {
	r.t.Helper()
	r.poll()
	_, id := take[FindCoordinator](r)
	r.answer(id, Found{Address: "here:1"})
	r.poll()
}

// beat passes the time to the next heartbeat and answers it.
func (r *rig) beat(code int16) Heartbeat {
	r.t.Helper()
	for !has[Heartbeat](r) {
		r.pass(time.Second)
	}
	h, id := take[Heartbeat](r)
	r.answer(id, Beat{Code: code})
	return h
}

// join answers a JoinGroup that is on its way as a follower's.
func (r *rig) join(generation int32) Join {
	r.t.Helper()
	r.poll()
	j, id := take[Join](r)
	member := j.MemberID
	if member == "" {
		member = "m1"
	}
	r.answer(id, Joined{Generation: generation, Protocol: r.m.c.Assignors[0].Name(), Leader: "other", MemberID: member})
	return j
}

// sync answers the SyncGroup with the partitions.
func (r *rig) sync(list ...Partition) {
	r.t.Helper()
	_, id := take[Sync](r)
	r.answer(id, Synced{Assignment: plan(list...)})
	r.poll()
}

func plan(list ...Partition) []byte {
	return schema.AppendAssignment(nil, schema.Assignment{Partitions: grouped(list)})
}

// stable brings a member into generation 1 with the partitions.
func (r *rig) stable(list ...Partition) {
	r.t.Helper()
	r.find()
	r.join(1)
	r.sync(list...)
	if !r.m.Settled() {
		r.t.Fatalf("not settled: %s", r.m.State())
	}
	r.calls, r.notices = nil, nil
}

func (r *rig) wantCalls(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.calls, want) {
		r.t.Errorf("callbacks %q, want %q", r.calls, want)
	}
	r.calls = nil
}

func (r *rig) count(n Notice) int {
	c := 0
	for _, x := range r.notices {
		if x == n {
			c++
		}
	}
	return c
}

func (r *rig) wantThrow(api string, code int16) {
	r.t.Helper()
	r.poll()
	var e *CodeError
	if len(r.throws) != 1 || !errors.As(r.throws[0], &e) || e.API != api || e.Code != code {
		r.t.Errorf("thrown %v, want %s %d", r.throws, api, code)
	}
	r.throws = nil
}

var (
	t0 = Partition{Topic: "t", Partition: 0}
	t1 = Partition{Topic: "t", Partition: 1}
	u0 = Partition{Topic: "u", Partition: 0}
)
