package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An inspection shows members while they are rebalancing, and when offsets
// will be gone.
func TestInspect(t *testing.T) {
	cfg := DefaultConfig()
	cfg.OffsetsRetention = time.Hour
	g := New("g", &cfg)
	at := Offset(0)
	now := Now{Mono: time.Second, Wall: 1_000_000}
	step := func(req Request) {
		t.Helper()
		for _, b := range g.Step(now, at, Ticket(now.Mono), req).Batches {
			at += Offset(len(b.Records))
		}
		now.Mono++
	}
	offsets := []CommitOffset{{TopicPartition: TopicPartition{"t", 1}, Offset: 7, Metadata: "m", Timestamp: -1, LeaderEpoch: -1}}
	step(Commit{Version: 9, Generation: -1, Retention: -1, Offsets: offsets})
	committed := InspectedOffset{TopicPartition: TopicPartition{"t", 1}, Offset: 7, Metadata: "m", CommitMillis: 1_000_000, ExpiresMillis: 1_000_000 + 3_600_000}
	want := Inspection{ID: "g", State: Empty, SinceMillis: g.since, Members: []InspectedMember{}, Offsets: []InspectedOffset{committed}}
	if diff := cmp.Diff(want, g.Inspect(false)); diff != "" {
		t.Errorf("without members (-want +got):\n%s", diff)
	}

	step(Join{
		Version: 3, ClientID: "c", ClientHost: "/h", NewMemberID: "c-1", SessionTimeout: 10 * time.Second, RebalanceTimeout: 20 * time.Second,
		ProtocolType: "consumer", Protocols: []Protocol{{Name: "range", Metadata: []byte("what it said")}},
	})
	committed.ExpiresMillis = -1
	want = Inspection{
		ID: "g", State: PreparingRebalance, SinceMillis: 1_000_000, ProtocolType: "consumer", Leader: "c-1", MemberCount: 1,
		Members: []InspectedMember{{
			MemberRef:      MemberRef{ID: "c-1", ClientID: "c", ClientHost: "/h"},
			SessionTimeout: 10 * time.Second, RebalanceTimeout: 20 * time.Second, Joining: true, Metadata: []byte("what it said"),
		}},
		Offsets: []InspectedOffset{committed},
	}
	if diff := cmp.Diff(want, g.Inspect(false)); diff != "" {
		t.Errorf("while it gathers members (-want +got):\n%s", diff)
	}
	want.Members = nil
	if diff := cmp.Diff(want, g.Inspect(true)); diff != "" {
		t.Errorf("overview (-want +got):\n%s", diff)
	}
}
