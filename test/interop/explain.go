package interop

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"

	"rota/internal/story"

	"rota/test/rig"
)

// pollIntervalExceeded has a member not poll for longer than
// max.poll.interval.ms: it leaves and says so, and rota explain tells that to
// whoever asks why the others had to rebalance.
func pollIntervalExceeded(w *world) {
	w.topic(4)
	busy := w.member("client=busy", "poll=2000")
	calm := w.member("client=calm", "poll=300000")
	w.eventually("both share the topic", share(4, busy, calm), busy, calm)
	busy.say("stall")
	w.eventually("the other one owns everything", share(4, calm), calm)
	var r *story.Rebalance
	w.eventually("the rebalance is explained", func() bool { r = w.explained(); return r != nil && r.Cause == story.CauseMemberLeft })
	if r.Trigger == nil || r.Trigger.ClientID != "busy" || !strings.Contains(r.Trigger.Reason, "poll timeout") {
		w.Errorf("it began through %+v", r.Trigger)
	}
	if len(r.WaitedFor) != 1 || r.WaitedFor[0].ClientID != "calm" || r.WaitedFor[0].Outcome != story.OutcomeJoined {
		w.Errorf("it waited for %+v", r.WaitedFor)
	}
	busy.say("go")
	w.eventually("both share the topic again", share(4, busy, calm), busy, calm)
}

// told wants the history to have read what the client's members subscribe to,
// and what they were assigned: as many partitions as they say themselves.
func (w *world) told(members ...*process) {
	w.Helper()
	var own []int
	for _, m := range members {
		own = append(own, len(m.owning()))
	}
	slices.Sort(own)
	var a *story.Assignment
	w.eventually("the assignment is told", func() bool {
		r := w.explained()
		if r == nil || r.Assignment == nil {
			return false
		}
		a = r.Assignment
		var told []int
		for i := range a.Members {
			told = append(told, a.Members[i].Partitions)
		}
		slices.Sort(told)
		return slices.Equal(told, own) || !a.Decoded && len(a.Members) == len(members)
	}, members...)
	if !a.Decoded {
		w.Errorf("the assignment cannot be read: %+v", a)
	}
	for i := range a.Members {
		if m := &a.Members[i]; !slices.Equal(m.Subscribed, []string{w.name}) || m.SubscriptionBytes == 0 || m.AssignmentBytes == 0 {
			w.Errorf("told of a member: %+v", m)
		}
	}
}

// explained is the last rebalance of the check's group as rota explain tells
// it, nil while there is none.
func (w *world) explained() *story.Rebalance {
	out, err := exec.CommandContext(w.ctx, rig.Binary(w), "explain", w.name, "--json", "--brokers", w.broker.Addr).Output()
	if err != nil {
		w.Fatalf("rota explain: %v", err)
	}
	var e struct{ Rebalances []*story.Rebalance }
	if err := json.Unmarshal(out, &e); err != nil {
		w.Fatal(err)
	}
	if len(e.Rebalances) == 0 {
		return nil
	}
	return e.Rebalances[len(e.Rebalances)-1]
}
