package assignor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func show(plans []Plan) map[string]string {
	out := map[string]string{}
	for _, p := range plans {
		s := ""
		for _, q := range p.Partitions {
			s += fmt.Sprintf(" %s%d", q.Topic, q.Partition)
		}
		out[p.ID] = s
	}
	return out
}

func owned(list ...any) []Partition {
	var out []Partition
	for i := 0; i < len(list); i += 2 {
		out = append(out, Partition{list[i].(string), int32(list[i+1].(int))})
	}
	return out
}

func TestAssign(t *testing.T) {
	t5, u3 := Topic{"t", 5}, Topic{"u", 3}
	both := []string{"t", "u"}
	tests := []struct {
		name    string
		a       Assignor
		members []Member
		topics  []Topic
		want    map[string]string
	}{
		{
			"range",
			Range{},
			[]Member{{ID: "b", Topics: both}, {ID: "a", Topics: both}},
			[]Topic{t5, u3},
			map[string]string{"a": " t0 t1 t2 u0 u1", "b": " t3 t4 u2"},
		},
		{
			"range by instance",
			Range{},
			[]Member{{ID: "a", InstanceID: "i2", Topics: both}, {ID: "z", InstanceID: "i1", Topics: both}},
			[]Topic{u3},
			map[string]string{"a": " u2", "z": " u0 u1"},
		},
		{
			"range, more members than partitions",
			Range{},
			[]Member{{ID: "a", Topics: both}, {ID: "b", Topics: both}},
			[]Topic{{"t", 1}},
			map[string]string{"a": " t0", "b": ""},
		},
		{
			"roundrobin",
			RoundRobin{},
			[]Member{{ID: "b", Topics: both}, {ID: "a", Topics: []string{"t"}}},
			[]Topic{t5, u3},
			map[string]string{"a": " t0 t2 t4", "b": " t1 t3 u0 u1 u2"},
		},
		{
			"sticky, first",
			CooperativeSticky{},
			[]Member{{ID: "b", Topics: both}, {ID: "a", Topics: both}},
			[]Topic{t5, u3},
			map[string]string{"a": " t0 t2 t4 u1", "b": " t1 t3 u0 u2"},
		},
		{
			"sticky, a newcomer gets what is let go of in the next round",
			CooperativeSticky{},
			[]Member{{ID: "a", Topics: both, Owned: owned("u", 0, "u", 1, "u", 2), Generation: 3}, {ID: "b", Topics: both, Generation: -1}},
			[]Topic{u3},
			map[string]string{"a": " u0 u1", "b": ""},
		},
		{
			"sticky, that round",
			CooperativeSticky{},
			[]Member{{ID: "a", Topics: both, Owned: owned("u", 0, "u", 1), Generation: 4}, {ID: "b", Topics: both, Generation: 4}},
			[]Topic{u3},
			map[string]string{"a": " u0 u1", "b": " u2"},
		},
		{
			"sticky, the higher generation is believed",
			CooperativeSticky{},
			[]Member{{ID: "a", Topics: both, Owned: owned("u", 0), Generation: 4}, {ID: "b", Topics: both, Owned: owned("u", 0), Generation: 5}},
			[]Topic{{"u", 1}},
			map[string]string{"a": "", "b": " u0"},
		},
		{
			"sticky, nobody gets what two claim",
			CooperativeSticky{},
			[]Member{{ID: "a", Topics: both, Owned: owned("u", 0), Generation: 4}, {ID: "b", Topics: both, Owned: owned("u", 0), Generation: 4}},
			[]Topic{{"u", 1}},
			map[string]string{"a": "", "b": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(tt.a.Assign(tt.members, tt.topics))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAssignHolds checks random groups: no partition goes to two members or to
// one that has not asked, none that someone else holds changes hands at once,
// and repeated rounds settle with all partitions given and shares even.
func TestAssignHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		topics := []Topic{{"t", int32(r.IntN(7))}, {"u", int32(r.IntN(4))}}
		var members []Member
		for i := range 1 + r.IntN(5) {
			m := Member{ID: string(rune('a' + i)), Topics: []string{"t", "u"}[:1+r.IntN(2)], Generation: int32(r.IntN(3)) - 1}
			for p := range topics[0].Partitions {
				if r.IntN(4) == 0 {
					m.Owned = append(m.Owned, Partition{"t", p})
				}
			}
			members = append(members, m)
		}
		for _, a := range []Assignor{Range{}, RoundRobin{}, CooperativeSticky{}} {
			again := slices.Clone(members)
			slices.Reverse(again)
			got := check(t, a, members, topics)
			if diff := cmp.Diff(got, a.Assign(again, topics)); diff != "" {
				t.Fatalf("%s depends on the order of members: %s", a.Name(), diff)
			}
		}
		settle(t, members, topics)
	}
}

func check(t *testing.T, a Assignor, members []Member, topics []Topic) []Plan {
	t.Helper()
	got := a.Assign(members, topics)
	given := map[Partition]string{}
	for _, plan := range got {
		m := members[slices.IndexFunc(members, func(m Member) bool { return m.ID == plan.ID })]
		for _, p := range plan.Partitions {
			if !slices.Contains(m.Topics, p.Topic) || given[p] != "" {
				t.Fatalf("%s gives %v to %s (and to %q): %+v", a.Name(), p, m.ID, given[p], members)
			}
			given[p] = m.ID
			for _, other := range members {
				if a.Cooperative() && other.ID != m.ID && slices.Contains(other.Owned, p) && other.Generation >= m.Generation {
					t.Fatalf("%s gives %v to %s while %s holds it: %+v", a.Name(), p, m.ID, other.ID, members)
				}
			}
		}
	}
	return got
}

// settle plays rounds as a cooperative group would.
func settle(t *testing.T, members []Member, topics []Topic) {
	t.Helper()
	members = slices.Clone(members)
	for generation := int32(10); ; generation++ {
		got := CooperativeSticky{}.Assign(members, topics)
		same, total := true, 0
		for i := range members {
			m := &members[i]
			share := got[slices.IndexFunc(got, func(p Plan) bool { return p.ID == m.ID })].Partitions
			Sort(m.Owned)
			same = same && slices.Equal(m.Owned, share)
			m.Owned, m.Generation = share, generation
			total += len(share)
		}
		if !same && generation > 20 {
			t.Fatalf("does not settle: %+v", members)
		}
		if same && generation > 10 {
			want := 0
			for i, topic := range topics {
				if slices.ContainsFunc(members, func(m Member) bool { return len(m.Topics) > i }) {
					want += int(topic.Partitions)
				}
			}
			if total != want {
				t.Fatalf("%d of %d partitions are given: %+v", total, want, members)
			}
			return
		}
	}
}
