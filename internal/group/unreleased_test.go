package group

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever the order in which answers are taken, each is found once, the others
// keep their order, and what is taken leaves no room behind for ever.
func TestUnreleasedAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var u unreleased
	var want []unreleasedAnswer
	largest := 0
	for next := Ticket(1); next < 5000; {
		if len(want) < 40 && r.IntN(2) == 0 {
			a := unreleasedAnswer{next, &member{}}
			u.put(a.ticket, a.member)
			want = append(want, a)
			next++
		} else if len(want) > 0 {
			i := 0
			if r.IntN(4) == 0 {
				i = r.IntN(len(want))
			}
			if m := u.take(want[i].ticket); m != want[i].member {
				t.Fatalf("the answer with ticket %d is of another member", want[i].ticket)
			}
			if u.take(want[i].ticket) != nil {
				t.Fatalf("the answer with ticket %d is found again", want[i].ticket)
			}
			want = slices.Delete(want, i, i+1)
		}
		if !slices.Equal(u.all(), want) {
			t.Fatalf("%v are left, want %v", u.all(), want)
		}
		largest = max(largest, cap(u.list))
	}
	if largest > 256 {
		t.Errorf("at most 40 answers have taken the room of %d", largest)
	}
	for len(want) > 0 {
		u.take(want[0].ticket)
		want = want[1:]
	}
	if len(u.list) != 0 || cap(u.list) > keepUnreleased {
		t.Errorf("the empty list has room for %d", cap(u.list))
	}
}
