package assignor

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestStickyIsAsEvenAsCanBe compares with the best of all assignments, for
// members that do not want the same.
func TestStickyIsAsEvenAsCanBe(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 7))
		var topics []Topic
		for i := range 1 + random.IntN(4) {
			topics = append(topics, Topic{string(rune('t' + i)), random.Int32N(5)})
		}
		var members []Member
		for generation := range int32(6) {
			members = changeMixed(random, members, topics, fmt.Sprint(generation))
			list := Sticky{}.Assign(members, topics)
			got, shares := 0, map[string]int{}
			for _, p := range list {
				got += len(p.Partitions) * len(p.Partitions)
				shares[p.ID] = len(p.Partitions)
			}
			if want := leastSquares(members, topics, make([]int, len(members)), nil); got != want {
				t.Fatalf("seed %d: members %+v, topics %v: shares %v, squares %d, the least is %d", seed, members, topics, shares, got, want)
			}
			hold(members, list, generation)
		}
	}
}

// changeMixed lets a member come that wants some of the topics, or one go.
func changeMixed(random *rand.Rand, members []Member, topics []Topic, id string) []Member {
	if len(members) > 1 && random.IntN(3) == 0 {
		i := random.IntN(len(members))
		return append(members[:i:i], members[i+1:]...)
	}
	m := Member{ID: id, Generation: -1}
	for _, t := range topics {
		if random.IntN(2) == 0 {
			m.Topics = append(m.Topics, t.Name)
		}
	}
	return append(members, m)
}

// leastSquares tries every way to deal out the partitions of the topics; given
// has how many each member has so far, and rest what is left of the first
// topic and which of its takers are next.
func leastSquares(members []Member, topics []Topic, given []int, rest *dealing) int {
	if len(topics) == 0 {
		sum := 0
		for _, n := range given {
			sum += n * n
		}
		return sum
	}
	if rest == nil {
		rest = &dealing{left: int(topics[0].Partitions)}
		for i := range members {
			for _, name := range members[i].Topics {
				if name == topics[0].Name {
					rest.takers = append(rest.takers, i)
				}
			}
		}
		if len(rest.takers) == 0 {
			return leastSquares(members, topics[1:], given, nil)
		}
	}
	taker := rest.takers[0]
	best := -1
	for n := range rest.left + 1 {
		if len(rest.takers) == 1 {
			n = rest.left
		}
		given[taker] += n
		var sum int
		if len(rest.takers) == 1 {
			sum = leastSquares(members, topics[1:], given, nil)
		} else {
			sum = leastSquares(members, topics, given, &dealing{rest.left - n, rest.takers[1:]})
		}
		given[taker] -= n
		if best < 0 || sum < best {
			best = sum
		}
		if len(rest.takers) == 1 {
			break
		}
	}
	return best
}

// dealing is a topic whose partitions are being dealt out.
type dealing struct {
	left   int
	takers []int
}
