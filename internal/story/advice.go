package story

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Advice is something that keeps coming back in a group, what to do about it,
// and what it rests on.
type Advice struct {
	Rule Rule `json:"rule"`
	// Finding is what was seen, Text what to do about it.
	Finding  string   `json:"finding"`
	Text     string   `json:"advice"`
	Evidence []string `json:"evidence"`
	// Members are those that it is about, if it is about some.
	Members []Member `json:"members,omitempty"`
}

// Rule names a kind of advice.
type Rule string

const (
	// RuleSessionTimeout: a member whose session ended came back, so that it
	// was not dead but paused for longer than its session timeout.
	RuleSessionTimeout Rule = "session-timeout-shorter-than-pause"
	// RuleKeepsJoining: one member begins at least four rebalances.
	RuleKeepsJoining Rule = "member-keeps-joining"
	// RulePollInterval: members leave because they did not poll in time, or do
	// not join again within their rebalance timeout.
	RulePollInterval Rule = "max-poll-interval-exceeded"
	// RuleInstanceTwice: one instance id changes hands at least three times
	// within five minutes.
	RuleInstanceTwice Rule = "instance-id-used-twice"
	// RuleEagerAssignor: rebalances with an eager assignor have moved at least
	// a tenth of the partitions for nothing.
	RuleEagerAssignor Rule = "assignor-moves-too-much"
	// RuleSlowRejoin: the same member was waited for longest at least twice,
	// for a second or more.
	RuleSlowRejoin Rule = "member-slow-to-rejoin"
	// RuleTrickle: at least three rebalances superseded one another.
	RuleTrickle Rule = "members-come-one-by-one"
	// RuleStaleCommits: commits are refused.
	RuleStaleCommits Rule = "commits-refused"
	// RuleRestarts: members of one client id leave and come back within two
	// minutes at least three times, and are not static.
	RuleRestarts Rule = "restarts-without-instance-id"
)

// maxEvidence is how many pieces of evidence an advice lists.
const maxEvidence = 5

// Advise looks through the events of one group, oldest first, for what keeps
// coming back. Each advice comes once, with the newest evidence.
func Advise(events []Event) []Advice {
	rebalances := Fold(events)
	var all []Advice
	for _, rule := range []func([]Event, []Rebalance) *Advice{
		pausesLongerThanSession, pollInterval, instanceTwice, keepsJoining, restarts,
		slowRejoin, trickle, eagerAssignor, staleCommits,
	} {
		if a := rule(events, rebalances); a != nil {
			all = append(all, *a)
		}
	}
	return all
}

func (a *Advice) evidence(format string, args ...any) {
	a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...))
}

// finish keeps the newest evidence; nil if there is none.
func (a *Advice) finish() *Advice {
	if len(a.Evidence) == 0 {
		return nil
	}
	a.Evidence = a.Evidence[max(0, len(a.Evidence)-maxEvidence):]
	slices.SortStableFunc(a.Members, func(x, y Member) int { return compareWho(identity(&x), identity(&y)) })
	a.Members = slices.CompactFunc(a.Members, func(x, y Member) bool { return identity(&x) == identity(&y) })
	return a
}

// pausesLongerThanSession finds members that came back after their session had
// ended: the client id, host and instance id are those of the one that expired.
func pausesLongerThanSession(events []Event, _ []Rebalance) *Advice {
	a := &Advice{Rule: RuleSessionTimeout}
	expired := map[who]*Event{}
	var longest, timeout time.Duration
	for i := range events {
		e := &events[i]
		if e.Member == nil {
			continue
		}
		k := identity(e.Member)
		switch e.Kind { //nolint:exhaustive // the others change nothing of this
		case MemberExpired:
			if e.Cause == CauseSessionExpired && e.LastHeardMillis > 0 {
				expired[k] = e
			}
		case MemberJoined, MemberReplaced:
			lost := expired[k]
			if lost == nil {
				continue
			}
			delete(expired, k)
			pause := time.Duration(e.TimeMillis-lost.LastHeardMillis) * time.Millisecond
			if pause > returnsWithin {
				continue // a restart rather than a pause
			}
			if pause > longest {
				longest, timeout = pause, time.Duration(lost.Timeout)
			}
			a.Members = append(a.Members, *e.Member)
			a.evidence("%s: %s came back %s after it was last heard of; its session timeout is %s.",
				Clock(e.TimeMillis), e.Member.Name(), Took(pause), Took(time.Duration(lost.Timeout)))
		}
	}
	a.Finding = fmt.Sprintf("Members were expired that were only paused: the longest pause was %s, with a session timeout of %s.", Took(longest), Took(timeout))
	a.Text = "Look for garbage collection, stopped containers or a starved processor in these members, or raise session.timeout.ms above the longest pause."
	return a.finish()
}

// returnsWithin is the longest absence that still counts as a pause.
const returnsWithin = 10 * time.Minute

// pollInterval finds members that left because they did not poll in time.
func pollInterval(events []Event, _ []Rebalance) *Advice {
	a := &Advice{
		Rule:    RulePollInterval,
		Finding: "Members take longer to process what they have polled than max.poll.interval.ms (the rebalance timeout) allows.",
		Text:    "Process less per poll (max.poll.records), process faster, or raise max.poll.interval.ms.",
	}
	for i := range events {
		e := &events[i]
		if e.Member == nil {
			continue
		}
		switch {
		case e.Kind == MemberLeft && saysPollTimeout(e.Member.Reason):
			a.evidence("%s: %s left, its reason: %s.", Clock(e.TimeMillis), e.Member.Name(), Quote(e.Member.Reason))
		case e.Kind == MemberDropped && e.Cause == CauseJoinDeadline:
			a.evidence("%s: %s sent heartbeats but did not join again within %s and was dropped.", Clock(e.TimeMillis), e.Member.Name(), Took(time.Duration(e.Timeout)))
		default:
			continue
		}
		a.Members = append(a.Members, *e.Member)
	}
	return a.finish()
}

// saysPollTimeout recognises the reasons that clients give who were not polled
// in time.
func saysPollTimeout(reason string) bool {
	r := strings.ToLower(reason)
	return strings.Contains(r, "poll timeout") || strings.Contains(r, "poll interval") || strings.Contains(r, "max.poll.interval")
}

// instanceTwice finds instance ids that change hands again and again.
func instanceTwice(events []Event, _ []Rebalance) *Advice {
	const times, within = 3, 5 * time.Minute
	a := &Advice{
		Rule:    RuleInstanceTwice,
		Finding: "Two processes seem to use one group.instance.id: each takes it from the other.",
		Text:    "Give every process a group.instance.id of its own.",
	}
	taken := map[string][]*Event{}
	for i := range events {
		if e := &events[i]; e.Kind == MemberReplaced && e.Member != nil {
			taken[e.Member.InstanceID] = append(taken[e.Member.InstanceID], e)
		}
	}
	for _, id := range sortedKeys(taken) {
		list := taken[id]
		for i := len(list) - 1; i >= times-1; i-- {
			span := time.Duration(list[i].TimeMillis-list[i-times+1].TimeMillis) * time.Millisecond
			if span > within {
				continue
			}
			a.Members = append(a.Members, *list[i].Member)
			a.evidence("Instance id %s changed hands %d times in all, %d times within %s until %s.", Quote(id), len(list), times, Took(span), Clock(list[i].TimeMillis))
			break
		}
	}
	return a.finish()
}

// keepsJoining finds members that begin rebalance after rebalance.
func keepsJoining(_ []Event, rebalances []Rebalance) *Advice {
	const times, apart = 4, 30 * time.Minute
	a := &Advice{
		Rule:    RuleKeepsJoining,
		Finding: "One and the same member begins rebalance after rebalance.",
		Text:    "See what that member does at these moments: restarts, crashes, or a client that closes and reopens its consumer.",
	}
	by := map[who][]*Rebalance{}
	for i := range rebalances {
		if r := &rebalances[i]; r.Trigger != nil && !r.Initial {
			by[identity(r.Trigger)] = append(by[identity(r.Trigger)], r)
		}
	}
	for _, k := range sortedWho(by) {
		list := by[k]
		gaps := make([]time.Duration, 0, len(list))
		for i := 1; i < len(list); i++ {
			gaps = append(gaps, time.Duration(list[i].StartedMillis-list[i-1].StartedMillis)*time.Millisecond)
		}
		if len(list) < times || median(gaps) > apart {
			continue
		}
		last := list[len(list)-1]
		a.Members = append(a.Members, *last.Trigger)
		a.evidence("%s began %d rebalances, one every %s; the last at %s (%s).",
			capital(last.Trigger.Role()), len(list), Took(median(gaps)), Clock(last.StartedMillis), last.Cause)
	}
	return a.finish()
}

// restarts finds dynamic members that leave and come back soon, as in a
// rolling restart.
func restarts(events []Event, _ []Rebalance) *Advice {
	const times, within = 3, 2 * time.Minute
	a := &Advice{
		Rule:    RuleRestarts,
		Finding: "Members leave and come back soon, and each time their partitions move twice.",
		Text:    "Give the members a group.instance.id: a static member that is back within its session timeout costs no rebalance.",
	}
	left := map[who]*Event{}
	for i := range events {
		e := &events[i]
		if e.Member == nil || e.Member.InstanceID != "" {
			continue
		}
		k := identity(e.Member)
		switch e.Kind { //nolint:exhaustive // the others change nothing of this
		case MemberLeft:
			if !saysPollTimeout(e.Member.Reason) {
				left[k] = e
			}
		case MemberJoined:
			gone := left[k]
			delete(left, k)
			if gone == nil || time.Duration(e.TimeMillis-gone.TimeMillis)*time.Millisecond > within {
				continue
			}
			a.Members = append(a.Members, *e.Member)
			a.evidence("%s: %s was back %s after it had left.", Clock(e.TimeMillis), e.Member.Name(), Took(time.Duration(e.TimeMillis-gone.TimeMillis)*time.Millisecond))
		}
	}
	if len(a.Evidence) < times {
		return nil
	}
	return a.finish()
}

// slowRejoin finds members that everybody waits for.
func slowRejoin(_ []Event, rebalances []Rebalance) *Advice {
	const times, long = 2, time.Second
	a := &Advice{
		Rule:    RuleSlowRejoin,
		Finding: "Rebalances take as long as the same member takes to join again: it is busy with the records of its last poll.",
		Text:    "Lower max.poll.records of that member or make its processing faster; a client that polls often joins again within a heartbeat interval.",
	}
	by := map[who][]*Rebalance{}
	for i := range rebalances {
		r := &rebalances[i]
		if w := r.Slowest(); w != nil && time.Duration(w.Took) >= long && w.Outcome != OutcomeExpired {
			by[identity(&w.Member)] = append(by[identity(&w.Member)], r)
		}
	}
	for _, k := range sortedWho(by) {
		list := by[k]
		if len(list) < times {
			continue
		}
		took := make([]time.Duration, len(list))
		for i, r := range list {
			took[i] = time.Duration(r.Slowest().Took)
		}
		last := list[len(list)-1].Slowest().Member
		a.Members = append(a.Members, last)
		a.evidence("%s was waited for longest in %d rebalances, half of the time for %s or more, at most for %s.",
			capital(last.Role()), len(list), Took(median(took)), Took(slices.Max(took)))
	}
	return a.finish()
}

// trickle finds rebalances that supersede one another.
func trickle(_ []Event, rebalances []Rebalance) *Advice {
	const times = 3
	a := &Advice{
		Rule:    RuleTrickle,
		Finding: "Rebalances are superseded before their assignment has come, because members come or go one by one.",
		Text:    "Start members together, raise group.initial.rebalance.delay.ms for a group that starts from nothing, or use static membership for deploys.",
	}
	superseded := 0
	for i := range rebalances {
		if r := &rebalances[i]; r.SupersededBy != nil {
			superseded++
			by := r.SupersededBy
			a.evidence("%s: generation %d was superseded after %s by %s (%s).", Clock(r.EndedMillis), r.To, Took(r.Took()), by.Trigger.Name(), by.Cause)
		}
	}
	if superseded < times {
		return nil
	}
	return a.finish()
}

// eagerAssignor finds assignors that move partitions for nothing.
func eagerAssignor(_ []Event, rebalances []Rebalance) *Advice {
	a := &Advice{
		Rule:    RuleEagerAssignor,
		Finding: "Partitions move between members for nothing, and everybody stops for it.",
		Text:    "Use the cooperative-sticky assignor (partition.assignment.strategy): it leaves partitions where they are and stops only those that move.",
	}
	notNeeded, assigned := 0, 0
	for i := range rebalances {
		r := &rebalances[i]
		if r.Assignment == nil || r.Assignment.MovesNotNeeded == nil || r.Initial {
			continue
		}
		n := *r.Assignment.MovesNotNeeded
		assigned += r.Assignment.Partitions
		if n > 0 && !strings.Contains(r.Protocol, "cooperative") {
			notNeeded += n
			a.evidence("%s: assignor %s moved %d of %d partitions, %d of them for nothing.",
				Clock(r.EndedMillis), Quote(r.Protocol), r.Assignment.Moved, r.Assignment.Partitions, n)
		}
	}
	if notNeeded*10 < assigned {
		return nil
	}
	return a.finish()
}

// staleCommits finds commits that came too late.
func staleCommits(events []Event, _ []Rebalance) *Advice {
	a := &Advice{
		Rule:    RuleStaleCommits,
		Finding: "Commits were refused: what they would have recorded is processed again by another member.",
		Text:    "Commit before a rebalance takes partitions away (in the revoke callback), and process less per poll.",
	}
	for i := range events {
		if e := &events[i]; e.Kind == CommitRefused {
			if e.Member != nil {
				a.Members = append(a.Members, *e.Member)
			}
			a.evidence("%s: %s", Clock(e.TimeMillis), e.Sentence())
		}
	}
	return a.finish()
}
