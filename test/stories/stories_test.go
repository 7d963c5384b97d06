package stories

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"rota/internal/story"
	"rota/rotatest"
)

// Each story is provoked with real clients, and rota explain --json names its
// cause, who caused it and who was waited for. The page of the documentation is
// what rota explain says of them.
func TestStories(t *testing.T) {
	all := tales()
	shown := make([]string, len(all))
	told := t.Run("tell", func(t *testing.T) {
		for i, tale := range all {
			t.Run(tale.title, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				tale.tell(w)
				tale.check(t, w)
				shown[i] = w.rota(tale.command()...)
			})
		}
	})
	if told && !slices.Contains(shown, "") { // not if only some of them were run
		checkPage(t, page(all, shown))
	}
}

func (x *tale) check(t *testing.T, w *world) *explained {
	t.Helper()
	to := w.generationTold()
	e := w.explain(func(e *explained) bool {
		r := e.last()
		if r == nil || e.Rebalances[len(e.Rebalances)-1].To < to || e.Rebalances[len(e.Rebalances)-1].Ending == story.Running {
			return false
		}
		return len(x.want.told(e)) >= len(x.want.after)
	}, x.number()...)
	r, want := e.last(), x.want
	if r.Cause != want.cause || nameOf(r.Trigger) != want.trigger || r.Ending != want.ending {
		t.Errorf("%s through %s, %s; want %s through %s, %s", r.Cause, nameOf(r.Trigger), r.Ending, want.cause, want.trigger, want.ending)
	}
	var waited []string
	for i := range r.WaitedFor {
		waited = append(waited, nameOf(&r.WaitedFor[i].Member))
	}
	if want.slowest != "" && (len(waited) == 0 || waited[len(waited)-1] != want.slowest) {
		t.Errorf("waited for %v, want %s to be the last", waited, want.slowest)
	}
	slices.Sort(waited)
	if want.waitedFor != nil && !slices.Equal(waited, want.waitedFor) {
		t.Errorf("waited for %v, want %v", waited, want.waitedFor)
	}
	if dropped := namesOf(r.Dropped); want.dropped != "" && !slices.Equal(dropped, []string{want.dropped}) {
		t.Errorf("dropped %v, want %s", dropped, want.dropped)
	}
	if diff := cmp.Diff(want.after, want.told(e)); diff != "" {
		t.Errorf("after it (-want +got)\n%s", diff)
	}
	if want.state != "" && e.State != want.state {
		t.Errorf("the group is %s, want %s", e.State, want.state)
	}
	if want.advice != "" && !slices.ContainsFunc(e.Advice, func(a story.Advice) bool { return a.Rule == want.advice && len(a.Evidence) > 0 }) {
		t.Errorf("no advice %s in %+v", want.advice, e.Advice)
	}
	if want.more != nil {
		want.more(t, e)
	}
	if t.Failed() {
		t.Logf("%s\n%s", w.rota("explain", group), w.b.Group(group).Story())
	}
	return e
}

// told are the events after the rebalance of the kinds that are wanted.
func (x *want) told(e *explained) []story.Kind {
	var kinds []story.Kind
	for i := range e.After {
		if k := e.After[i].Kind; slices.Contains(x.after, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// number is how many rebalances the story is about, as explain's flag.
func (x *tale) number() []string {
	if i := slices.Index(x.show, "-n"); i >= 0 {
		return x.show[i : i+2]
	}
	return nil
}

func nameOf(m *story.Member) string {
	switch {
	case m == nil:
		return ""
	case m.InstanceID != "":
		return m.InstanceID
	}
	return m.ClientID
}

func namesOf(list []story.Member) []string {
	var names []string
	for i := range list {
		names = append(names, nameOf(&list[i]))
	}
	return names
}

// generationTold is the generation of the newest join phase that has ended.
func (w *world) generationTold() int32 {
	g := int32(0)
	for _, e := range w.b.Group(group).Events() {
		if e.Kind == "join-completed" {
			g = max(g, e.Generation)
		}
	}
	return g
}

// rejoined waits until members have joined the rebalance that is under way.
func (w *world) rejoined(names ...string) {
	w.Helper()
	for _, name := range names {
		w.b.Group(group).WaitFor(name+" has joined again", func(rotatest.GroupState) bool {
			events := w.b.Group(group).Events()
			for i := len(events) - 1; i >= 0 && events[i].Kind != "rebalance-started"; i-- {
				if events[i].Kind == "member-rejoined" && events[i].ClientID == name {
					return true
				}
			}
			return false
		})
	}
}

// complete waits until all partitions are assigned, which takes a cooperative
// group more than one generation, and returns the last.
func (w *world) complete(members int, after int32) int32 {
	w.Helper()
	w.stable(members, after)
	g := w.b.Group(group).WaitFor("complete", func(s rotatest.GroupState) bool {
		return s.State == "Stable" && len(s.Members) == members && assigned(s) == partitions
	})
	return g.Generation
}

// nth accepts an event of a kind once there are n.
func (w *world) nth(n int, kind string) func(rotatest.Event) bool {
	return func(e rotatest.Event) bool { return e.Kind == kind && w.happened(kind) >= n }
}

// leaveFor has a member leave with a reason, by its own client, which goes on
// to believe that it is a member.
func (w *world) leaveFor(m *member, reason string) {
	w.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	of := kmsg.NewLeaveGroupRequestMember()
	of.MemberID, of.Reason = m.id(), &reason
	req.Members = append(req.Members, of)
	resp, err := m.cl.Request(context.Background(), req)
	if err != nil {
		w.Fatal(err)
	}
	if r, ok := resp.(*kmsg.LeaveGroupResponse); !ok || r.ErrorCode != 0 {
		w.Fatalf("the answer is %+v", resp)
	}
}

// joinStatic starts a member with an instance id of its own.
func (w *world) joinStatic(name string) *member {
	w.Helper()
	return w.joinAs(name, "static-"+name)
}

func (w *world) joinAs(name, instance string) *member {
	w.Helper()
	return w.join(name, kgo.InstanceID(instance))
}

// beginStatic is begin with instance ids.
func (w *world) beginStatic(names ...string) []*member {
	w.Helper()
	var all []*member
	for i, name := range names {
		all = append(all, w.joinStatic(name))
		w.stable(i+1, int32(i))
	}
	return all
}

// aliveNow are the members that are heard of.
func (w *world) aliveNow() []*member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.alive)
}

// back says that a member is to be heard of again.
func (w *world) back(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive = append(w.alive, m)
}
