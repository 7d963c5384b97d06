package sim

import (
	"slices"
	"strings"
	"testing"

	"rota/internal/group"
	"rota/internal/schema"
)

// eachReply spoils the answers of one type.
func eachReply[T group.Response](f func(*T)) func(*group.Effects) {
	return func(fx *group.Effects) {
		for i := range fx.Replies {
			if body, ok := fx.Replies[i].Body.(T); ok {
				f(&body)
				fx.Replies[i].Body = body
			}
		}
	}
}

// TestFaultsAreFound breaks what groups say, one thing at a time: the
// simulator must find it, and cut it down to a few events that show it again.
func TestFaultsAreFound(t *testing.T) {
	everything := schema.AppendAssignment(nil, schema.Assignment{Partitions: []schema.TopicPartitions{{Topic: "t", Partitions: []int32{0}}}})
	for _, tt := range []struct {
		name  string
		rules []string
		spoil func(*group.Effects)
	}{
		{"replies wait for nothing", []string{"too early"}, func(fx *group.Effects) {
			for i := range fx.Replies {
				fx.Replies[i].After = group.DependsNothing
			}
		}},
		{"replies are lost", []string{"memory", "stuck", "unanswered", "expiry"}, func(fx *group.Effects) {
			fx.Replies = slices.DeleteFunc(fx.Replies, func(r group.Reply) bool {
				s, ok := r.Body.(group.Synced)
				return ok && s.Code == 0
			})
		}},
		{"replies come twice", []string{"answered twice"}, func(fx *group.Effects) {
			if len(fx.Replies) > 0 {
				fx.Replies = append(fx.Replies[:1:1], fx.Replies...)
			}
		}},
		{"records are lost", []string{"commit", "plan", "record", "replay", "panic"}, func(fx *group.Effects) { fx.Batches = nil }},
		{"everyone leads", []string{"generation", "leader"}, eachReply(func(j *group.Joined) { j.Leader = j.MemberID })},
		{"a member is missing from the leader's list", []string{"generation", "leader"}, eachReply(func(j *group.Joined) {
			if len(j.Members) > 1 {
				j.Members = j.Members[:1]
			}
		})},
		{"everyone gets the same", []string{"plan"}, eachReply(func(s *group.Synced) {
			if s.Code == 0 {
				s.Assignment = everything
			}
		})},
		{"offsets are one too high", []string{"fetch"}, eachReply(func(f *group.FetchedOffsets) {
			for i := range f.Offsets {
				f.Offsets[i].Offset++
			}
		})},
		{"heartbeats never say that there is a rebalance", []string{"stuck"}, eachReply(func(b *group.Beat) {
			if b.Code == codeRebalanceInProgress {
				b.Code = codeUnknownServerError
			}
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Result
			for seed := uint64(1); seed < 60 && r.Failure == nil; seed++ {
				r = once(seed, 600, setup{spoil: tt.spoil})
			}
			if r.Failure == nil {
				t.Fatal("nobody notices")
			}
			if !slices.Contains(tt.rules, r.Failure.Rule) {
				t.Errorf("found as %v", r.Failure)
			}
			small, f := Shrink(r.Case, r.Failure)
			if f == nil || f.Rule != r.Failure.Rule || len(small.Events) > 120 {
				t.Errorf("cut down to %d events, which show %v", len(small.Events), f)
			}
			again, err := ParseCase(small.Format("note"))
			if err != nil {
				t.Fatal(err)
			}
			again.with = small.with
			if p := Play(again); p.Failure == nil || p.Failure.Rule != f.Rule {
				t.Errorf("the file shows %v", p.Failure)
			}
			if text := Explain(r); !strings.Contains(text, "\ngroup g") || !strings.Contains(text, "\nseed ") {
				t.Errorf("the report has no scenario, or no events:\n%s", text)
			}
		})
	}
}
