package coordinator

import (
	"testing"
	"time"

	"rota/internal/group"
)

// TestAdvanceMeetsDeadlinesInTheirTurn moves the clock over deadlines, which a
// shard that found them overdue would let pass.
func TestAdvanceMeetsDeadlinesInTheirTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		early, generation := r.form("early", 10*time.Second)
		r.form("late", 30*time.Second)
		began := time.Now()
		r.c.Advance(10*time.Second - time.Millisecond)
		if got := r.state("early"); got != "Stable" {
			t.Errorf("group is %s before the session is over", got)
		}
		r.submit("beat", "early", group.Heartbeat{MemberID: early, Generation: generation})
		r.expect("beat 0")
		r.c.Advance(10 * time.Second)
		if got := r.state("early"); got != "Empty" {
			t.Errorf("group is %s after the session is over", got)
		}
		r.clear()
		// The timer that was set by the old clock is set anew.
		time.Sleep(10*time.Second + time.Millisecond)
		if got := r.state("late"); got != "Empty" {
			t.Errorf("the other group is %s", got)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAdvanceWithoutShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
		r.c.Advance(time.Hour) // does not wait for anybody
	})
}
