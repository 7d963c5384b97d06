package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"rota/internal/story"
)

// quiet are about what does not rebalance a group.
func quiet() []tale {
	return []tale{
		{
			title: "A rolling restart of static members",
			text:  "The members have instance ids. Each is restarted in turn, comes back within its session, and gets its partitions back: there is no rebalance.",
			tell: func(w *world) {
				all := w.beginStatic("alice", "bob", "carol")
				for i, m := range all {
					m.leave() // a static member says nothing when it stops
					w.pass(2 * time.Second)
					w.joinStatic(m.name)
					w.b.Group(group).WaitEvent("restart", w.nth(i+1, "member-replaced"))
				}
			},
			want: want{
				cause: story.CauseMemberJoined, trigger: "static-carol", ending: story.Installed, state: "Stable",
				after: []story.Kind{story.MemberReplaced, story.MemberReplaced, story.MemberReplaced},
				more: func(t *testing.T, e *explained) {
					if to := e.last().To; to != 3 {
						t.Errorf("the generation is %d: there was a rebalance", to)
					}
				},
			},
		},
		{
			title: "The broker is restarted",
			text:  "The coordinator loads the group from its log: members, generation and assignment are there, and nobody has to join again.",
			tell: func(w *world) {
				w.begin("alice", "bob")
				w.b.Restart()
				w.pass(10 * time.Second)
			},
			want: want{cause: story.CauseMemberJoined, trigger: "bob", ending: story.Installed, after: []story.Kind{story.GroupLoaded}, state: "Stable"},
		},
		{
			title: "A group is deleted",
			text:  "The consumers are stopped, and an operator deletes the group (rota group delete).",
			tell: func(w *world) {
				all := w.begin("alice", "bob")
				all[1].leave()
				w.stable(1, 2)
				all[0].leave()
				w.b.Group(group).WaitState("Empty")
				w.rota("group", "delete", group)
			},
			want: want{
				cause: story.CauseMemberLeft, trigger: "alice", ending: story.Emptied, after: []story.Kind{story.GroupDeleted}, state: "Dead",
				more: func(t *testing.T, e *explained) {
					if c := e.After[len(e.After)-1].Cause; c != story.CauseOperator {
						t.Errorf("deleted by %s", c)
					}
				},
			},
		},
	}
}

// patterns are about what keeps coming back.
func patterns() []tale {
	return []tale{
		{
			title: "A rolling deploy without instance ids",
			text:  "Three consumers are restarted one after the other. Each leaves and comes back as a new member: six rebalances, in which nearly everything moves.",
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				g := int32(3)
				for _, m := range all {
					m.leave()
					g = w.stable(2, g)
					w.pass(5 * time.Second)
					w.join(m.name)
					g = w.stable(3, g)
					w.pass(10 * time.Second)
				}
			},
			want: want{cause: story.CauseMemberJoined, trigger: "carol", waitedFor: []string{"alice", "bob"}, ending: story.Installed, advice: story.RuleRestarts},
		},
		{
			title: "Pauses longer than the session",
			text:  "bob stands still for 50 seconds, again and again: a full garbage collection, a laptop lid, a frozen container. Its session is 45 seconds. It is not dead, and comes back every time.",
			tell: func(w *world) {
				all := w.begin("alice", "bob")
				g := int32(2)
				for i := range 2 {
					all[1].gone()
					pause := w.b.On(kmsg.Heartbeat).From("bob").Times(-1).Hold()
					pause.Wait()
					w.until(i+1, "member-expired", 44*time.Second)
					g = w.stable(1, g)
					w.pass(5 * time.Second)
					pause.Release()
					g = w.stable(2, g)
					w.back(all[1])
					w.pass(time.Minute)
				}
			},
			want: want{cause: story.CauseMemberJoined, trigger: "bob", waitedFor: []string{"alice"}, ending: story.Installed, advice: story.RuleSessionTimeout},
		},
		{
			title: "Two processes with one instance id",
			text:  "A copied configuration gives two processes the same group.instance.id. Each start throws the other one out.",
			tell: func(w *world) {
				w.joinStatic("alice")
				w.stable(1, 0)
				w.joinStatic("bob")
				w.stable(2, 1)
				for i := range 4 {
					w.pass(5 * time.Second)
					w.aliveNow()[len(w.aliveNow())-1].gone() // it is fenced
					w.joinAs(fmt.Sprintf("bob-%d", i+2), "static-bob")
					w.b.Group(group).WaitEvent("replacement", w.nth(i+1, "member-replaced"))
				}
			},
			want: want{cause: story.CauseMemberJoined, trigger: "static-bob", ending: story.Installed, state: "Stable", advice: story.RuleInstanceTwice},
		},
		{
			title: "An assignor that moves more than it must",
			text:  "The group uses the roundrobin assignor, and is scaled up and down. Each time partitions move between members that both stay.",
			tell: func(w *world) {
				robin := kgo.Balancers(kgo.RoundRobinBalancer())
				w.join("alice", robin)
				g := w.stable(1, 0)
				w.join("bob", robin)
				g = w.stable(2, g)
				w.join("carol", robin)
				g = w.stable(3, g)
				for range 2 {
					dave := w.join("dave", robin)
					g = w.stable(4, g)
					w.pass(time.Minute)
					dave.leave()
					g = w.stable(3, g)
					w.pass(time.Minute)
				}
			},
			want: want{cause: story.CauseMemberLeft, trigger: "dave", waitedFor: []string{"alice", "bob", "carol"}, ending: story.Installed, advice: story.RuleEagerAssignor},
		},
	}
}
