package member_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/member"
	"rota/rotatest"
)

// The tests named F1 to F13 are those of the specification of clients. F5 is
// about commits, which are not a member's.

func two() member.Config { return member.Config{Work: member.Shards(2)} }

// count has the broker count requests of an API.
func (w *world) count(key kmsg.Key) *atomic.Int64 {
	var n atomic.Int64
	w.b.On(key).Times(-1).If(func(kmsg.Request) bool { n.Add(1); return false }).Drop()
	return &n
}

// seen keeps what f says of each request of an API.
func (w *world) seen(key kmsg.Key, f func(kmsg.Request) string) *diary {
	d := &diary{}
	w.b.On(key).Times(-1).If(func(r kmsg.Request) bool { d.add("%s", f(r)); return false }).Drop()
	return d
}

func joinsAs(r kmsg.Request) string { return r.(*kmsg.JoinGroupRequest).MemberID }

func TestF1RoundsThatFailHaveNoCallbacks(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup} {
		for _, err := range []*kerr.Error{
			kerr.RebalanceInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.UnknownMemberID,
		} {
			bubble(t, func(w *world) {
				f := w.b.On(key).Times(3).Answer(err)
				c, d := written(two())
				w.join("one", c)
				time.Sleep(5 * time.Minute) // ids that it was told to forget must run out
				if f.Hits() != 3 {
					t.Errorf("%s %s: %d hits", key.Name(), err.Message, f.Hits())
				}
				w.want(d, "prepare()", "complete(+0 1 -)")
			})
		}
	}
}

func TestConnectionsThatBreakInARoundHaveNoCallbacks(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup} {
		bubble(t, func(w *world) {
			w.b.On(key).Times(2).DropReply()
			c, d := written(two())
			w.join("one", c)
			w.settle()
			w.settle()
			w.want(d, "prepare()", "complete(+0 1 -)")
		})
	}
}

func TestF2AndF3LostMemberships(t *testing.T) {
	for _, test := range []struct {
		err   *kerr.Error
		keeps bool
	}{{kerr.UnknownMemberID, false}, {kerr.IllegalGeneration, true}} {
		bubble(t, func(w *world) {
			c, d := written(two())
			m := w.join("one", c)
			w.settle()
			id := m.Owned()[0].MemberID
			ctx, _, _ := m.Context(m.Owned()[0].Shard)
			w.want(d, "prepare()", "complete(+0 1 -)")
			joins := w.seen(kmsg.JoinGroup, joinsAs)
			w.b.On(kmsg.Heartbeat).Answer(test.err)
			time.Sleep(2 * time.Minute)
			w.want(d, "lost(0 1)", "prepare()", "complete(+0 1 -0 1)")
			if !errors.Is(context.Cause(ctx), member.ErrLost) {
				t.Errorf("the context says %v", context.Cause(ctx))
			}
			first, _, _ := strings.Cut(joins.read(), "; ")
			if (first == id) != test.keeps || first != "" && first != id {
				t.Errorf("%s: joins as %q, was %q", test.err.Message, first, id)
			}
		})
	}
}

func TestF4HeartbeatsGoOnWhileTheProgramLetsGo(t *testing.T) {
	bubble(t, func(w *world) {
		c, _ := written(two())
		c.RebalanceTimeout = 10 * time.Minute
		c.Run = func(ctx context.Context, _ member.Ownership) {
			<-ctx.Done()
			time.Sleep(3 * time.Minute) // four sessions
		}
		m := w.join("slow", c)
		w.settle()
		id := m.Owned()[0].MemberID
		w.join("two", two())
		time.Sleep(4 * time.Minute)
		w.settle()
		s := w.g.WaitStable(2)
		if s.Members[0].ID != id && s.Members[1].ID != id {
			t.Errorf("the slow member has lost its place: %s", w.g.Story())
		}
	})
}

func TestF8CoordinatorMovesWithoutCallbacks(t *testing.T) {
	bubble(t, func(w *world) {
		c, d := written(two())
		m := w.join("one", c)
		w.settle()
		before := owned(m)
		d.read()
		w.b.MoveCoordinator("g")
		time.Sleep(time.Minute)
		w.settle()
		w.want(d)
		if owned(m) != before {
			t.Errorf("owned %s, before %s", owned(m), before)
		}
	})
}

func TestF9AJoinIsWaitedForLongerThanOtherRequests(t *testing.T) {
	bubble(t, func(w *world) {
		c, d := written(two())
		c.RebalanceTimeout = 5 * time.Minute
		joins := w.count(kmsg.JoinGroup)
		held := w.b.On(kmsg.JoinGroup).Skip(1).Hold()
		w.join("one", c)
		held.Wait()
		time.Sleep(40 * time.Second) // the id that it was given lasts a session
		w.want(d, "prepare()")
		held.Release()
		w.settle()
		w.want(d, "complete(+0 1 -)")
		if n := joins.Load(); n != 2 {
			t.Errorf("%d joins", n)
		}
	})
}

func TestF10ProgramsThatHangGiveUpTheirPlace(t *testing.T) {
	for _, instance := range []string{"", "i1"} {
		bubble(t, func(w *world) {
			c, d := written(two())
			c.InstanceID, c.MaxPollInterval = instance, time.Minute
			m := w.join("one", c)
			leaves, beats := w.count(kmsg.LeaveGroup), w.count(kmsg.Heartbeat)
			for range 5 {
				time.Sleep(30 * time.Second)
				m.Alive()
			}
			w.want(d, "prepare()", "complete(+0 1 -)")
			if beats.Load() == 0 || leaves.Load() != 0 {
				t.Errorf("%d heartbeats, %d leaves", beats.Load(), leaves.Load())
			}
			time.Sleep(70 * time.Second)
			if n := len(m.Owned()); n != 0 {
				t.Errorf("owns %d", n)
			}
			if want := instance == ""; (leaves.Load() == 1) != want {
				t.Errorf("instance %q: %d leaves", instance, leaves.Load())
			}
			was := beats.Load()
			time.Sleep(time.Minute)
			if beats.Load() != was {
				t.Error("it goes on with heartbeats")
			}
			w.want(d)
			m.Alive()
			w.settle()
			w.want(d, "lost(0 1)", "prepare()", "complete(+0 1 -0 1)")
		})
	}
}

func TestF11StaticMembersComeBackToTheirShare(t *testing.T) {
	bubble(t, func(w *world) {
		join := func(id string) *member.Member {
			c := member.Config{Work: member.Shards(4), InstanceID: id}
			return w.join(id, c)
		}
		join("a")
		b := join("b")
		w.settle()
		w.settle()
		before, generation := numbers(shards(b)), w.g.State().Generation
		w.close(b)
		time.Sleep(20 * time.Second)
		b = join("b")
		w.settle()
		if got := numbers(shards(b)); got != before || before == "" {
			t.Errorf("owns %q, before %q", got, before)
		}
		if now := w.g.State().Generation; now != generation {
			t.Errorf("generation %d, before %d: %s", now, generation, w.g.Story())
		}
	})
}

func shards(m *member.Member) []member.Shard {
	var list []member.Shard
	for _, o := range m.Owned() {
		list = append(list, o.Shard)
	}
	return list
}

func TestF12TheSecondOfAnInstanceFencesTheFirst(t *testing.T) {
	bubble(t, func(w *world) {
		c := two()
		c.InstanceID = "i1"
		first := w.join("one", c)
		w.settle()
		ctx, _, _ := first.Context(first.Owned()[0].Shard)
		second := w.join("two", c)
		w.settle()
		select {
		case <-first.Done():
		default:
			t.Fatal("the first goes on")
		}
		if !errors.Is(first.Err(), kerr.FencedInstanceID) || ctx.Err() == nil {
			t.Errorf("the first ends with %v", first.Err())
		}
		if len(second.Owned()) != 2 || second.Err() != nil {
			t.Errorf("the second owns %d, %v", len(second.Owned()), second.Err())
		}
	})
}

func TestErrorsThatEndAMember(t *testing.T) {
	for _, test := range []struct {
		key kmsg.Key
		err *kerr.Error
	}{
		{kmsg.FindCoordinator, kerr.GroupAuthorizationFailed},
		{kmsg.JoinGroup, kerr.GroupAuthorizationFailed},
		{kmsg.JoinGroup, kerr.InconsistentGroupProtocol},
		{kmsg.JoinGroup, kerr.InvalidSessionTimeout},
		{kmsg.JoinGroup, kerr.GroupMaxSizeReached},
		{kmsg.JoinGroup, kerr.FencedInstanceID},
		{kmsg.JoinGroup, kerr.UnknownServerError},
		{kmsg.SyncGroup, kerr.FencedInstanceID},
		{kmsg.SyncGroup, kerr.GroupAuthorizationFailed},
		{kmsg.SyncGroup, kerr.CoordinatorLoadInProgress},
	} {
		bubble(t, func(w *world) {
			w.b.On(test.key).Times(-1).Skip(0).Answer(test.err)
			m := w.join("one", two())
			time.Sleep(time.Minute)
			synctest.Wait()
			if !errors.Is(m.Err(), test.err) {
				t.Errorf("%s %s: the member has ended with %v", test.key.Name(), test.err.Message, m.Err())
			}
		})
	}
}

func TestMembersWithoutAnAssignorInCommonAreRefused(t *testing.T) {
	bubble(t, func(w *world) {
		w.join("one", two())
		w.settle()
		c := two()
		c.Assignors = []member.Assignor{member.Range()}
		m := w.join("two", c)
		w.settle()
		if !errors.Is(m.Err(), kerr.InconsistentGroupProtocol) {
			t.Errorf("the member has ended with %v", m.Err())
		}
	})
}

func TestOwnershipEndsBeforeTheSessionWhenTheBrokerIsGone(t *testing.T) {
	bubble(t, func(w *world) {
		c, d := written(two())
		c.SessionTimeout = 20 * time.Second
		m := w.join("one", c)
		w.settle()
		ctx, _, _ := m.Context(m.Owned()[0].Shard)
		w.b.On(kmsg.Heartbeat).Times(-1).Drop()
		began := time.Now()
		<-ctx.Done()
		// The last heartbeat that was confirmed was sent within an interval
		// before the network broke.
		if took := time.Since(began); took > 19*time.Second || took < 15*time.Second {
			t.Errorf("it took %s", took)
		}
		if !errors.Is(context.Cause(ctx), member.ErrLost) {
			t.Errorf("the context says %v", context.Cause(ctx))
		}
		d.read()
	})
}

func TestOneMemberLeads(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.join("a", member.Config{Work: member.Leader()})
		w.settle()
		b := w.join("b", member.Config{Work: member.Leader()})
		w.settle()
		if len(a.Owned()) != 1 || len(b.Owned()) != 0 {
			t.Errorf("they own %q and %q", owned(a), owned(b))
		}
		w.close(a)
		w.settle()
		if len(b.Owned()) != 1 {
			t.Errorf("the second owns %q", owned(b))
		}
	})
}

func TestTheLargestNumberOfShardsCounts(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.join("a", member.Config{Work: member.Shards(2)})
		w.settle()
		b := w.join("b", member.Config{Work: member.Shards(6)})
		w.settle()
		if n := len(a.Owned()) + len(b.Owned()); n != 6 {
			t.Errorf("they own %q and %q", owned(a), owned(b))
		}
	})
}

func TestTheLeaderSeesTopicsGrow(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.join("a", member.Config{Work: member.Topics("orders", "later")})
		w.settle()
		if n := len(a.Owned()); n != 3 {
			t.Fatalf("owns %d", n)
		}
		w.b.CreateTopic("later", 2)
		time.Sleep(2 * time.Minute)
		if n := len(a.Owned()); n != 5 {
			t.Errorf("owns %d", n)
		}
		e := w.g.WaitEvent("second rebalance", func(e rotatest.Event) bool {
			return e.Kind == "rebalance-started" && e.Generation == 1
		})
		if e.Reason != "topic later had 0 partitions and has 2" {
			t.Errorf("%+v", e)
		}
	}, rotatest.Topic("orders", 3))
}
