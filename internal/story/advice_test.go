package story

import (
	"strings"
	"testing"
	"time"
)

// advised returns the advice of one rule, nil if there is none.
func advised(events []Event, rule Rule) *Advice {
	for _, a := range Advise(events) {
		if a.Rule == rule {
			return &a
		}
	}
	return nil
}

func TestAdviceRestsOnEvidence(t *testing.T) {
	static := func(id string) *Member { return &Member{ID: id, InstanceID: "i", ClientID: "c"} }
	notNeeded := 3
	for _, tt := range []struct {
		rule     Rule
		happens  func(*tape)
		evidence string // of the last piece; "" means that there is to be no advice
	}{
		{RuleSessionTimeout, func(r *tape) {
			r.add(Event{Kind: MemberExpired, Cause: CauseSessionExpired, Member: person("b1"), Timeout: ms(10_000), LastHeardMillis: r.now - 10_000})
			r.pass(4 * time.Second)
			r.add(Event{Kind: MemberJoined, Member: person("b2")})
		}, "came back 14s after it was last heard of; its session timeout is 10s"},
		{RuleSessionTimeout, func(r *tape) {
			r.add(Event{Kind: MemberExpired, Cause: CauseSessionExpired, Member: person("b1"), Timeout: ms(10_000), LastHeardMillis: r.now - 10_000})
			r.pass(time.Hour)
			r.add(Event{Kind: MemberJoined, Member: person("b2")})
		}, ""},
		{RuleKeepsJoining, func(r *tape) {
			for range 4 {
				r.rebalance(CauseMemberJoined, person("b1"), nil, time.Second, 0, nil)
				r.pass(29 * time.Second)
			}
		}, "began 4 rebalances, one every 30s"},
		{RuleKeepsJoining, func(r *tape) {
			for _, who := range []string{"a1", "b1", "c1", "d1"} {
				r.rebalance(CauseMemberJoined, person(who), nil, time.Second, 0, nil)
			}
		}, ""},
		{RulePollInterval, func(r *tape) {
			m := person("b1")
			m.Reason = "consumer poll timeout has expired."
			r.add(Event{Kind: MemberLeft, Cause: CauseMemberLeft, Member: m})
		}, `left, its reason: "consumer poll timeout has expired."`},
		{RulePollInterval, func(r *tape) {
			r.add(Event{Kind: MemberDropped, Cause: CauseJoinDeadline, Member: person("b1"), Timeout: ms(60_000)})
		}, "did not join again within 1m0s"},
		{RulePollInterval, func(r *tape) { r.add(Event{Kind: MemberLeft, Cause: CauseMemberLeft, Member: person("b1")}) }, ""},
		{RuleInstanceTwice, func(r *tape) {
			for range 3 {
				r.add(Event{Kind: MemberReplaced, Member: static("x"), Replaced: "y"})
				r.pass(time.Minute)
			}
		}, `Instance id "i" changed hands 3 times in all, 3 times within 2m0s`},
		{RuleInstanceTwice, func(r *tape) {
			for range 5 {
				r.add(Event{Kind: MemberReplaced, Member: static("x"), Replaced: "y"})
				r.pass(time.Hour)
			}
		}, ""},
		{RuleEagerAssignor, func(r *tape) {
			r.rebalance(CauseMemberJoined, person("b1"), nil, time.Second, 0, &Assignment{Decoded: true, Partitions: 9, Moved: 6, MovesNotNeeded: &notNeeded})
		}, `assignor "range" moved 6 of 9 partitions, 3 of them for nothing`},
		{RuleEagerAssignor, func(r *tape) {
			r.rebalance(CauseMemberJoined, person("b1"), nil, time.Second, 0, &Assignment{Decoded: true, Partitions: 90, Moved: 6, MovesNotNeeded: &notNeeded})
		}, ""},
		{RuleSlowRejoin, func(r *tape) {
			for range 2 {
				r.rebalance(CauseMemberJoined, person("b1"), []Waited{{*person("a1"), ms(7000), OutcomeJoined}}, 7*time.Second, 0, nil)
			}
		}, "was waited for longest in 2 rebalances, half of the time for 7s or more, at most for 7s"},
		{RuleSlowRejoin, func(r *tape) {
			for range 2 {
				r.rebalance(CauseMemberJoined, person("b1"), []Waited{{*person("a1"), ms(70), OutcomeJoined}}, 70*time.Millisecond, 0, nil)
			}
		}, ""},
		{RuleTrickle, func(r *tape) {
			r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("a1")})
			for range 3 {
				r.pass(time.Second)
				r.gen++
				r.add(Event{Kind: JoinCompleted, Duration: ms(1000)})
				r.pass(10 * time.Millisecond)
				r.add(Event{Kind: RebalanceSuperseded, Cause: CauseMemberJoined, Member: person("b1"), Duration: ms(10)})
				r.add(Event{Kind: RebalanceStarted, Cause: CauseMemberJoined, Member: person("b1")})
			}
		}, `generation 3 was superseded after 1.01s by member "b" on 10.0.0.1 (member-joined)`},
		{RuleStaleCommits, func(r *tape) {
			r.add(Event{Kind: CommitRefused, Member: person("b1"), ErrorCode: 22, Error: "ILLEGAL_GENERATION", Repeated: 2})
		}, `was refused with ILLEGAL_GENERATION, and 2 more`},
		{RuleRestarts, func(r *tape) {
			for range 3 {
				r.add(Event{Kind: MemberLeft, Cause: CauseMemberLeft, Member: person("b1")})
				r.pass(20 * time.Second)
				r.add(Event{Kind: MemberJoined, Member: person("b2")})
			}
		}, "was back 20s after it had left"},
		{RuleRestarts, func(r *tape) {
			for range 3 {
				r.add(Event{Kind: MemberReplaced, Member: static("x")})
			}
		}, ""},
	} {
		r := newTape(t)
		tt.happens(r)
		a := advised(r.events, tt.rule)
		switch {
		case tt.evidence == "" && a != nil:
			t.Errorf("%s is given though it should not: %+v", tt.rule, a)
		case tt.evidence != "" && a == nil:
			t.Errorf("%s is not given", tt.rule)
		case a != nil && (!strings.Contains(a.Evidence[len(a.Evidence)-1], tt.evidence) || a.Finding == "" || a.Text == ""):
			t.Errorf("%s rests on %q", tt.rule, a.Evidence)
		}
	}
}

func TestNothingHappensNothingIsAdvised(t *testing.T) {
	r := newTape(t)
	r.add(Event{Kind: MemberJoined, Member: person("a1")})
	r.rebalance(CauseMemberJoined, person("a1"), nil, time.Second, time.Millisecond, Compare(nil, plan(map[string][]int32{"a1": {0}}, "a1")))
	if a := Advise(r.events); len(a) > 0 {
		t.Errorf("%+v", a)
	}
}
