package member

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/client"
	"rota/internal/client/assignor"
	"rota/internal/schema"
)

func speaking(w Work, assignors ...Assignor) *sharing {
	c := Config{Assignors: assignors, Metadata: []byte("m")}.withDefaults()
	return w.speak(&c).(*sharing)
}

var ab = []assignor.Partition{{Topic: "a", Partition: 1}, {Topic: "b", Partition: 0}, {Topic: "b", Partition: 2}}

func TestSubscriptionsAreKafkasBytes(t *testing.T) {
	s := speaking(Topics("b", "a"))
	got := s.Protocols(ab, 7)
	want := "0003" + // version
		"00000002" + "000161" + "000162" + // topics
		"00000001" + "6d" + // user data
		"00000002" + "000161" + "00000001" + "00000001" + "000162" + "00000002" + "00000000" + "00000002" + // owned
		"00000007" + // generation
		"ffff" // rack
	if len(got) != 1 || got[0].Name != "cooperative-sticky" || hex.EncodeToString(got[0].Metadata) != want {
		t.Errorf("got  %x\nwant %s", got[0].Metadata, want)
	}
}

func TestStickyUserDataIsKafkasBytes(t *testing.T) {
	s := speaking(Topics("a"), Sticky())
	s.had(ab, 5)
	sub, err := schema.ParseSubscription(s.Protocols(nil, -1)[0].Metadata)
	if err != nil {
		t.Fatal(err)
	}
	want := "00000002" + "000161" + "00000001" + "00000001" + "000162" + "00000002" + "00000000" + "00000002" + "00000005"
	if got := hex.EncodeToString(sub.UserData); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c, err := s.candidate(Sticky(), &client.JoinedMember{Metadata: s.Protocols(nil, -1)[0].Metadata}, nil)
	if diff := cmp.Diff(shardsOf(ab), c.Owned); diff != "" || c.Generation != 5 || err != nil {
		t.Errorf("generation %d, %v\n%s", c.Generation, err, diff)
	}
}

func TestEveryVersionOfASubscriptionIsRead(t *testing.T) {
	full := schema.Subscription{Topics: []string{"a", "b"}, UserData: []byte("m"), Owned: grouped(ab), Generation: 7}
	s := speaking(Topics("a"))
	for version := range int16(4) {
		full.Version = version
		want := Candidate{ID: "x", Topics: full.Topics, Metadata: full.UserData, Generation: -1, Owned: []Shard{}}
		if version >= 1 {
			want.Owned = shardsOf(ab)
		}
		if version >= 2 {
			want.Generation = 7
		}
		got, err := s.candidate(CooperativeSticky(), &client.JoinedMember{MemberID: "x", Metadata: schema.AppendSubscription(nil, full)}, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("version %d: %v\n%s", version, err, diff)
		}
		full.Version = 0
		short := schema.AppendSubscription(nil, full)
		short[1] = byte(version)
		got, err = s.candidate(Range(), &client.JoinedMember{MemberID: "x", Metadata: short}, nil)
		if diff := cmp.Diff(full.Topics, got.Topics); diff != "" || err != nil {
			t.Errorf("version %d that lacks what it adds: %v\n%s", version, err, diff)
		}
	}
	if _, err := s.candidate(Range(), &client.JoinedMember{Metadata: []byte{0}}, nil); err == nil {
		t.Error("a subscription of one byte was read")
	}
}

// greedy is a cooperative assignor that gives everything to one.
type greedy struct{ builtin }

func (greedy) Assign(_ []Candidate, topics map[string]int32) map[string][]Shard {
	var all []Shard
	for name, n := range topics {
		for i := range n {
			all = append(all, Shard{name, i})
		}
	}
	return map[string][]Shard{"x": all}
}

func TestUnsafeAssignorsAreFoundOut(t *testing.T) {
	g := greedy{builtin{assignor.CooperativeSticky{}}}
	s := speaking(Topics("a"), g)
	s.learn(map[string]int32{"a": 2})
	x, y := s.Protocols(nil, -1)[0].Metadata, s.Protocols([]assignor.Partition{{Topic: "a", Partition: 1}}, 3)[0].Metadata
	if _, err := s.Lead(g.Name(), []client.JoinedMember{{MemberID: "x", Metadata: x}, {MemberID: "y", Metadata: y}}, false); err == nil {
		t.Error("a shard that y owns was given to x")
	}
	plans, err := s.Lead(g.Name(), []client.JoinedMember{{MemberID: "x", Metadata: y}, {MemberID: "y", Metadata: x}}, false)
	if err != nil || len(plans) != 2 {
		t.Errorf("%+v, %v", plans, err)
	}
}

// BenchmarkLead10k is all that a leader does: reading what 10,000 members say,
// sharing 10,000 partitions, writing it down.
func BenchmarkLead10k(b *testing.B) {
	s := speaking(Topics("a"))
	s.learn(map[string]int32{"a": 10_000})
	members := make([]client.JoinedMember, 10_000)
	for i := range members {
		members[i] = client.JoinedMember{
			MemberID: fmt.Sprintf("member-%05d", i),
			Metadata: s.Protocols([]assignor.Partition{{Topic: "a", Partition: int32(i)}}, 3)[0].Metadata,
		}
	}
	for b.Loop() {
		if _, err := s.Lead("cooperative-sticky", members, false); err != nil {
			b.Fatal(err)
		}
	}
}
