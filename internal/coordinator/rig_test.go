package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
)

// rig is a Coordinator of one shard over a fakeLog.
type rig struct {
	t     *testing.T
	c     *Coordinator
	log   *fakeLog
	mu    sync.Mutex
	epoch int32
	// members counts the member ids given.
	members int
	// said are the answers and events, in order.
	said []string
	last map[string]group.Response
}

// testWriter writes to the log of a test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(string(b))
	return len(b), nil
}

// rigConfig is what a test may change before the rig starts.
type rigConfig struct {
	Config
	log        *fakeLog
	newMachine func(id string, c *group.Config) GroupMachine
}

func newRig(t *testing.T, change func(*rigConfig)) *rig {
	t.Helper()
	r := &rig{t: t, last: map[string]group.Response{}}
	c := rigConfig{log: &fakeLog{}, Config: Config{
		Partitions: 1, Group: testConfig(), NewMemberID: r.newMemberID, NextEpoch: r.nextEpoch,
		Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Events: func(id string, events []group.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, e := range events {
				r.said = append(r.said, id+" "+e.Kind.String())
			}
		},
	}}
	if change != nil {
		change(&c)
	}
	r.log = c.log
	r.c = start(c.Config, func(int32) (partitionLog, error) { return c.log, nil }, c.newMachine)
	t.Cleanup(func() {
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// serving is a rig that has loaded.
func serving(t *testing.T, change func(*rigConfig)) *rig {
	t.Helper()
	r := newRig(t, change)
	<-r.c.Loaded()
	r.clear()
	return r
}

func (r *rig) nextEpoch() (int32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	return r.epoch, nil
}

func (r *rig) newMemberID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members++
	return strconv.Itoa(r.members)
}

func (r *rig) submit(name, id string, req group.Request) {
	r.c.Submit(id, req, func(resp group.Response) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, name+" "+outcome(resp))
		if r.last[name] != nil {
			r.t.Errorf("%s is answered twice", name)
		}
		r.last[name] = resp
	})
}

// ask waits for the answer.
func (r *rig) ask(id string, req group.Request) group.Response {
	r.t.Helper()
	got := make(chan group.Response, 1)
	r.c.Submit(id, req, func(resp group.Response) { got <- resp })
	select {
	case resp := <-got:
		return resp
	case <-time.After(time.Hour):
		r.t.Fatalf("no answer to %T", req)
		return nil
	}
}

// expect waits until nothing moves and compares what was said since the last
// call.
func (r *rig) expect(want ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if fmt.Sprint(r.said) != fmt.Sprint(want) {
		r.t.Errorf("said %q, want %q", r.said, want)
	}
	r.said, r.last = nil, map[string]group.Response{}
}

// form brings the group to Stable with one member, whose id it returns.
func (r *rig) form(id string, session time.Duration) (member string, generation int32) {
	r.t.Helper()
	member = r.ask(id, join("", session)).(group.Joined).MemberID
	joined := r.ask(id, join(member, session)).(group.Joined)
	synced := r.ask(id, group.Sync{
		Version: 4, MemberID: member, Generation: joined.Generation,
		Assignments: []group.Assignment{{MemberID: member, Data: []byte("plan")}},
	}).(group.Synced)
	if joined.Code != 0 || synced.Code != 0 {
		r.t.Fatalf("join %d, sync %d", joined.Code, synced.Code)
	}
	r.clear()
	return member, joined.Generation
}

// clear waits until nothing moves and forgets what was said.
func (r *rig) clear() {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said, r.last = nil, map[string]group.Response{}
}

// state is the group's state, "" if it is not listed.
func (r *rig) state(id string) string {
	r.t.Helper()
	synctest.Wait()
	list, code, err := r.c.List(context.Background())
	if err != nil || code != 0 {
		r.t.Fatalf("list: %d, %v", code, err)
	}
	for _, s := range list {
		if s.ID == id {
			return s.State
		}
	}
	return ""
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
