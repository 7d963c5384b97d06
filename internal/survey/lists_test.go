package survey

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A list that was slow to make serves ten times as long; a quick one does not.
func TestSlowListsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lists
		made, cost := 0, 50*time.Millisecond
		survey := func(context.Context) ([]Group, error) {
			made++
			time.Sleep(cost)
			return []Group{{ID: "a"}, {ID: "b"}}, nil
		}
		get := func() {
			t.Helper()
			list, err := l.get(t.Context(), survey)
			if err != nil || len(list) != 2 || list[0].ID != "a" {
				t.Fatalf("got %v, %v", list, err)
			}
			list[0].ID = "changed by its owner"
		}
		get()
		time.Sleep(440 * time.Millisecond)
		get()
		if made != 1 {
			t.Errorf("made %d times within ten times its cost", made)
		}
		time.Sleep(20 * time.Millisecond)
		get()
		if made != 2 {
			t.Errorf("made %d times, the first list has run out", made)
		}
		time.Sleep(time.Second)
		cost = 0
		get()
		time.Sleep(time.Nanosecond)
		get()
		if made != 4 {
			t.Errorf("made %d times; a list that costs nothing is kept", made)
		}
	})
}
