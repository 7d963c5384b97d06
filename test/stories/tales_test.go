package stories

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"rota/internal/story"
)

// tale is one story: what happens, and what rota explain must know of it.
type tale struct {
	title string
	// text says what happens, for the page.
	text string
	// show is what is run for the page. Default: explain.
	show []string
	tell func(w *world)
	want want
}

// want is what explain must name. Members are named by client or instance id.
type want struct {
	cause     story.Cause
	trigger   string
	waitedFor []string // in any order
	slowest   string
	ending    story.Ending
	dropped   string
	// after are kinds of events that are told after the last rebalance.
	after  []story.Kind
	state  string
	advice story.Rule
	more   func(t *testing.T, e *explained)
}

// tales are told on the page in this order.
func tales() []tale {
	return slices.Concat(comings(), goings(), changes(), quiet(), patterns())
}

// comings are about members that join.
func comings() []tale {
	return []tale{
		{
			title: "A deploy adds a consumer",
			text:  "alice and bob share the topic; carol is started.",
			tell: func(w *world) {
				w.begin("alice", "bob")
				w.join("carol")
				w.stable(3, 2)
			},
			want: want{cause: story.CauseMemberJoined, trigger: "carol", waitedFor: []string{"alice", "bob"}, ending: story.Installed},
		},
		{
			title: "A consumer is slow to join again",
			text:  "dave is started. bob is in the middle of a batch, does not give up its partitions before that is done, and everybody waits for it for 20 seconds.",
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				all[1].work(true)
				w.join("dave")
				w.b.Group(group).WaitState("PreparingRebalance")
				w.rejoined("alice", "carol")
				w.pass(20 * time.Second)
				all[1].work(false)
				w.stable(4, 3)
			},
			want: want{
				cause: story.CauseMemberJoined, trigger: "dave", waitedFor: []string{"alice", "bob", "carol"}, slowest: "bob", ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					if took := time.Duration(e.last().Slowest().Took); took < 20*time.Second || took > 50*time.Second {
						t.Errorf("bob was waited for for %s", took)
					}
				},
			},
		},
		{
			title: "A consumer misses the deadline and is dropped",
			text:  "The same, but bob is busy for longer than its rebalance timeout of 60 seconds (max.poll.interval.ms of the Java client, RebalanceTimeout of franz-go). The others go on without it.",
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				all[1].work(true)
				w.join("dave")
				w.b.Group(group).WaitState("PreparingRebalance")
				w.rejoined("alice", "carol")
				w.pass(55 * time.Second)
				all[1].gone() // once it is dropped, it is not heard of until its batch is done
				w.until(1, "member-dropped", 4*time.Second)
				w.stable(3, 3)
			},
			want: want{
				cause: story.CauseMemberJoined, trigger: "dave", waitedFor: []string{"alice", "bob", "carol"}, slowest: "bob", dropped: "bob", ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					if o := e.last().Slowest().Outcome; o != story.OutcomeDropped {
						t.Errorf("the wait for bob ended: %s", o)
					}
				},
			},
		},
	}
}

// goings are about members that go.
func goings() []tale {
	return []tale{
		{
			title: "A consumer is stopped in good order",
			text:  "bob is told to stop, and leaves.",
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				all[1].leave()
				w.stable(2, 3)
			},
			want: want{cause: story.CauseMemberLeft, trigger: "bob", waitedFor: []string{"alice", "carol"}, ending: story.Installed},
		},
		{
			title: "A consumer is killed",
			text:  "bob's process is killed with kill -9. It tells nobody; the group notices when its session of 45 seconds is over.",
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				all[1].kill()
				w.until(1, "member-expired", 44*time.Second)
				w.stable(2, 3)
			},
			want: want{
				cause: story.CauseSessionExpired, trigger: "bob", waitedFor: []string{"alice", "carol"}, ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					r := e.last()
					if time.Duration(r.Timeout) != 45*time.Second || time.Duration(r.Silent) < 45*time.Second {
						t.Errorf("silent for %s of %s", time.Duration(r.Silent), time.Duration(r.Timeout))
					}
				},
			},
		},
		{
			title: "A consumer does not poll for too long",
			text: "bob takes longer over a batch than max.poll.interval.ms. It notices, leaves, and says why, as the Java client does by itself. " +
				"When the batch is done it joins again, which is the second rebalance.",
			show: []string{"explain", group, "-n", "2"},
			tell: func(w *world) {
				all := w.begin("alice", "bob", "carol")
				bob := all[1]
				back := w.b.On(kmsg.JoinGroup).From("bob").Hold()
				w.leaveFor(bob, "consumer poll timeout has expired.")
				w.stable(2, 3)
				back.Wait()
				back.Release()
				w.stable(3, 4)
			},
			want: want{
				cause: story.CauseMemberJoined, trigger: "bob", waitedFor: []string{"alice", "carol"}, ending: story.Installed, advice: story.RulePollInterval,
				more: func(t *testing.T, e *explained) {
					r := &e.Rebalances[0]
					if r.Cause != story.CauseMemberLeft || r.Trigger.ClientID != "bob" || r.Trigger.Reason != "consumer poll timeout has expired." {
						t.Errorf("before that: %s through %+v", r.Cause, r.Trigger)
					}
				},
			},
		},
		{
			title: "A static member does not come back",
			text:  "The members have instance ids (group.instance.id). bob's machine is lost. Nobody takes over its partitions before its session is over: that is what static membership is for.",
			tell: func(w *world) {
				all := w.beginStatic("alice", "bob", "carol")
				all[1].kill()
				w.until(1, "member-expired", 44*time.Second)
				w.stable(2, 3)
			},
			want: want{cause: story.CauseSessionExpired, trigger: "static-bob", waitedFor: []string{"static-alice", "static-carol"}, ending: story.Installed},
		},
	}
}

// changes are about members that come with something new.
func changes() []tale {
	return []tale{
		{
			title: "A consumer subscribes to another topic",
			text:  "bob's new version reads the topic returns as well.",
			tell: func(w *world) {
				all := w.begin("alice", "bob")
				all[1].cl.AddConsumeTopics("returns")
				w.stable(2, 2)
			},
			want: want{
				cause: story.CauseProtocolsChanged, trigger: "bob", waitedFor: []string{"alice"}, ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					if c := e.last().Changed; c == nil || !slices.Equal(c.TopicsAdded, []string{"returns"}) {
						t.Errorf("changed: %+v", c)
					}
				},
			},
		},
		{
			title: "Partitions are added",
			text:  "An operator gives the topic three more partitions (rota topic alter). The leader sees that, and joins again so that they are handed out.",
			tell: func(w *world) {
				w.begin("alice", "bob", "carol")
				w.rota("topic", "alter", topic, "--partitions", "9")
				w.stable(3, 3)
			},
			want: want{
				cause: story.CauseLeaderRejoined, trigger: "alice", waitedFor: []string{"bob", "carol"}, ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					a := e.last().Assignment
					if a == nil || len(a.Topics) != 1 || a.Topics[0] != (story.TopicChange{Topic: topic, Before: 6, After: 9, Whole: true}) {
						t.Errorf("assigned: %+v", a)
					}
					if !slices.Contains(e.last().Sentences(), "Topic \"orders\" now has 9 partitions, it had 6.") {
						t.Errorf("%q", e.last().Sentences())
					}
				},
			},
		},
		{
			title: "The leader asks for a rebalance",
			text:  "alice, the leader, joins again of its own accord (ForceRebalance of franz-go, enforceRebalance of the Java client).",
			tell: func(w *world) {
				all := w.begin("alice", "bob")
				all[0].cl.ForceRebalance()
				w.stable(2, 2)
			},
			want: want{cause: story.CauseLeaderRejoined, trigger: "alice", waitedFor: []string{"bob"}, ending: story.Installed},
		},
		{
			title: "A cooperative rebalance takes two steps",
			text:  "The members use the cooperative-sticky assignor; bob is started. First alice, who has too much, gives it up and reads on with the rest; then it is handed out.",
			tell: func(w *world) {
				sticky := kgo.Balancers(kgo.CooperativeStickyBalancer())
				w.join("alice", sticky)
				w.stable(1, 0)
				w.join("bob", sticky)
				w.complete(2, 1)
			},
			want: want{
				cause: story.CauseMemberJoined, trigger: "bob", waitedFor: []string{"alice"}, ending: story.Installed,
				more: func(t *testing.T, e *explained) {
					if len(e.Rebalances) < 2 || !e.Rebalances[len(e.Rebalances)-1].FollowsUp {
						t.Errorf("told as %d rebalances", len(e.Rebalances))
					}
				},
			},
		},
	}
}
