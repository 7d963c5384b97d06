package assignor

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// group is n members that share one topic.
func group(n int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{ID: fmt.Sprintf("member-%05d", i), Topics: []string{"t"}, Generation: -1}
	}
	return members
}

// hold gives the members what a plan says.
func hold(members []Member, list []Plan, generation int32) {
	by := map[string][]Partition{}
	for _, p := range list {
		by[p.ID] = p.Partitions
	}
	for i := range members {
		members[i].Owned, members[i].Generation = by[members[i].ID], generation
	}
}

// TestStickyMovesTheLeast lets members come and go: shares differ by one at
// most, and no more partitions move than balance takes.
func TestStickyMovesTheLeast(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		partitions := 1 + random.IntN(60)
		topics := []Topic{{"t", int32(partitions)}}
		members := group(1 + random.IntN(12))
		next := len(members)
		for generation := range int32(12) {
			list := Sticky{}.Assign(members, topics)
			checkEven(t, members, list, partitions)
			hold(members, list, generation)
			switch {
			case random.IntN(2) == 0 && len(members) > 1:
				i := random.IntN(len(members))
				members = append(members[:i], members[i+1:]...)
			default:
				m := group(1)[0]
				m.ID = fmt.Sprintf("late-%d", next)
				next++
				members = append(members, m)
			}
		}
	}
}

func checkEven(t *testing.T, members []Member, list []Plan, partitions int) {
	t.Helper()
	low, high := partitions/len(members), (partitions+len(members)-1)/len(members)
	had, seen, kept := map[string][]Partition{}, map[Partition]bool{}, 0
	for i := range members {
		had[members[i].ID] = members[i].Owned
	}
	for _, p := range list {
		if n := len(p.Partitions); n < low || n > high {
			t.Fatalf("%s has %d of %d among %d", p.ID, n, partitions, len(members))
		}
		for _, x := range p.Partitions {
			if seen[x] {
				t.Fatalf("%v is given twice", x)
			}
			seen[x] = true
			for _, o := range had[p.ID] {
				if o == x {
					kept++
				}
			}
		}
	}
	if len(seen) != partitions {
		t.Fatalf("%d of %d are given", len(seen), partitions)
	}
	if best := mostKept(members, partitions); kept != best {
		t.Fatalf("%d stay where they are, %d could", kept, best)
	}
}

// mostKept is how many partitions can stay where they are in an even plan: a
// member keeps no more than its quota, and one more if it is among the few with
// the larger one.
func mostKept(members []Member, partitions int) int {
	low, larger := partitions/len(members), partitions%len(members)
	kept, over := 0, 0
	for i := range members {
		kept += min(len(members[i].Owned), low)
		if len(members[i].Owned) > low {
			over++
		}
	}
	return kept + min(over, larger)
}

// BenchmarkAssignMixedSubscriptions is about members that do not want the same,
// whose shares have no simple formula, half of which are new.
func BenchmarkAssignMixedSubscriptions(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			topics := []Topic{{"t", int32(n) / 2}, {"u", int32(n) / 2}}
			members := group(n)
			for i := range members {
				if i%2 == 0 {
					members[i].Topics = []string{"t", "u"}
				}
			}
			hold(members, Sticky{}.Assign(members[:n/2], topics), 1)
			for b.Loop() {
				Sticky{}.Assign(members, topics)
			}
		})
	}
}

func BenchmarkAssign10kMembers10kPartitions(b *testing.B) {
	topics := []Topic{{"t", 10_000}}
	for _, a := range []Assignor{Range{}, RoundRobin{}, Sticky{}, CooperativeSticky{}} {
		b.Run(a.Name(), func(b *testing.B) {
			members := group(10_000)
			hold(members, a.Assign(members, topics), 1)
			for b.Loop() {
				a.Assign(members, topics)
			}
		})
	}
}
